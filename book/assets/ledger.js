// Filters the ledger's rows by section, verdict, study and text. The page is complete without it; the form shows once this runs.
// The choice is kept in the address (?verdict=contradicts), so that a filtered view can be linked to.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("ledger-filter");
  const count = document.getElementById("ledger-count");
  const rows = [...document.querySelectorAll("#ledger-table tbody tr")].map((row) => ({
    row, section: row.dataset.section, verdict: row.dataset.verdict,
    study: row.dataset.studies.split(" "), text: row.textContent.toLowerCase(),
  }));

  const fits = (entry, want) =>
    (!want.section || entry.section === want.section) &&
    (!want.verdict || entry.verdict === want.verdict) &&
    (!want.study || entry.study.includes(want.study)) &&
    want.text.toLowerCase().split(/\s+/).every((word) => entry.text.includes(word));

  const apply = () => {
    const want = Object.fromEntries(new FormData(form));
    let shown = 0;
    for (const entry of rows) {
      entry.row.hidden = !fits(entry, want);
      shown += entry.row.hidden ? 0 : 1;
    }
    count.textContent = shown === rows.length ? `${shown} claims` : `${shown} of ${rows.length} claims`;
    return want;
  };

  const remember = () => {
    const filled = Object.entries(apply()).filter(([, value]) => value);
    const query = new URLSearchParams(filled).toString();
    try { history.replaceState(null, "", (query ? `?${query}` : location.pathname) + location.hash); } catch { /* file:// in some browsers */ }
  };

  for (const [name, value] of new URLSearchParams(location.search)) {
    if (form.elements[name]) form.elements[name].value = value;
  }
  form.hidden = false;
  form.addEventListener("input", remember);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(remember));
  apply();
});
