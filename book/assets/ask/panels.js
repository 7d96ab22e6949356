// The page's forms: a question goes to the worker, its answer takes the place of what stood there. Everything is shown as
// text, never as HTML, since readers type it. The first answers were written when the book was built, in the same shape.

const { search } = new URL(import.meta.url);
const loaded = new Set(), waiting = new Map();
let worker = null, asked = 0;

// --- the worker -------------------------------------------------------------------------------------------------------

// Begins with the first question, so that whoever only reads loads nothing.
function startWorker() {
  return new Promise((ready, fail) => {
    const made = new Worker(new URL(`worker.js${search}`, import.meta.url), { type: "module" });
    made.onerror = () => fail(new Error("This browser does not run the model."));
    made.onmessage = ({ data }) => (data.ready ? ready(made) : waiting.get(data.id)(data));
  });
}

async function ask(question, progress) {
  const id = asked++;
  worker ??= startWorker();
  const target = await worker;
  return new Promise((answered, refused) => {
    waiting.set(id, (message) => {
      if (message.total) return progress(message);
      waiting.delete(id);
      return message.error ? refused(new Error(message.error)) : answered(message);
    });
    target.postMessage({ id, ...question });
  });
}

// --- what answers are made of -----------------------------------------------------------------------------------------

function make(tag, properties = {}, ...children) {
  const { share, scope, ...rest } = properties, element = Object.assign(document.createElement(tag), rest);
  if (share !== undefined) element.style.setProperty("--share", share);
  if (scope) element.setAttribute("scope", scope);
  element.append(...children);
  return element;
}

const head = (text, ...more) => make("th", { scope: "row" }, text, ...more);
const cell = (text) => make("td", {}, text);
const row = (...cells) => make("tr", {}, ...cells);
const titles = (...names) => make("thead", {}, row(...names.map((name) => make("th", { scope: "col" }, name))));
const table = (caption, ...parts) => make("table", { className: "ask-table" }, make("caption", {}, caption), ...parts);
const percent = (share) => (share >= 0.0001 ? `${(100 * share).toFixed(share >= 0.1 ? 1 : 2)} %` : "< 0.01 %");
const shareCell = (share) => make("td", { className: "ask-share", share }, percent(share));
const nats = (value) => (Math.abs(value) < 0.005 ? "0.00" : `${value > 0 ? "+" : ""}${value.toFixed(2)}`.replace("-", "−"));
const quoted = (word) => `“${word}”`;
const count = (number) => number.toLocaleString("en");

const bestRows = (best) => make("tbody", {}, ...best.map(([word, share]) => row(head(word), shareCell(share))));
const ownRow = ([word, rank, share]) => (rank === undefined ? row(head(word), cell("not one piece"))
  : row(head(word, " ", make("small", {}, `rank ${count(rank)}`)), shareCell(share)));

function filledTable(name, { best, own }) {
  const made = table(shownName(name), bestRows(best), make("tbody", {}, ...own.map(ownRow)));
  made.dataset.model = name;
  return made;
}

