// Starts the page's forms. From a file on disk a browser loads neither modules nor weights, so the notice stays, which
// says how to serve the book. The edition of the scripts goes with every address.
if (location.protocol !== "file:") {
  const notice = document.querySelector(".ask-notice");
  notice.hidden = true; // at once, so that nothing jumps
  import(new URL(`panels.js?v=${notice.dataset.version}`, document.currentScript.src)).catch(() => { notice.hidden = false; });
}
