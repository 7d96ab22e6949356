// Starts the page's forms. From a file on disk a browser loads neither modules nor weights, so the notice stays, which
// says how to serve the book. The edition of the scripts goes with every address.
if (location.protocol !== "file:") {
  const { version } = document.querySelector(".ask-notice").dataset;
  import(new URL(`panels.js?v=${version}`, document.currentScript.src));
}
