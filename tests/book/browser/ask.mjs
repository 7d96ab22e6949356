// The page *Ask BERT* in a headless browser: answers equal to Python's, and panels that work by click and keyboard.
// usage: node ask.mjs HTML_FOLDER EXPECTED_FOLDER chrome|firefox EXECUTABLE; prints {ways, step, problems}.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isVisible, launch, open, press, serve, textOf } from "./browser.mjs";

const [html, expected, engine, executable] = process.argv.slice(2);
const SENTENCES = { WebAssembly: Infinity, JavaScript: 5 }; // computed; plain JavaScript takes five times as long
const PANELS = ["fill", "sentences", "heads", "layers", "neighbours", "learning"];
const CHAPTERS = { syntax: "sentences", embeddings: "neighbours", attention: "heads", world_knowledge: "fill", layers: "layers", training: "learning" }; // a panel of each kind
const problems = [];
let damaged = false; // whether the server changes a byte of the weights

const { origin, paths, refused, close: stop } = await serve({ "": html, expected, tests: import.meta.dirname }, (path, body) => {
  if (damaged && path.endsWith(".bin")) body[1000] ^= 1;
  return body;
});
const address = `${origin}/book/ask.html`, told = (kind, text) => problems.push(`${kind}: ${text}`);

async function equality(browser) {
  const { page, close } = await open(browser, address, { told }), found = [];
  for (const [way, count] of Object.entries(SENTENCES)) found.push(await page.evaluate(async (origin, plain, count) => {
    const { differences } = await import(`${origin}/tests/ask_equality.mjs`);
    const scripts = Object.assign({}, ...(await Promise.all(["bert", "wordpiece", "product", "scores", "neighbours", "patterns"].map((name) => import(`${origin}/_static/ask/${name}.js`)))));
    const folder = (name) => (["expected.json", "logits.bin", "maps.bin"].includes(name) ? "/expected" : "/_static/ask/models");
    const files = async (name) => (await fetch(`${folder(name)}/${name}`)).arrayBuffer();
    return differences(scripts, files, { plain, count: count ?? Infinity });
  }, origin, way === "JavaScript", Number.isFinite(count) ? count : null)); // JSON has no infinity
  await close();
  return found;
}

// One step's answers to the questions of all panels, by the page's own worker: how far its numbers are from Python's; its words
// are the same, or it is infinitely far.
async function oneStep(browser) {
  const { page, close } = await open(browser, address, { told });
  const far = await page.evaluate(async (origin) => {
    const wanted = await (await fetch("/expected/step.json")).json();
    const worker = new Worker(`${origin}/_static/ask/worker.js`, { type: "module" }), waiting = new Map(), asked = (id) => new Promise((done) => waiting.set(id, done));
    const distance = (one, other) => {
      if (typeof other === "number") return Math.abs(one - other);
      if (typeof other === "string") return one === other ? 0 : Infinity;
      const keys = Object.keys(other);
      return Array.isArray(other) && one.length !== other.length ? Infinity : Math.max(0, ...keys.map((key) => distance(one[key], other[key])));
    };
    await new Promise((ready) => { worker.onmessage = ({ data }) => { if (data.ready) ready(); else if (!data.total) waiting.get(data.id)(data); }; });
    const found = {};
    for (const [id, { question, answer }] of wanted.entries()) {
      worker.postMessage({ id, ...question });
      const { answer: mine, error } = await asked(id);
      found[question.kind] = error ?? distance(mine, answer);
    }
    worker.terminate();
    return found;
  }, origin);
  await close();
  return far;
}

const within = (name, inside = "") => `[data-ask=${name}] ${inside}`;
const said = (page, name) => textOf(page, within(name, "[role=status]"));
const shown = (page, name) => textOf(page, within(name, ".ask-answer"));
const click = (page, name, button) => page.locator(within(name, `button[name=${button}]`)).click();

