// Repairs of the theme that an accessibility check asks for: names that contain the visible label, a landmark for the
// left sidebar, keyboard access to scrolling parts. And notes of glossary terms: Escape closes one, a tap opens it.
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".search-button-field, summary[aria-label]")) button.removeAttribute("aria-label");
  for (const button of document.querySelectorAll(".theme-switch-button, .search-button:not(.search-button-field)")) {
    // Hidden text instead of a label: an icon font that loads late counts as visible text that the label does not contain.
    const name = Object.assign(document.createElement("span"), { className: "visually-hidden", textContent: button.ariaLabel });
    for (const icon of button.querySelectorAll("i")) icon.ariaHidden = "true";
    button.append(name);
    button.removeAttribute("aria-label");
  }
  for (const fold of document.querySelectorAll(".bd-sidebar-primary summary")) { // the arrow beside a page that has others below it
    const above = fold.closest("li")?.querySelector("a")?.textContent.trim();
    if (!fold.textContent.trim()) fold.append(Object.assign(document.createElement("span"), { className: "visually-hidden", textContent: `Pages below ${above}` }));
  }
  for (const list of document.querySelectorAll(".citation-list")) list.removeAttribute("role");
  const sidebar = document.querySelector(".bd-sidebar-primary");
  sidebar?.setAttribute("role", "navigation");
  sidebar?.setAttribute("aria-label", "Book");
  for (const box of document.querySelectorAll("pre, div.math, .house-figure")) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  const terms = document.querySelectorAll(".term");
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const term of terms) if (term.matches(":hover, :focus-within")) term.dataset.closed = "";
  });
  for (const term of terms) {
    const link = term.firstElementChild;
    let shown = false; // before the touch, which may give the focus itself
    for (const name of ["mouseleave", "focusout"]) term.addEventListener(name, () => delete term.dataset.closed);
    term.addEventListener("pointerdown", () => (shown = document.activeElement === link));
    link.addEventListener("click", (event) => {
      if (!event.detail || shown || !matchMedia("(hover: none)").matches) return;
      event.preventDefault();
      link.focus();
    });
  }
});
