// Opens every page of the built book in a headless browser, over localhost, and prints what is wrong as one JSON object:
// requests to the outside, console errors, failed loads, serious accessibility findings, broken fragments, sideways scrolling,
// what paper cuts off, and whether the ledger's filter, the explorers, the folds of cards and sorted tables work by keyboard.
// usage: node check.mjs HTML_FOLDER SCREENSHOT_FOLDER chrome|firefox EXECUTABLE
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { isVisible, launch, open, press, require, serve, textOf } from "./browser.mjs";

const [root, shots, engine, executable] = process.argv.slice(2);
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
const SIZES = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

const PHONES = [400, 320]; // px
const SHEET = { width: 718, height: 1047 }; // A4 within margins of 10 mm

const { origin, refused, close: stop } = await serve({ "": root });
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function pagesBelow(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries.filter((e) => e.isFile() && e.name.endsWith(".html")).map((e) => relative(root, join(e.parentPath ?? e.path, e.name))).sort();
}

const problems = { outside: [], console: [], failed: [], axe: [], fragments: [], sideways: [], paper: [], ledger: [], explorers: [], folds: [], tables: [], slides: [], file: [] };

const toldOf = (name) => (kind, text) => problems[kind].push(`${name}: ${text}`);
const visit = (browser, name, options = {}) => open(browser, `${origin}/${name}`, { told: toldOf(name), ...options });

async function accessibility(page, name) {
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  for (const v of violations.filter((v) => ["serious", "critical"].includes(v.impact))) {
    problems.axe.push(`${name}: ${v.id} (${v.nodes.length}): ${v.nodes.slice(0, 2).map((n) => n.html.slice(0, 160)).join(" | ")}`);
  }
}

async function look(page, name, size, scheme) {
  const label = `${name} ${size} ${scheme}`;
  await page.setViewport(SIZES[size]);
  await page.evaluate((theme) => { document.documentElement.dataset.theme = theme; }, scheme);
  await pause(50);
  if (size === "wide") await accessibility(page, label);
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (excess > 1) problems.sideways.push(`${label}: ${excess} px`);
  await page.screenshot({ path: join(shots, `${name.replace(/\W/g, "_")}_${size}_${scheme}.png`) });
}

// How many elements that a reader sees are found.
const seen = (page, selector) => page.$$eval(selector, (found) => found.filter((element) => element.checkVisibility()).length);

// How far the page, or the box of a table, is wider than it shows.
const tooWide = (page) => page.evaluate(() => {
  const excess = (box) => box.scrollWidth - box.clientWidth, scrolls = (box) => getComputedStyle(box).overflowX === "auto";
  const boxes = [...document.querySelectorAll("main table")].map((table) => table.parentElement).filter(scrolls);
  return [document.documentElement, ...boxes].filter((box) => excess(box) > 1).map((box) => `${box.ariaLabel ?? box.tagName} ${excess(box)} px`);
});

// On phones neither the page nor, with all folds open, a table of it is wider than the screen.
async function onPhones(page, name) {
  await page.$$eval("details", (folds) => folds.forEach((fold) => { fold.open = true; }));
  for (const width of PHONES) {
    await page.setViewport({ width, height: 800 });
    await pause(50);
    for (const box of await tooWide(page)) problems.sideways.push(`${name} at ${width} px: ${box}`);
  }
}

// Paper does not scroll or unfold: nothing is wider than a sheet, and no form is printed.
async function onPaper(page, name) {
  await page.emulateMediaType("print");
  await page.setViewport(SHEET);
  await pause(50);
  for (const box of await tooWide(page)) problems.paper.push(`${name}: ${box}`);
  if (await seen(page, "main form")) problems.paper.push(`${name}: a form`);
  await page.emulateMediaType("screen");
}

async function inspect(browser, name) {
  const { page, close } = await visit(browser, name);
  await pause(200);
  await page.addScriptTag({ content: axe });
  for (const scheme of ["light", "dark"]) for (const size of ["wide", "phone"]) await look(page, name, size, scheme);
  if (engine === "chrome") await onPaper(page, name); // which Firefox's driver cannot
  await onPhones(page, name);
  const found = await page.evaluate(() => ({
    ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
    links: [...document.querySelectorAll("a[href]")].map((e) => e.href).filter((href) => href.includes("#")) }));
  await close();
  return found;
}