// Two sentences side by side: what they begin and end with alike in one row each, the rest between as far as it goes.
function aligned(first, second) {
  const shorter = Math.min(first.words.length, second.words.length);
  let end = 0;
  while (end < shorter && first.words.at(-1 - end) === second.words.at(-1 - end)) end += 1;
  let start = 0;
  while (start < shorter - end && first.words[start] === second.words[start]) start += 1;
  const parts = [first, second].map(({ words, scores }) => {
    const lines = words.map((word, index) => [word, scores[index]]);
    return [lines.slice(0, start), lines.slice(start, words.length - end), lines.slice(words.length - end)];
  });
  return [0, 1, 2].flatMap((part) => Array.from({ length: Math.max(parts[0][part].length, parts[1][part].length) },
    (_, index) => [parts[0][part][index] ?? ["", 0], parts[1][part][index] ?? ["", 0]]));
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

function comparison([first, second]) {
  const lines = aligned(first, second), differences = lines.map(([one, other]) => one[1] - other[1]);
  const all = sum(differences), most = Math.max(...differences.map(Math.abs)) || 1;
  const place = differences.indexOf((all > 0 ? Math.max : Math.min)(...differences));
  const words = [...new Set(lines[place].map(([word]) => word).filter(Boolean))].map(quoted).join(" / ");
  const verdict = differences.every((value) => Math.abs(value) < 0.005) ? "Neither sentence is preferred."
    : `The ${all > 0 ? "first" : "second"} sentence is preferred, by ${Math.abs(all).toFixed(2)} nats. The largest part of it arises at ${words} (${nats(differences[place])}).`;
  const score = ([word, value]) => cell(word && nats(value));
  const bar = (value) => make("td", { className: `ask-share ${value > 0 ? "ask-first" : "ask-second"}`, share: Math.abs(value) / most }, nats(value));
  const rows = lines.map(([one, other], index) => row(head(one[0]), score(one), cell(other[0]), score(other), bar(differences[index])));
  rows[place].className = "ask-marked";
  const foot = row(head("sum"), cell(nats(sum(first.scores))), cell(""), cell(nats(sum(second.scores))), cell(nats(all)));
  const made = table("log-probability of each word given all others, in nats", titles("First", "nats", "Second", "nats", "difference"),
    make("tbody", {}, ...rows), make("tfoot", {}, foot));
  made.classList.add("ask-pair");
  return [make("p", { className: "ask-verdict" }, verdict), made];
}

function layerTable({ answer, lines }) {
  const since = 1 + lines.findLastIndex(([word]) => word !== answer);
  const verdict = `The last layer says ${quoted(answer)}. ${since === lines.length - 1 ? "No layer before it does." : `From layer ${since} on this is the first word.`}`;
  const rows = lines.map(([word, rank, share], layer) => row(head(String(layer)), cell(word), cell(count(rank)), shareCell(share)));
  return [make("p", { className: "ask-verdict" }, verdict),
    table("what the head reads at each layer", titles("Layer", "first word", `rank of ${quoted(answer)}`, "its probability"), make("tbody", {}, ...rows))];
}

function nearTable(name, word, lines) {
  const near = ([form, cosine]) => make("td", {}, form, " ", make("small", {}, cosine.toFixed(2).replace("-", "−")));
  const made = table(`nearest to ${quoted(word)} in ${name.startsWith("random:") ? "the untrained twin" : name}, with cosine`,
    titles("Layer", "nearest", "second", "third"), make("tbody", {}, ...lines.map((line, layer) => row(head(String(layer)), ...line.map(near)))));
  made.classList.add("ask-near");
  return made;
}

// All heads as one picture, a pixel a weight and a clear one around each map, as the book's explorers have it.
function bitmap({ units, layers, heads, maps }) {
  const size = units.length, canvas = make("canvas", { width: heads * (size + 2), height: layers * (size + 2) });
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  maps.forEach((weight, index) => {
    const tile = Math.floor(index / size ** 2), line = Math.floor(index / size) % size, column = index % size;
    const y = Math.floor(tile / heads) * (size + 2) + 1 + line, x = (tile % heads) * (size + 2) + 1 + column;
    image.data.set([31, 119, 196, 255 * Math.sqrt(weight)], 4 * (y * canvas.width + x));
  });
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

const numbers = (length) => Array.from({ length }, (_, index) => make("span", {}, String(index + 1)));

const shownName = (name) => (name.startsWith("random:") ? "untrained twin" : name);

function smallMultiples(name, found, framed) {
  const { units, layers, heads } = found;
  const picture = make("img", { className: "dark-light", src: bitmap(found), alt: `${name}: ${layers} layers (rows) by ${heads} heads (columns) over ${quoted(units.join(" "))}` });
  picture.style.cssText = "background:none;padding:0;border-radius:0";
  const frames = framed.map((head) => { const frame = make("span"); frame.style.gridArea = head.replace("-", " / "); return frame; });
  const map = make("div", { className: "explorer-map" }, make("p", {}, `${name}: rows are layers, columns heads`),
    make("div", { className: "explorer-columns" }, ...numbers(heads)), make("div", { className: "explorer-rows" }, ...numbers(layers)),
    make("div", { className: "explorer-tiles" }, picture, make("div", { className: "explorer-grid" }, ...frames)));
  map.style.cssText = `--rows:${layers};--columns:${heads}`;
  return map;
}

const inBytes = ({ maps }) => btoa(Array.from(maps, (weight) => String.fromCharCode(Math.round(255 * weight))).join(""));

// What the rule says of each head's map, as a letter; the caption counts them.
function patternTable(name, letters, { layers, heads, patterns }) {
  const counts = Object.entries(letters).map(([pattern, letter]) => `${letter} ${pattern} ${patterns.filter((found) => found === pattern).length}`);
  const letterCell = (pattern) => { const made = make("td", { title: pattern }, letters[pattern]); made.dataset.pattern = pattern; return made; };
  const rows = Array.from({ length: layers }, (_, layer) => row(head(String(layer + 1)), ...patterns.slice(layer * heads, (layer + 1) * heads).map(letterCell)));
  const columns = Array.from({ length: heads }, (_, index) => String(index + 1));
  return table(`${shownName(name)}, each head's pattern: ${counts.join(", ")}`, titles("Layer", ...columns), make("tbody", {}, ...rows));
}

// An explorer of the book without a life yet: `start` gives it one. What is marked is what the figure before it marked.
function explorer(names, answers, before) {
  const { marks, start } = JSON.parse(before.querySelector("script").textContent), { units, layers, heads } = answers[0];
  const unmarked = names.map((name) => name.startsWith("random:")), shown = names.map(shownName);
  const views = Object.fromEntries(shown.map((name, index) => [name, inBytes(answers[index])]));
  const maps = answers.map((found, index) => smallMultiples(shown[index], found, unmarked[index] ? [] : Object.keys(marks)));
  const told = before.querySelector(".explorer-marks");
  const figure = make("figure", { className: "house-figure explorer" }, make("div", { className: "explorer-panes" }, ...maps, ...(told ? [told] : [])),
    make("script", { type: "application/json", textContent: JSON.stringify({ units, layers, heads, marks, unmarked, start, views }) }));
  figure.dataset.kind = "attention";
  return figure;
}

// --- the panels -------------------------------------------------------------------------------------------------------

// The blank may be written in other ways than the tokenizer's.
const blankIn = (text) => text.replace(/\[mask\]|_{2,}/gi, "[MASK]");
const listed = (text) => text.split(",").map((word) => word.trim()).filter(Boolean);

function showForms() {
  for (const panel of document.querySelectorAll(".ask")) {
    const form = panel.querySelector("form");
    form.hidden = false;
    form.addEventListener("submit", (event) => { event.preventDefault(); run(panel, form, event.submitter); });
  }
}

// What a panel needs while it works: asking with the progress shown, and saying how it goes.
function conversation(panel) {
  const status = panel.querySelector("[role=status]"), bar = panel.querySelector("progress");
  const say = (text) => { status.textContent = text; };
  const put = async (question) => {
    const reply = await ask(question, ({ doing, done, total }) => {
      if (status.textContent !== doing) say(doing); // once, since it is read aloud
      bar.hidden = false;
      bar.value = done / total;
    });
    bar.hidden = true;
    markLoaded(question.model);
    return reply;
  };
  return { say, put, done: () => { bar.hidden = true; } };
}

function markLoaded(model) {
  loaded.add(model);
  for (const button of document.querySelectorAll("button[data-models]")) {
    if (button.dataset.models.split(" ").every((name) => loaded.has(name))) button.querySelector("small")?.remove();
  }
}

async function run(panel, form, button) {
  const talk = conversation(panel), place = panel.querySelector(".ask-answer");
  if (place.ariaBusy === "true") return;
  place.ariaBusy = "true";
  talk.say("Computing …");
  try {
    const models = (button ?? form.elements.ask).dataset.models.split(" ");
    const replies = await kinds[panel.dataset.ask]({ panel, place, form, models, put: talk.put, say: talk.say, values: Object.fromEntries(new FormData(form)) });
    const spent = sum(replies.map((reply) => reply.milliseconds));
    talk.say(`Computed in this browser, in ${spent < 1000 ? `${Math.ceil(spent)} ms` : `${(spent / 1000).toFixed(1)} s`}.`);
  } catch (error) {
    talk.say(error.message);
  }
  talk.done();
  place.ariaBusy = "false";
}

async function inTurn(models, put) {
  const replies = [];
  for (const model of models) replies.push(await put(model));
  return replies;
}

// Models to ask: the untrained twin too where its button was pressed, or where it is loaded already.
function withTwin(form, models) {
  const both = form.elements.twin.dataset.models.split(" ");
  return both.every((name) => loaded.has(name)) ? both : models;
}

// What the twin says, as a line below the model's answer.
const twinLine = (reply, says) => make("p", reply ? {} : { className: "empty" }, reply ? says(reply.answer) : "The untrained twin has not been asked this.");

function preference([first, second]) {
  const all = sum(first.scores) - sum(second.scores);
  return `Its untrained twin prefers ${Math.abs(all) < 0.005 ? "neither" : `the ${all > 0 ? "first" : "second"}, by ${Math.abs(all).toFixed(2)} nats`}.`;
}

let explorerScript = null; // the book's own, which stands beside the explorer that the page came with

const kinds = {
  async fill({ place, form, models, put, values }) {
    const wanted = withTwin(form, models), question = { kind: "fill", text: blankIn(values.text), words: listed(values.words) };
    const replies = await inTurn(wanted, (model) => put({ ...question, model }));
    const missing = replies[1] ? [] : [twinLine()];
    place.replaceChildren(...replies.map((reply, index) => filledTable(wanted[index], reply.answer)), ...missing);
    return replies;
  },

  async sentences({ place, form, models, put, values }) {
    const texts = [values.first, values.second], replies = await inTurn(withTwin(form, models), (model) => put({ kind: "sentences", model, texts }));
    place.replaceChildren(...comparison(replies[0].answer), twinLine(replies[1], preference));
    return replies;
  },

  async heads({ place, form, models, put, values }) {
    const wanted = withTwin(form, models), replies = await inTurn(wanted, (model) => put({ kind: "heads", model, text: values.text }));
    const before = place.querySelector("figure");
    explorerScript ??= place.querySelector("figure ~ script").textContent;
    before.replaceWith(explorer(wanted, replies.map((reply) => reply.answer), before));
    place.append(make("script", { textContent: explorerScript })); // starts every explorer that has not been started
    place.lastChild.remove();
    const told = place.querySelector(".ask-patterns"), letters = JSON.parse(told.dataset.letters);
    told.replaceChildren(...replies.map(({ answer }, index) => patternTable(wanted[index], letters, answer)));
    return replies;
  },

  async layers({ place, form, models, put, values }) {
    const text = blankIn(values.text), replies = await inTurn(withTwin(form, models), (model) => put({ kind: "layers", model, text }));
    const says = ({ answer }) => `The last layer of its untrained twin says ${quoted(answer)}.`;
    place.replaceChildren(...layerTable(replies[0].answer), twinLine(replies[1], says));
    return replies;
  },

  // All words are asked; which one is shown, the reader chooses. A word that was chosen stays chosen where it still stands.
  async neighbours({ panel, place, form, models, put, say, values }) {
    const wanted = withTwin(form, models), replies = await inTurn(wanted, (model) => put({ kind: "neighbours", model, text: values.text }));
    const { words, lines } = replies[0].answer, missing = replies[1] ? [] : [twinLine()];
    chooseWord(panel.querySelector(".ask-words"), words, (index) => {
      const tables = replies.map(({ answer }, other) => nearTable(wanted[other], words[index], answer.lines.map((layer) => layer[index])));
      place.replaceChildren(...tables, ...missing);
      say(`Nearest to ${quoted(words[index])} at the last layer: ${lines.at(-1)[index].map(([form]) => form).join(", ")}.`);
    });
    return replies;
  },

  // All steps are asked; the answer of the last one is then looked for in the others.
  async learning({ panel, place, models, put, values }) {
    const slider = panel.querySelector(".ask-slider"), steps = slider.dataset.steps.split(" ").map((step) => `step ${count(Number(step))}`);
    const question = { kind: "fill", text: blankIn(values.text) };
    const final = await put({ ...question, model: models.at(-1), words: [] }), [answer] = final.answer.best[0];
    const replies = await inTurn(models, (model) => put({ ...question, model, words: [answer] }));
    const answers = replies.map((reply) => reply.answer), rows = answers.map((found, index) => stepRow(steps[index], found));
    const show = (index) => {
      rows.forEach((line, other) => line.classList.toggle("ask-marked", other === index));
      place.querySelector("[data-model]").replaceWith(filledTable(steps[index], answers[index]));
    };
    const filled = filledTable(steps.at(-1), answers.at(-1));
    place.replaceChildren(filled, stepTable(answer, rows));
    slide(slider, steps, (index) => answers[index].best[0][0], show);
    return replies;
  },
};

function chooseWord(chooser, words, show) {
  const choose = (index) => { chooser.dataset.word = words[index]; show(index); };
  const before = words.indexOf(chooser.dataset.word), longest = Math.max(...words.map((word) => word.length));
  const start = before < 0 ? words.findIndex((word) => word.length === longest) : before;
  const labels = words.map((word, index) => make("label", {},
    make("input", { type: "radio", name: "word", checked: index === start, onchange: () => choose(index) }), word));
  chooser.replaceChildren(chooser.querySelector("legend"), ...labels);
  chooser.hidden = false;
  choose(start);
}

function stepRow(step, { best, own: [[, , share]] }) {
  return row(head(step.replace("step ", "")), cell(best.slice(0, 3).map(([word]) => word).join(" · ")), shareCell(share));
}

function stepTable(answer, rows) {
  const made = table("what it says at each step", titles("Step", "first words", `probability of ${quoted(answer)}`), make("tbody", {}, ...rows));
  made.classList.add("ask-steps");
  return made;
}

function slide(slider, steps, saidAt, show) {
  const input = slider.querySelector("input"), output = slider.querySelector("output");
  input.oninput = () => {
    const index = Number(input.value);
    output.textContent = steps[index];
    input.setAttribute("aria-valuetext", `${steps[index]}: ${saidAt(index)}`);
    show(index);
  };
  input.value = steps.length - 1;
  input.oninput();
  slider.hidden = false;
}

showForms();