async function answered(page, name, part = "> ") {
  await page.waitForFunction((selector) => document.querySelector(selector).ariaBusy === "false", { timeout: 300_000 }, within(name, `${part}.ask-answer`));
  return textOf(page, within(name, `${part}[role=status]`));
}

const ready = (page, name) => page.waitForSelector(within(name, "form"), { visible: true });

// One click on each panel says in the browser what Python said when the book was built.
async function prepared(browser) {
  const { page, close } = await open(browser, address, { told });
  await ready(page, "fill");
  loadedNothing("ask");
  for (const name of PANELS) await asBuilt(page, name);
  await keyboard(page);
  await misuse(page);
  await close();
}

function loadedNothing(name) {
  if (paths.splice(0).some((path) => /ask\/(models\/|worker)/.test(path))) problems.push(`${name}: the model is loaded before a click`);
}

const patterns = (page, name) => page.$$eval(within(name, "> .ask-answer .ask-patterns"), (parts) => parts.map((part) => part.innerText).join());

async function asBuilt(page, name) {
  const table = within(name, ".ask-steps");
  if (name !== "learning") await press(page, within(name, ".ask-learnt > summary"), "Enter");
  await page.waitForSelector(table, { visible: true });
  const before = await textOf(page, table);
  if (name !== "learning") await answersAsBuilt(page, name);
  await stepsAsBuilt(page, name, table, before);
}

// Before the time stands, for whoever hears the page, what was found.
const computed = (name, status) => { if (!/^\S.*\s+Computed in this browser, in [\d.]+ m?s\.$/s.test(status)) problems.push(`${name} says ${status}`); };

