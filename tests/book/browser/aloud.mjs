// What a screen reader says of the built book, by one that reads the DOM as the specifications ask (how to hear a real one
// is told in CONTRIBUTING.md): each question, answer and fault once and in order, controls with their names, quizzes and sorted tables.
// usage: node aloud.mjs HTML_FOLDER UNUSED chrome EXECUTABLE; prints {problems}.
import { dirname, join } from "node:path";
import { launch, open, press, require, serve } from "./browser.mjs";

const [html, , engine, executable] = process.argv.slice(2);
const reader = join(dirname(require.resolve("@guidepup/virtual-screen-reader/package.json")), "lib", "esm");
const { origin, close: stop } = await serve({ "": html, reader });
const problems = [], pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const ANSWERS = { fill: /^First words: \S.* Yours: \S.* %\./, sentences: / sentence is preferred/, layers: /^The last layer says “/, heads: /^Patterns of heads: vertical \d/, neighbours: /^Nearest to “/ };
const TIME = / Computed in this browser, in [\d.]+ m?s\.$/;
const UNNAMED = /^(button|textbox|radio|checkbox|combobox|slider|gridcell|grid|image)(, (not )?(checked|pressed|selected).*)?$/;

const listen = (page, part) => page.evaluate(async (origin, part) => {
  window.virtual ??= (await import(`${origin}/reader/index.browser.js`)).virtual;
  await virtual.stop();
  await virtual.start({ container: document.querySelector(part) });
}, origin, part);

// What was said since the last call; two records of one change are read once by a real one.
async function said(page) {
  await pause(150);
  const log = await page.evaluate(async () => { const log = await virtual.spokenPhraseLog(); await virtual.clearSpokenPhraseLog(); return log; });
  return log.map((phrase) => phrase.replace(/^polite: /, "")).filter((phrase, place, all) => phrase !== all[place - 1]);
}

// Phrase by phrase what is wanted, a string or a pattern, and no more.
function hold(name, heard, wanted) {
  const fits = (phrase, want) => (want instanceof RegExp ? want.test(phrase) : phrase === want);
  if (heard.length !== wanted.length || !wanted.every((want, place) => fits(heard[place], want))) problems.push(`${name}: heard ${JSON.stringify(heard)}`);
}

const within = (name, inside = "") => `[data-ask=${name}] ${inside}`;

async function focus(page, selector) {
  await page.focus(selector);
  return said(page);
}

async function enter(page, name, part = "> ") {
  await page.keyboard.press("Enter");
  await pause(50);
  await page.waitForFunction((place) => document.querySelector(place).ariaBusy === "false", { timeout: 60_000 }, within(name, `${part}.ask-answer`));
  return said(page);
}

// Everything of a part, read from its beginning to its end.
async function readThrough(page, part) {
  await listen(page, part);
  return page.evaluate(async () => {
    const end = `end of ${await virtual.lastSpokenPhrase()}`;
    for (let step = 0; step < 2000 && (await virtual.lastSpokenPhrase()) !== end; step += 1) await virtual.next();
    return virtual.spokenPhraseLog();
  });
}

async function questions(page) {
  for (const [name, answer] of Object.entries(ANSWERS)) {
    const field = (await focus(page, within(name, "form input"))).at(-1);
    if (!/^textbox, .*[Ss]entence.*, \S/.test(field)) problems.push(`${name}: the field is “${field}”`);
    const heard = await enter(page, name), steps = heard.filter((phrase) => !/^(Loading pocket-bert|Reading \d+ other sentences) …$/.test(phrase));
    hold(name, steps, ["Computing …", new RegExp(`${answer.source}.*${TIME.source}`)]);
  }
  await focus(page, within("fill", "button[name=twin]"));
  hold("twin", await enter(page, "fill"), ["Computing …", "Loading the untrained twin …", /^First words: .* Untrained twin\. First words: /]);
}

async function faults(page) {
  for (const [text, fault] of [["", "Type a sentence first."], [`${"word ".repeat(40)}[MASK]`, /^At most 30 words/], ["No blank.", /exactly one \[MASK\]/]]) {
    await page.$eval(within("fill", "form input"), (input, text) => { input.value = text; }, text);
    await focus(page, within("fill", "form input"));
    hold("fault", await enter(page, "fill"), ["Computing …", fault]);
  }
}

