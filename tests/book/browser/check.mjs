// Opens every page of the built book in a headless browser, over localhost, and prints what is wrong as one JSON object:
// requests to the outside, console errors, failed loads, serious accessibility findings, broken fragments, sideways scrolling,
// and whether the ledger's filter, the explorers, the folds of cards and sorted tables work by keyboard. usage: node check.mjs HTML_FOLDER SCREENSHOT_FOLDER CHROMIUM
import { createServer } from "node:http";
import { readFile, readdir, mkdir } from "node:fs/promises";
import { extname, join, normalize, relative } from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [root, shots, executablePath] = process.argv.slice(2);
// The packages lie in a git-ignored folder named by the caller, not necessarily beside this script.
const require = createRequire(join(process.env.BROWSER_MODULES ?? import.meta.dirname, "package.json"));
const { chromium } = require("playwright-core");
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png" };
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const SIZES = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

const server = createServer(async (request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
  try {
    const body = await readFile(join(root, path.endsWith("/") ? path + "index.html" : path));
    response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(body);
  } catch { response.writeHead(404).end(); }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`;

async function pagesBelow(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries.filter((e) => e.isFile() && e.name.endsWith(".html")).map((e) => relative(root, join(e.parentPath ?? e.path, e.name))).sort();
}

const problems = { outside: [], console: [], failed: [], axe: [], fragments: [], sideways: [], ledger: [], explorers: [], folds: [], tables: [], file: [] };

function watch(page, name, allowed) {
  page.on("request", (r) => { if (!r.url().startsWith(allowed) && !/^(data|blob):/.test(r.url())) problems.outside.push(`${name}: ${r.url()}`); });
  page.on("console", (m) => { if (m.type() === "error") problems.console.push(`${name}: ${m.text()}`); });
  page.on("pageerror", (e) => problems.console.push(`${name}: ${e.message}`));
  page.on("response", (r) => { if (r.status() >= 400) problems.failed.push(`${name}: ${r.status()} ${r.url()}`); });
}

async function accessibility(page, name) {
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  for (const v of violations.filter((v) => ["serious", "critical"].includes(v.impact))) {
    problems.axe.push(`${name}: ${v.id} (${v.nodes.length}): ${v.nodes.slice(0, 2).map((n) => n.html.slice(0, 160)).join(" | ")}`);
  }
}

async function look(page, name, size, scheme) {
  const label = `${name} ${size} ${scheme}`;
  await page.setViewportSize(SIZES[size]);
  await page.evaluate((theme) => { document.documentElement.dataset.theme = theme; }, scheme);
  await page.waitForTimeout(50);
  if (size === "wide") await accessibility(page, label);
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (excess > 1) problems.sideways.push(`${label}: ${excess} px`);
  await page.screenshot({ path: join(shots, `${name.replace(/\W/g, "_")}_${size}_${scheme}.png`) });
}

async function visit(browser, name) {
  const page = await browser.newPage({ viewport: SIZES.wide, colorScheme: "light", reducedMotion: "reduce" });
  watch(page, name, origin);
  await page.goto(`${origin}/${name}`, { waitUntil: "load" });
  await page.waitForTimeout(200);
  await page.addScriptTag({ content: axe });
  for (const scheme of ["light", "dark"]) for (const size of ["wide", "phone"]) await look(page, name, size, scheme);
  const found = await page.evaluate(() => ({
    ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
    links: [...document.querySelectorAll("a[href]")].map((e) => e.href).filter((href) => href.includes("#")) }));
  await page.close();
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
  const page = await browser.newPage();
  await page.goto(`${origin}/book/ledger.html`);
  const visible = () => page.locator("#ledger-table tbody tr:visible").count();
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
  const said = await page.textContent("#ledger-count[aria-live=polite]");
  if (!said.includes(String(some))) problems.ledger.push(`count says ${said}, ${some} rows show`);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(50);
  if ((await visible()) !== all) problems.ledger.push("reset does not bring all rows back");
  await page.focus("#ledger-filter select[name=verdict]");
  await page.keyboard.press("ArrowDown");
  if ((await visible()) >= all) problems.ledger.push("choosing a verdict by arrow key does not filter");
  await page.close();
}

// Every explorer of a page: the arrows move one tab stop and what is said follows, also at a phone's width and after the switch.
async function explorersByKeyboard(browser, name, moves) {
  const page = await browser.newPage({ viewport: SIZES.phone, reducedMotion: "reduce" });
  watch(page, name, origin);
  await page.goto(`${origin}/${name}`);
  const found = await page.locator("figure.explorer").all();
  if (!found.length) problems.explorers.push(`${name}: no explorer`);
  for (const explorer of found) {
    const said = () => explorer.locator("[aria-live=polite]").textContent();
    for (const [group, keys, wanted] of moves) {
      const stops = explorer.locator(`${group} button[tabindex="0"]`), before = await said();
      if ((await stops.count()) !== 1) problems.explorers.push(`${name}: ${await stops.count()} tab stops in ${group}`);
      await stops.first().focus();
      for (const key of keys) await page.keyboard.press(key);
      const state = await page.evaluate(() => ["aria-pressed", "aria-selected", "tabindex"].map((a) => document.activeElement.getAttribute(a)));
      if (!state.slice(0, 2).includes("true") || state[2] !== "0") problems.explorers.push(`${name}: ${keys} in ${group} chose nothing: ${state}`);
      const after = await said();
      if (after === before || !after.includes(wanted)) problems.explorers.push(`${name}: after ${keys} in ${group} it says ${after}`);
    }
    const before = await said(), models = explorer.locator(".explorer-switch button");
    if (!(await models.count())) continue; // of one model
    await models.last().press("Enter");
    if ((await said()) === before) problems.explorers.push(`${name}: the switch changes nothing`);
  }
  await page.close();
}

// What is left of the explorers where no script runs: the small multiples, or the open table.
async function explorersWithoutScript(browser, name, content) {
  const context = await browser.newContext({ javaScriptEnabled: false }), page = await context.newPage();
  await page.goto(`${origin}/${name}`);
  const box = await page.locator(`figure.explorer ${content}`).first().boundingBox();
  if (!box || box.height < 100) problems.explorers.push(`${name}: without scripts there is no ${content}`);
  await context.close();
}

// Cards and strips hold everything but one line behind folds: the summary is reached by Tab and opens by Enter.
async function foldsByKeyboard(browser, name, fold, content) {
  const page = await browser.newPage({ viewport: SIZES.phone });
  await page.goto(`${origin}/${name}`);
  const first = page.locator(fold).first();
  if (!(await first.count())) { problems.folds.push(`${name}: no ${fold}`); return page.close(); }
  const open = () => first.evaluate((e) => e.open), before = await open();
  await first.locator("summary").first().focus();
  await page.keyboard.press("Enter");
  if ((await open()) === before) problems.folds.push(`${name}: Enter does not turn ${fold}`);
  if (before) await page.keyboard.press("Enter");
  if (!(await first.locator(content).first().isVisible())) problems.folds.push(`${name}: ${fold} shows no ${content}`);
  await page.close();
}

// A heading sorts the table up, then down; the list of families leaves fewer rows.
async function tableByKeyboard(browser, name, heading) {
  const page = await browser.newPage();
  watch(page, name, origin);
  await page.goto(`${origin}/${name}`);
  const table = page.locator("figure.house-table", { has: page.locator(".table-sort", { hasText: heading }) }).first();
  if (!(await table.count())) { problems.tables.push(`${name}: no heading ${heading} sorts`); return page.close(); }
  const first = () => table.locator("tbody tr").first().innerText();
  const button = table.locator(".table-sort", { hasText: heading }).first();
  await button.focus();
  await page.keyboard.press("Enter");
  const up = await first();
  await page.keyboard.press("Enter");
  if ((await first()) === up) problems.tables.push(`${name}: a second press does not turn the order`);
  const rows = () => table.locator("tbody tr:visible").count(), all = await rows();
  await table.locator(".table-filter select").focus();
  await page.keyboard.press("ArrowDown");
  if ((await rows()) >= all) problems.tables.push(`${name}: choosing a family does not filter`);
  await page.close();
}

async function withoutServer(browser) {
  const page = await browser.newPage();
  watch(page, "file://", "file://");
  await page.goto(pathToFileURL(join(root, "book", "ledger.html")).href);
  await page.waitForTimeout(300);
  if (!(await page.locator("#ledger-filter").isVisible())) problems.file.push("the filter does not start from file://");
  await page.close();
}

await mkdir(shots, { recursive: true });
const browser = await chromium.launch({ executablePath, args: FLAGS });
const all = await pagesBelow(root), anchors = {}, pages = all.filter((name) => /^(book|notebooks)\//.test(name));
const claims = all.filter((name) => /^claims\//.test(name)).filter((_, place) => place % 80 === 0); // all of one making
for (const name of [...pages, ...claims]) {
  anchors[name] = await visit(browser, name);
}
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
await withoutServer(browser);
await browser.close();
server.close();
console.log(JSON.stringify({ pages: pages.length, problems }, null, 1));