async function answersAsBuilt(page, name) {
  const before = await shown(page, name), marked = await patterns(page, name);
  await click(page, name, "twin");
  computed(name, await answered(page, name));
  const after = await shown(page, name);
  const told = (text) => text.split(/Table behind the figure|\S+, each head's pattern/)[0].trim(); // patterns are compared by themselves
  if ((await patterns(page, name)) !== marked) problems.push(`${name} marks other patterns than it was built with`);
  if (told(after) !== told(before)) problems.push(`${name} shows\n${after}\nand was built with\n${before}`);
}

// The steps of a training: the table is the one that was built, and the slider tells and shows the step where it stands.
async function stepsAsBuilt(page, name, table, before) {
  const slider = within(name, "input[type=range]");
  await click(page, name, "learning");
  computed(`${name}, steps,`, await answered(page, name, ".ask-learnt > "));
  const after = await textOf(page, table);
  if (after !== before) problems.push(`${name} learns\n${after}\nand was built with\n${before}`);
  const last = await textOf(page, within(name, ".ask-step"));
  await press(page, slider, "Home");
  const [told, marked] = await page.evaluate((slider, row) => [document.querySelector(slider).ariaValueText, document.querySelector(row).innerText], slider, within(name, ".ask-steps .ask-marked"));
  if (!told?.startsWith("step 0: ") || !marked.startsWith("0\t")) problems.push(`${name}: the slider says ${told} and marks ${marked}`);
  if ((await textOf(page, within(name, ".ask-step"))) === last) problems.push(`${name}: the slider shows no other step`);
  await press(page, slider, "End");
  if ((await textOf(page, within(name, ".ask-step"))) !== last) problems.push(`${name}: the slider does not come back`);
}

// The panels inside chapters, which load nothing before a click either.
async function inChapters(browser) {
  for (const [chapter, name] of Object.entries(CHAPTERS)) {
    paths.length = 0;
    const { page, close } = await open(browser, `${origin}/notebooks/${chapter}.html`, { told });
    await ready(page, name);
    loadedNothing(chapter);
    await asBuilt(page, name);
    await close();
  }
}

async function keyboard(page) {
  await page.mouse.move(0, 0); // a page that scrolls under a resting mouse previews the head that comes to lie below it
  const second = within("sentences", "input[name=second]");
  await page.locator(second).fill("The cats sleep.");
  await press(page, second, "Enter");
  await answered(page, "sentences");
  await answered(page, "sentences", ".ask-learnt > ");
  if (!(await shown(page, "sentences")).includes("sleep")) problems.push("Enter does not ask");
  if (!(await page.$eval(second, (input) => input === document.activeElement))) problems.push("asking takes the focus away");
  const step = () => textOf(page, within("learning", "output")), before = await step();
  await press(page, within("learning", "input[type=range]"), "ArrowLeft");
  if ((await step()) === before) problems.push("the arrow does not move the slider");
  if (!(await textOf(page, within("sentences", ".ask-steps caption"))).includes("The cats sleep.")) problems.push("steps that are loaded are not asked the new question");
  const nearest = () => textOf(page, within("neighbours", "caption")), near = await nearest();
  await press(page, within("neighbours", "input[type=radio]:checked"), "ArrowRight");
  if ((await nearest()) === near || !(await said(page, "neighbours")).startsWith("Nearest to “of”")) problems.push("the arrow chooses no word");
  const head = () => textOf(page, within("heads", ".explorer-status")), first = await head();
  await press(page, within("heads", ".explorer-grid button[tabindex='0']"), "ArrowRight");
  if ((await head()) === first) problems.push(`the arrow chooses no head: ${first}`);
}

// What readers may type: no blank, too much, and HTML, which stays text.
async function misuse(page) {
  const put = async (text) => {
    await page.locator(within("fill", "input[name=text]")).fill(text);
    await click(page, "fill", "ask");
    return answered(page, "fill");
  };
  for (const [text, wanted] of [["No blank here.", "exactly one [MASK]"], ["[MASK] and [MASK]", "it has 2"], ["", "Type a sentence"], [`${"word ".repeat(40)}[MASK]`, "At most 30"], ["One __ here.", "Computed"]]) {
    const status = await put(text);
    if (!status.includes(wanted)) problems.push(`“${text}” is answered: ${status}`);
  }
  await page.locator(within("fill", "input[name=words]")).fill("<img src=x>, ice cream");
  await put("<b>[MASK]</b>");
  if ((await page.$(within("fill", ".ask-answer :is(img, b)"))) || !(await shown(page, "fill")).includes("<img src=x>")) problems.push("a reader's text becomes HTML");
}

async function damagedWeights(browser) {
  damaged = true;
  const { page, close } = await open(browser, address, { told });
  await click(page, "layers", "ask");
  const status = await answered(page, "layers");
  if (!status.includes("damaged")) problems.push(`damaged weights are answered: ${status}`);
  await close();
  damaged = false;
}

async function stillPages(browser) {
  const without = await open(browser, address, { still: true });
  for (const name of PANELS) {
    if (await isVisible(without.page, within(name, "form"))) problems.push(`${name}: a form without a script`);
    if ((await shown(without.page, name)).length < 50) problems.push(`${name}: no answer without a script`);
  }
  await without.close();
  const file = await open(browser, pathToFileURL(join(html, "book", "ask.html")).href, { told });
  if (!(await textOf(file.page, ".ask-notice")).includes("serve over HTTP (make serve)")) problems.push("file:// says nothing");
  if (await isVisible(file.page, within("fill", "form"))) problems.push("file:// has a form that cannot work");
  await file.close();
  paths.length = 0;
  const other = await open(browser, `${origin}/book/how_to_read.html`, { told });
  if (paths.some((path) => path.includes("/ask/"))) problems.push("another page loads these scripts");
  await other.close();
}

const browser = await launch(engine, executable);
await stillPages(browser);
paths.length = 0;
await prepared(browser);
await inChapters(browser);
await damagedWeights(browser);
const ways = await equality(browser), step = await oneStep(browser);
await browser.close();
stop();
console.log(JSON.stringify({ ways, step, problems: [...problems, ...refused] }));
