// A chapter as slides, from the page itself and without a library: one heading a slide, with all that works on the page, code
// on demand. The arrows to the left and right turn, the others scroll, Escape ends; Page Down and Page Up, which a clicker sends, scroll
// first and turn at the end of a slide. `#present` in the address begins at once.
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector("article"), slides = [...article.querySelectorAll("section:has(> :is(h1, h2, h3, h4))")], page = document.documentElement;
  const said = Object.assign(document.createElement("p"), { className: "present-place", role: "status" });
  const button = (text, act) => Object.assign(document.createElement("button"), { type: "button", textContent: text, onclick: act });
  const code = button("Code", () => code.setAttribute("aria-pressed", page.classList.toggle("presenting-code")));
  const turns = [button("Back", () => show(place - 1)), button("Next", () => show(place + 1)), code, button("End", () => end())];
  const bar = Object.assign(document.createElement("div"), { className: "present-bar", hidden: true });
  const start = button("Present as slides", () => show(0));
  let place = -1;

  function show(index) {
    place = Math.min(Math.max(index, 0), slides.length - 1);
    slides.forEach((slide, other) => slide.classList.toggle("present-slide", other === place));
    const heading = slides[place].querySelector("h1, h2, h3, h4");
    said.textContent = `${place + 1} of ${slides.length}`;
    page.classList.add("presenting");
    bar.hidden = false;
    scrollTo(0, 0);
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }

  function end() {
    page.classList.remove("presenting");
    bar.hidden = true;
    slides[place].scrollIntoView();
    place = -1;
    start.focus({ preventScroll: true });
  }

  document.addEventListener("keydown", (event) => {
    if (place < 0 || event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, [role=grid], [role=group]")) return;
    const [next, back] = [() => show(place + 1), () => show(place - 1)], below = page.scrollHeight - innerHeight - scrollY;
    const act = { ArrowRight: next, ArrowLeft: back, Escape: end, PageDown: below < 2 && next, PageUp: scrollY < 2 && back }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  for (const slide of slides) slide.classList.add("present-part");
  code.setAttribute("aria-pressed", false);
  start.className = "present-start";
  bar.append(...turns, said);
  document.body.append(bar);
  article.querySelector("h1").after(start);
  if (location.hash === "#present") show(0);
});