// Links inside the book lead to pages that exist, and to places that these pages have.
function checkFragments(anchors, all) {
  for (const [name, { links }] of Object.entries(anchors)) {
    for (const link of new Set(links.filter((l) => l.startsWith(origin)))) {
      const url = new URL(link), target = anchors[url.pathname.slice(1)], id = decodeURIComponent(url.hash.slice(1));
      if (url.pathname.endsWith(".html") && !all.includes(url.pathname.slice(1))) problems.fragments.push(`${name}: no page ${url.pathname}`);
      if (id && target && !target.ids.includes(id)) problems.fragments.push(`${name}: ${url.pathname}${url.hash}`);
    }
  }
}

async function ledgerByKeyboard(browser) {
  const { page, close } = await visit(browser, "book/ledger.html");
  const visible = () => seen(page, "#ledger-table tbody tr");
  const all = await visible();
  await page.focus("#ledger-filter select[name=section]");
  for (const want of ["section", "verdict", "study", "text"]) {
    const focused = await page.evaluate(() => document.activeElement.name);
    if (focused !== want) problems.ledger.push(`Tab reached ${focused}, not ${want}`);
    if (want !== "text") await page.keyboard.press("Tab");
  }
  await page.keyboard.type("attention");
  const some = await visible();
  if (!(some > 0 && some < all)) problems.ledger.push(`typing left ${some} of ${all} rows`);
  const said = await textOf(page, "#ledger-count[aria-live=polite]");
  if (!said.includes(String(some))) problems.ledger.push(`count says ${said}, ${some} rows show`);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await pause(50);
  if ((await visible()) !== all) problems.ledger.push("reset does not bring all rows back");
  await page.focus("#ledger-filter select[name=verdict]");
  await page.keyboard.press("ArrowDown");
  if ((await visible()) >= all) problems.ledger.push("choosing a verdict by arrow key does not filter");
  await close();
}

// Every explorer of a page: the arrows move one tab stop and what is said follows, also at a phone's width and after the switch.
async function explorersByKeyboard(browser, name, moves) {
  const { page, close } = await visit(browser, name, { size: SIZES.phone });
  const found = await page.$$("figure.explorer");
  if (!found.length) problems.explorers.push(`${name}: no explorer`);
  for (const explorer of found) {
    const said = () => textOf(explorer, ".explorer-status");
    for (const [group, keys, wanted] of moves) {
      const stops = await explorer.$$(`${group} button[tabindex="0"]`), before = await said();
      if (stops.length !== 1) problems.explorers.push(`${name}: ${stops.length} tab stops in ${group}`);
      await stops[0].focus();
      for (const key of keys) await page.keyboard.press(key);
      const state = await page.evaluate(() => ["aria-pressed", "aria-selected", "tabindex"].map((a) => document.activeElement.getAttribute(a)));
      if (!state.slice(0, 2).includes("true") || state[2] !== "0") problems.explorers.push(`${name}: ${keys} in ${group} chose nothing: ${state}`);
      const after = await said();
      if (after === before || !after.includes(wanted)) problems.explorers.push(`${name}: after ${keys} in ${group} it says ${after}`);
    }
    const before = await said(), models = await explorer.$$(".explorer-switch button");
    if (!models.length) continue; // of one model
    await models.at(-1).press("Enter");
    if ((await said()) === before) problems.explorers.push(`${name}: the switch changes nothing`);
  }
  await close();
}

// What is left of the explorers where no script runs: the small multiples, or the open table.
async function explorersWithoutScript(browser, name, content) {
  const { page, close } = await open(browser, `${origin}/${name}`, { still: true });
  const box = await (await page.$(`figure.explorer ${content}`))?.boundingBox();
  if (!box || box.height < 100) problems.explorers.push(`${name}: without scripts there is no ${content}`);
  await close();
}

// Cards and strips hold everything but one line behind folds: the summary is reached by Tab and opens by Enter.
async function foldsByKeyboard(browser, name, fold, content) {
  const { page, close } = await visit(browser, name, { size: SIZES.phone });
  const first = await page.$(fold);
  if (!first) { problems.folds.push(`${name}: no ${fold}`); return close(); }
  const unfolded = () => first.evaluate((e) => e.open), before = await unfolded();
  await (await first.$("summary")).focus();
  await page.keyboard.press("Enter");
  if ((await unfolded()) === before) problems.folds.push(`${name}: Enter does not turn ${fold}`);
  if (before) await page.keyboard.press("Enter");
  if (!(await isVisible(first, content))) problems.folds.push(`${name}: ${fold} shows no ${content}`);
  await close();
}

