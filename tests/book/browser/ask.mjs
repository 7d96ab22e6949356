// The page *Ask BERT* in a headless browser: answers equal to Python's, and panels that work by click and keyboard.
// usage: node ask.mjs HTML_FOLDER EXPECTED_FOLDER CHROMIUM; prints {engines, problems}.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [html, expected, executablePath] = process.argv.slice(2);
const require = createRequire(join(process.env.BROWSER_MODULES ?? import.meta.dirname, "package.json"));
const { chromium } = require("playwright-core");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json" };
const SENTENCES = { WebAssembly: Infinity, JavaScript: 5 }; // computed; plain JavaScript takes five times as long
const PANELS = { fill: "twin", sentences: "ask", heads: "ask", layers: "ask", learning: "ask" }; // with the button pressed
const CHAPTERS = { syntax: "sentences", attention: "heads", world_knowledge: "fill", layers: "layers", training: "learning" }; // a panel of each kind
const problems = [];
let damaged = false; // whether the server changes a byte of the weights

const server = createServer(async (request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
  const [, top, ...rest] = path.split("/"), base = { expected, tests: import.meta.dirname }[top];
  try {
    const body = await readFile(base ? join(base, ...rest) : join(html, path));
    if (damaged && path.endsWith(".bin")) body[1000] ^= 1;
    response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(body);
  } catch { response.writeHead(404).end(); }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`, address = `${origin}/book/ask.html`;

async function open(browser, options = {}, url = address) {
  const context = await browser.newContext(options), page = await context.newPage(), requests = [];
  page.on("request", (r) => requests.push(r.url()));
  page.on("console", (m) => { if (m.type() === "error") problems.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => problems.push(`page: ${e.message}`));
  await page.goto(url);
  return { page, requests, close: () => context.close() };
}

async function equality(browser) {
  const { page, close } = await open(browser), found = [];
  for (const [engine, count] of Object.entries(SENTENCES)) found.push(await page.evaluate(async ([plain, count]) => {
    const { differences } = await import("/tests/ask_equality.mjs");
    const scripts = Object.assign({}, ...(await Promise.all(["bert", "wordpiece", "product"].map((name) => import(`/_static/ask/${name}.js`)))));
    const folder = (name) => (["expected.json", "logits.bin", "maps.bin"].includes(name) ? "/expected" : "/_static/ask/models");
    const files = async (name) => (await fetch(`${folder(name)}/${name}`)).arrayBuffer();
    return differences(scripts, files, { plain, count });
  }, [engine === "JavaScript", count]));
  await close();
  return found;
}

const panel = (page, name) => page.locator(`[data-ask=${name}]`);
const said = (page, name) => panel(page, name).locator("[role=status]").textContent();
const shown = (page, name) => panel(page, name).locator(".ask-answer").innerText();

async function answered(page, name) {
  await page.waitForFunction((name) => document.querySelector(`[data-ask=${name}] .ask-answer`).ariaBusy === "false", name, { timeout: 300_000 });
  return said(page, name);
}

// One click on each panel says in the browser what Python said when the book was built.
async function prepared(browser) {
  const { page, requests, close } = await open(browser);
  await page.waitForSelector("[data-ask=fill] form:visible");
  if (requests.some((url) => /models\/|worker/.test(url))) problems.push("something of the model is loaded before a click");
  for (const [name, button] of Object.entries(PANELS)) await asBuilt(page, name, button);
  await keyboard(page);
  await misuse(page);
  if (requests.some((url) => !url.startsWith(origin) && !/^(data|blob):/.test(url))) problems.push("a request to outside");
  await close();
}

async function asBuilt(page, name, button) {
  const before = await shown(page, name);
  await panel(page, name).locator(`button[name=${button}]`).click();
  const status = await answered(page, name);
  if (!status.startsWith("Computed in this browser")) problems.push(`${name} says ${status}`);
  const after = name === "learning" ? await panel(page, name).locator(".ask-steps").innerText() : await shown(page, name);
  const told = (text) => text.split("Table behind the figure")[0].trim();
  if (told(after) !== told(before)) problems.push(`${name} shows\n${after}\nand was built with\n${before}`);
}

// The panels inside chapters, which load nothing before a click either.
async function inChapters(browser) {
  for (const [chapter, name] of Object.entries(CHAPTERS)) {
    const { page, requests, close } = await open(browser, {}, `${origin}/notebooks/${chapter}.html`);
    await page.waitForSelector(`[data-ask=${name}] form:visible`);
    if (requests.some((url) => /ask\/(models\/|worker)/.test(url))) problems.push(`${chapter}: the model is loaded before a click`);
    await asBuilt(page, name, PANELS[name]);
    await close();
  }
}

async function keyboard(page) {
  await page.mouse.move(0, 0); // a page that scrolls under a resting mouse previews the head that comes to lie below it
  const text = panel(page, "sentences").locator("input[name=second]");
  await text.fill("The cats sleep.");
  await text.press("Enter");
  await answered(page, "sentences");
  if (!(await shown(page, "sentences")).includes("sleep")) problems.push("Enter does not ask");
  if (!(await text.evaluate((input) => input === document.activeElement))) problems.push("asking takes the focus away");
  const slider = panel(page, "learning").locator("input[type=range]"), step = () => panel(page, "learning").locator("output").textContent();
  const before = await step();
  await slider.press("ArrowLeft");
  if ((await step()) === before) problems.push("the arrow does not move the slider");
  const heads = panel(page, "heads").locator(".explorer-grid button[tabindex='0']"), status = () => panel(page, "heads").locator(".explorer-status").textContent();
  await heads.press("ArrowRight");
  if (!(await status()).includes("Head 1-2")) problems.push(`the arrow chooses no head: ${await status()}`);
}

// What readers may type: no blank, too much, and HTML, which stays text.
async function misuse(page) {
  const put = async (text) => {
    await panel(page, "fill").locator("input[name=text]").fill(text);
    await panel(page, "fill").locator("button[name=ask]").click();
    return answered(page, "fill");
  };
  for (const [text, wanted] of [["No blank here.", "exactly one [MASK]"], ["[MASK] and [MASK]", "it has 2"], ["", "Type a sentence"], [`${"word ".repeat(40)}[MASK]`, "At most 30"], ["One __ here.", "Computed"]]) {
    const status = await put(text);
    if (!status.includes(wanted)) problems.push(`“${text}” is answered: ${status}`);
  }
  await panel(page, "fill").locator("input[name=words]").fill("<img src=x>, ice cream");
  await put("<b>[MASK]</b>");
  const answer = panel(page, "fill").locator(".ask-answer");
  if ((await answer.locator("img, b").count()) || !(await answer.innerText()).includes("<img src=x>")) problems.push("a reader's text becomes HTML");
}

async function damagedWeights(browser) {
  damaged = true;
  const { page, close } = await open(browser);
  await panel(page, "layers").locator("button[name=ask]").click();
  const status = await answered(page, "layers");
  if (!status.includes("damaged")) problems.push(`damaged weights are answered: ${status}`);
  await close();
  damaged = false;
}

async function stillPages(browser) {
  const without = await open(browser, { javaScriptEnabled: false });
  for (const name of Object.keys(PANELS)) {
    if (await panel(without.page, name).locator("form").isVisible()) problems.push(`${name}: a form without a script`);
    if ((await shown(without.page, name)).length < 50) problems.push(`${name}: no answer without a script`);
  }
  await without.close();
  const file = await open(browser, {}, pathToFileURL(join(html, "book", "ask.html")).href);
  if (!(await file.page.locator(".ask-notice").innerText()).includes("serve over HTTP (make serve)")) problems.push("file:// says nothing");
  if (await panel(file.page, "fill").locator("form").isVisible()) problems.push("file:// has a form that cannot work");
  await file.close();
  const other = await open(browser, {}, `${origin}/book/how_to_read.html`);
  if (other.requests.some((url) => url.includes("/ask/"))) problems.push("another page loads these scripts");
  await other.close();
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
await stillPages(browser);
await prepared(browser);
await inChapters(browser);
await damagedWeights(browser);
const engines = await equality(browser);
await browser.close();
server.close();
console.log(JSON.stringify({ engines, problems }));
