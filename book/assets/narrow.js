// On a phone the rows of a wide table become blocks, in which each cell has its column's name above it (house.css). Tables
// are complete without this: they scroll sideways in their box then.
document.addEventListener("DOMContentLoaded", () => {
  const FEW = 2, LONG = 14; // columns that fit a phone side by side; characters that fit a third of it
  const boxes = ":is(.scroll, .table-scroll, .verdict-scroll, .pst-scrollable-table-container)";
  const text = (cell) => cell.textContent.trim();

  function label(table) {
    const heads = [...table.tHead.rows[0].cells], rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    heads.forEach((head, place) => {
      const long = rows.some((row) => text(row.cells[place]).length > LONG || row.cells[place].querySelector(".verdict-badge"));
      for (const row of rows) {
        row.cells[place].dataset.label = text(head);
        row.cells[place].classList.toggle("long", long);
      }
    });
    table.classList.add("stacks");
  }

  // As blocks the parts would lose what they are to a screen reader.
  function keepRoles(table) {
    const roles = { thead: "rowgroup", tbody: "rowgroup", tr: "row", td: "cell", "thead th": "columnheader", "tbody th": "rowheader" };
    table.role = "table";
    for (const [selector, role] of Object.entries(roles)) for (const part of table.querySelectorAll(selector)) part.role = role;
  }

  for (const table of document.querySelectorAll(`${boxes} > table`)) {
    if (table.tHead?.rows.length !== 1 || table.tHead.rows[0].cells.length <= FEW || table.querySelector("[colspan], [rowspan]")) continue;
    label(table);
    keepRoles(table);
  }
});