// A heading sorts the table up, then down; the list of families leaves fewer rows.
async function tableByKeyboard(browser, name, heading) {
  const { page, close } = await visit(browser, name);
  const buttons = await page.$$("figure.house-table .table-sort"), names = await Promise.all(buttons.map((b) => b.evaluate((e) => e.textContent)));
  const button = buttons[names.indexOf(heading)];
  if (!button) { problems.tables.push(`${name}: no heading ${heading} sorts`); return close(); }
  const table = await button.evaluateHandle((e) => e.closest("figure")), first = () => textOf(table, "tbody tr");
  await button.press("Enter");
  const up = await first();
  await button.press("Enter");
  if ((await first()) === up) problems.tables.push(`${name}: a second press does not turn the order`);
  const all = await seen(table, "tbody tr");
  await press(table, ".table-filter select", "ArrowDown");
  if ((await seen(table, "tbody tr")) >= all) problems.tables.push(`${name}: choosing a family does not filter`);
  await close();
}

// A chapter as slides: one heading at a time, turned by arrows, no wider than a phone; Escape brings the page back.
async function slidesByKeyboard(browser, name) {
  const { page, close } = await visit(browser, name, { size: SIZES.phone });
  const headings = () => page.$$eval("article :is(h1, h2, h3, h4)", (found) => found.filter((e) => e.checkVisibility()).map((e) => e.innerText));
  const all = await headings();
  await press(page, ".present-start", "Enter");
  for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft"]) {
    const before = await headings();
    await page.keyboard.press(key);
    const after = await headings(), focused = await page.evaluate(() => document.activeElement.innerText);
    if (after.length !== 1 || after[0] === before[0] || focused !== after[0]) problems.slides.push(`${name}: after ${key} it shows ${after}, focus on ${focused}`);
    for (const box of await tooWide(page)) problems.slides.push(`${name}, ${after}: ${box}`);
  }
  await page.keyboard.press("Escape");
  if ((await headings()).length !== all.length) problems.slides.push(`${name}: Escape does not bring the page back`);
  await close();
}

async function withoutServer(browser) {
  const { page, close } = await open(browser, pathToFileURL(join(root, "book", "ledger.html")).href, { told: toldOf("file://") });
  await pause(300);
  if (!(await isVisible(page, "#ledger-filter"))) problems.file.push("the filter does not start from file://");
  await close();
}

await mkdir(shots, { recursive: true });
const browser = await launch(engine, executable);
const all = await pagesBelow(root), anchors = {}, pages = all.filter((name) => /^(book|notebooks)\//.test(name));
const claims = all.filter((name) => /^claims\//.test(name)).filter((_, place) => place % 80 === 0); // all of one making
for (const name of [...pages, ...claims]) anchors[name] = await inspect(browser, name);
checkFragments(anchors, all);
await ledgerByKeyboard(browser);
await explorersByKeyboard(browser, "notebooks/attention.html", [
  [".explorer-grid", ["Home", "ArrowDown", "ArrowRight"], "-2"], [".explorer-lines", ["ArrowDown"], "looks mostly at"]]);
await explorersByKeyboard(browser, "notebooks/layers.html", [
  [".explorer-words", ["Home", "ArrowRight"], "says"], [".explorer-ladder", ["End"], "embeddings"]]);
await explorersWithoutScript(browser, "notebooks/attention.html", ".explorer-tiles img");
await explorersWithoutScript(browser, "notebooks/layers.html", "details table");
await foldsByKeyboard(browser, "notebooks/overview.html", "details.verdict-more", ".verdict-facts");
await foldsByKeyboard(browser, "book/synthesis.html", "details.strip-fold", "table");
await tableByKeyboard(browser, "notebooks/compression.html", "× bytes");
await slidesByKeyboard(browser, "notebooks/syntax.html");
await withoutServer(browser);
await browser.close();
stop();
problems.outside.push(...refused);
console.log(JSON.stringify({ pages: pages.length, problems }, null, 1));