// The slider's own value says step and answer, so that nothing else does.
async function slider(page) {
  await focus(page, within("learning", "button"));
  hold("steps", await enter(page, "learning", ".ask-learnt > "), ["Computing …", /^Loading ladder-1m …$/, /^At step \S+: first words .* The slider chooses a step\. Computed/]);
  hold("slider", await focus(page, within("learning", "input[type=range]")), [/^slider, Step of training, .*current value step \S+: first words /]);
  await page.keyboard.press("Home");
  hold("first step", await said(page), []);
}

async function explorer(page) {
  hold("head", await focus(page, within("heads", ".explorer-grid [tabindex='0']")), [/^gridcell, head \d-\d(, framed)?, selected$/]);
  await page.keyboard.press("ArrowUp");
  hold("another head", await said(page), [/^gridcell, head \d-\d(, framed)?, selected$/, /^Head \d-\d(, pocket-bert)?: most attention goes to “/]);
}

// Controls have names, and numbers have columns.
async function names(page) {
  for (const name of [...Object.keys(ANSWERS), "learning"]) {
    const heard = await readThrough(page, within(name));
    const unnamed = heard.filter((phrase) => UNNAMED.test(phrase));
    if (unnamed.length) problems.push(`${name}: without names are ${unnamed}`);
    const [tables, captions, columns] = [/^table, /, /^caption, /, /^columnheader, /].map((role) => heard.filter((phrase) => role.test(phrase)).length);
    if (!tables || captions < tables || columns < 2 * tables) problems.push(`${name}: ${tables} tables have ${captions} captions and ${columns} headings`);
  }
}

async function askPage(browser) {
  const { page, close } = await open(browser, `${origin}/book/ask.html`);
  await page.waitForSelector(within("fill", "form"), { visible: true });
  await names(page);
  await listen(page, "main");
  await questions(page);
  await faults(page);
  await slider(page);
  await explorer(page);
  await close();
}

// A rule of style shows what is said of an answer, which this reader does not see: it is written into a live part.
async function quiz(page) {
  const live = () => page.$$eval(".quiz-question:first-of-type [aria-live=polite]", (parts) => parts.map((part) => part.innerText).join("").trim());
  const heard = [await live()];
  for (const [selector, key] of [[".quiz-check input", "Space"], [".quiz-option input", "Space"], [".quiz-option input", "ArrowDown"]]) {
    await press(page, selector, key);
    heard.push(await live());
  }
  hold("quiz", heard, ["", "Choose an answer first.", /^(Right\.|Not so\.) \S/, /^(Right\.|Not so\.) \S/]);
  if (heard[2] === heard[3]) problems.push("quiz: another answer is told the same");
}

async function sortedTable(page) {
  await listen(page, "figure.house-table:has(.table-sort)");
  for (const order of ["ascending", "descending"]) {
    await press(page, ".table-sort", "Enter");
    hold("table", (await said(page)).slice(-1), [new RegExp(`^Sorted by .+, ${order}\\.$`)]);
  }
  await press(page, ".table-filter select", "ArrowDown");
  hold("filter", (await said(page)).slice(-1), [/^\d+ of \d+ rows\.$/]);
}

// A card says what it is before it is read, and that it is unfolded; the browser's own tree is asked.
async function card(page) {
  const root = await page.$(".verdict-card");
  await (await root.$("summary")).press("Enter");
  const { role, name, children } = await page.accessibility.snapshot({ root, interestingOnly: false });
  const fold = (node) => (node.role === "DisclosureTriangle" ? node : (node.children ?? []).map(fold).find(Boolean)), found = fold({ children });
  hold("card", [role, name, found?.name, String(found?.expanded)], ["region", /\S/, /predicted/, "true"]);
}

async function chapter(browser, name) {
  const { page, close } = await open(browser, `${origin}/${name}`);
  await quiz(page);
  await card(page);
  await sortedTable(page);
  await close();
}

const browser = await launch(engine, executable);
await askPage(browser);
await chapter(browser, "notebooks/compression.html");
await browser.close();
stop();
console.log(JSON.stringify({ problems }));
