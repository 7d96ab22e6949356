// Tables with a column "family" are sorted by a click on a heading and filtered by family. They are complete without this.
document.addEventListener("DOMContentLoaded", () => {
  const value = (row, place) => row.cells[place].textContent.trim();
  const number = (text) => (/^[×\d.-]/.test(text) ? parseFloat(text.replace("×", "")) : NaN);
  const order = (a, b) => {
    const [x, y] = [number(a), number(b)];
    if (Number.isNaN(x) && Number.isNaN(y)) return a.localeCompare(b);
    return Number.isNaN(x) ? 1 : Number.isNaN(y) ? -1 : x - y; // dashes come last
  };

  for (const table of document.querySelectorAll("figure.house-table table")) {
    const heads = [...table.tHead.rows[0].cells], names = heads.map((cell) => cell.textContent.trim());
    const family = names.indexOf("family"), rows = [...table.tBodies[0].rows];
    if (family < 0) continue;
    const status = Object.assign(document.createElement("p"), { className: "visually-hidden", role: "status" });

    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "table-sort";
      button.textContent = names[place];
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const sorted = [...rows].sort((a, b) => (down ? -1 : 1) * order(value(a, place), value(b, place)));
        table.tBodies[0].append(...sorted);
        status.textContent = `Sorted by ${names[place]}, ${down ? "descending" : "ascending"}.`;
      });
    });

    const label = document.createElement("label"), choice = document.createElement("select");
    label.className = "table-filter";
    label.append("Family ", choice);
    for (const name of ["all", ...new Set(rows.map((row) => value(row, family)))]) choice.add(new Option(name, name));
    choice.addEventListener("input", () => {
      for (const row of rows) row.hidden = choice.value !== "all" && value(row, family) !== choice.value;
      status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows.`;
    });
    table.closest("figure").prepend(label, status);
  }
});
