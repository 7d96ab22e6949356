// What answers look like: tables and explorers, in the shape in which the first ones were written when the book was built.
// Everything is shown as text, never as HTML, since readers type it.

export function make(tag, properties = {}, ...children) {
  const { share, scope, ...rest } = properties, element = Object.assign(document.createElement(tag), rest);
  if (share !== undefined) element.style.setProperty("--share", share);
  if (scope) element.setAttribute("scope", scope);
  element.append(...children);
  return element;
}

const head = (text, ...more) => make("th", { scope: "row" }, text, ...more);
const cell = (text) => make("td", {}, text);
const row = (...cells) => make("tr", {}, ...cells);
const heading = (...names) => make("thead", {}, row(...names.map((name) => make("th", { scope: "col" }, name))));
const table = (caption, ...parts) => make("table", { className: "ask-table" }, make("caption", {}, caption), ...parts);
const percent = (share) => (share >= 0.0001 ? `${(100 * share).toFixed(share >= 0.1 ? 1 : 2)} %` : "< 0.01 %");
const shareCell = (share) => make("td", { className: "ask-share", share }, percent(share));
const nats = (value) => (Math.abs(value) < 0.005 ? "0.00" : `${value > 0 ? "+" : ""}${value.toFixed(2)}`.replace("-", "−"));
const differenceCell = (value, most) => make("td", { className: `ask-share ${value > 0 ? "ask-first" : "ask-second"}`, share: Math.abs(value) / most }, nats(value));
export const quoted = (word) => `“${word}”`;
const unseen = (text) => make("span", { className: "visually-hidden" }, text);
export const count = (number) => number.toLocaleString("en");

const bestRows = (best) => make("tbody", {}, ...best.map(([word, share]) => row(head(word), shareCell(share))));
const ownRow = ([word, rank, share]) => (rank === undefined ? row(head(word), cell("not one piece"))
  : row(head(word, " ", make("small", {}, `rank ${count(rank)}`)), shareCell(share)));
const ownSaid = ([word, , share]) => `${word} ${share === undefined ? "not one piece" : percent(share)}`;

function filledTable(name, { best, own }) {
  const made = table(shownName(name), heading("Word", "probability"), bestRows(best), make("tbody", {}, ...own.map(ownRow)));
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

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

const differenceOf = ([first, second]) => sum(first.scores) - sum(second.scores);
const preferred = (difference) => (Math.abs(difference) < 0.005 ? "neither" : difference > 0 ? "first" : "second");

function comparison([first, second]) {
  const lines = aligned(first, second), differences = lines.map(([one, other]) => one[1] - other[1]);
  const all = sum(differences), most = Math.max(...differences.map(Math.abs)) || 1;
  const place = differences.indexOf((all > 0 ? Math.max : Math.min)(...differences));
  const words = [...new Set(lines[place].map(([word]) => word).filter(Boolean))].map(quoted).join(" / ");
  const verdict = preferred(all) === "neither" ? "Neither sentence is preferred."
    : `The ${preferred(all)} sentence is preferred, by ${Math.abs(all).toFixed(2)} nats. The largest part of it arises at ${words} (${nats(differences[place])}).`;
  const score = ([word, value]) => cell(word && nats(value));
  const rows = lines.map(([one, other], index) => row(head(one[0]), score(one), cell(other[0]), score(other), differenceCell(differences[index], most)));
  rows[place].className = "ask-marked";
  const foot = row(head("sum"), cell(nats(sum(first.scores))), cell(""), cell(nats(sum(second.scores))), cell(nats(all)));
  const natsOf = (which) => make("span", {}, "nats", unseen(` of the ${which}`));
  const made = table("log-probability of each word given all others, in nats", heading("First", natsOf("first"), "Second", natsOf("second"), "difference"),
    make("tbody", {}, ...rows), make("tfoot", {}, foot));
  made.classList.add("ask-pair");
  return [make("p", { className: "ask-verdict" }, verdict), made];
}

// The layer from which on the last one's answer comes first.
const sinceOf = ({ answer, lines }) => 1 + lines.findLastIndex(([word]) => word !== answer);

function layerTable({ answer, lines }) {
  const since = sinceOf({ answer, lines });
  const verdict = `The last layer says ${quoted(answer)}. ${since === lines.length - 1 ? "No layer before it does." : `From layer ${since} on this is the first word.`}`;
  const rows = lines.map(([word, rank, share], layer) => row(head(String(layer)), cell(word), cell(count(rank)), shareCell(share)));
  return [make("p", { className: "ask-verdict" }, verdict),
    table("what the head reads at each layer", heading("Layer", "first word", `rank of ${quoted(answer)}`, "its probability"), make("tbody", {}, ...rows))];
}

function nearTable(name, word, lines) {
  const near = ([form, cosine]) => make("td", {}, form, " ", make("small", {}, cosine.toFixed(2).replace("-", "−")));
  const made = table(`nearest to ${quoted(word)} in ${name.startsWith("random:") ? "the untrained twin" : name}, with cosine`,
    heading("Layer", "nearest", "second", "third"), make("tbody", {}, ...lines.map((line, layer) => row(head(String(layer)), ...line.map(near)))));
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
    make("div", { className: "explorer-columns", ariaHidden: "true" }, ...numbers(heads)), make("div", { className: "explorer-rows", ariaHidden: "true" }, ...numbers(layers)),
    make("div", { className: "explorer-tiles" }, picture, make("div", { className: "explorer-grid" }, ...frames)));
  map.style.cssText = `--rows:${layers};--columns:${heads}`;
  return map;
}

const inBytes = ({ maps }) => btoa(Array.from(maps, (weight) => String.fromCharCode(Math.round(255 * weight))).join(""));

const counted = (letters, patterns) => Object.entries(letters).map(([pattern, letter]) => `${letter} ${pattern} ${patterns.filter((found) => found === pattern).length}`).join(", ");

// What the rule says of each head's map, as a letter; the caption counts them.
function patternTable(name, letters, { layers, heads, patterns }) {
  const letterCell = (pattern) => {
    const made = make("td", { title: pattern }, make("span", { ariaHidden: "true" }, letters[pattern]), unseen(pattern));
    made.dataset.pattern = pattern;
    return made;
  };
  const rows = Array.from({ length: layers }, (_, layer) => row(head(String(layer + 1)), ...patterns.slice(layer * heads, (layer + 1) * heads).map(letterCell)));
  const columns = Array.from({ length: heads }, (_, index) => String(index + 1));
  return table(`${shownName(name)}, each head's pattern: ${counted(letters, patterns)}`, heading("Layer", ...columns), make("tbody", {}, ...rows));
}

// An explorer of the book without a life yet: its own script gives it one. `start` is the head that is shown first; `told` and
// `marks` say which heads of the models, not of their twins, the book has marked.
function explorer(names, answers, { marks = {}, start = 0, told = null }) {
  const { units, layers, heads } = answers[0], unmarked = names.map((name) => name.startsWith("random:")), shown = names.map(shownName);
  const views = Object.fromEntries(shown.map((name, index) => [name, inBytes(answers[index])]));
  const maps = answers.map((found, index) => smallMultiples(shown[index], found, unmarked[index] ? [] : Object.keys(marks)));
  const figure = make("figure", { className: "house-figure explorer" }, make("div", { className: "explorer-panes" }, ...maps, ...(told ? [told] : [])),
    make("script", { type: "application/json", textContent: JSON.stringify({ units, layers, heads, marks, unmarked, start, views }) }));
  figure.dataset.kind = "attention";
  return figure;
}

// What the twin says, as a line below the model's answer.
const twinSays = (answer, says) => (answer ? [make("p", {}, says(answer))] : []);
export const missingTwin = () => make("p", { className: "empty" }, "The untrained twin has not been asked this.");

function preference(scored) {
  const all = differenceOf(scored), which = preferred(all);
  return `Its untrained twin prefers ${which === "neither" ? which : `the ${which}, by ${Math.abs(all).toFixed(2)} nats`}.`;
}

// --- the panels' answers ------------------------------------------------------------------------------------------------

// The blank may be written in other ways than the tokenizer's.
const blankIn = (text) => text.replace(/\[mask\]|_{2,}/gi, "[MASK]");
const listed = (text) => text.split(",").map((word) => word.trim()).filter(Boolean);
// Words as they are read aloud: screen readers leave out marks, and spell the ## of a piece.
const MARKS = { ".": "full stop", ",": "comma", "?": "question mark", "!": "exclamation mark", "'": "apostrophe", '"': "quotation mark", "-": "hyphen", ":": "colon", ";": "semicolon" };
const aloud = (words) => words.split(" · ").map((word) => MARKS[word] ?? word.replace(/^##/, "piece ")).join(", ");
const few = (found) => found.slice(0, 3).map(([word]) => word).join(" · ");

// Of each panel: the question in its form's values, what is shown of the answers of models, a twin's being the second, what is
// said of one, and of the steps of a training the columns' titles and an answer's cells, of which the last is drawn as a
// bar where `bar` says so.
export const kinds = {
  fill: {
    question: ({ text, words }) => ({ text: blankIn(text), words: listed(words ?? "") }),
    settled: (question, { best: [[word]] }) => ({ ...question, words: [word, ...question.words] }), // what the last step says, all are asked
    show: (names, answers) => answers.map((answer, index) => filledTable(names[index], answer)),
    said: ({ best, own }) => `First words: ${aloud(few(best))}.${own.length ? ` Yours: ${own.map(ownSaid).join(", ")}.` : ""}`,
    titles: (answers) => ["first words", `probability of ${quoted(answers.at(-1).best[0][0])}`],
    cells: ({ best, own: [[, , share]] }) => [few(best), share],
    bar: "share",
  },
  sentences: {
    question: ({ first, second }) => ({ texts: [first, second] }),
    show: (_, [scored, untrained]) => [...comparison(scored), ...twinSays(untrained, preference)],
    said: (scored) => comparison(scored)[0].textContent,
    titles: () => ["preferred", "difference in nats"],
    cells: (scored) => [preferred(differenceOf(scored)), differenceOf(scored)],
    bar: "difference",
  },
  heads: {
    question: ({ text }) => ({ text }),
    show: (names, answers, { letters, ...more }) => [explorer(names, answers, more),
      make("div", { className: "ask-columns ask-patterns" }, ...answers.map((answer, index) => patternTable(names[index], letters, answer)))],
    said: (found, { letters }) => `Patterns of heads: ${kinds.heads.cells(found, { letters }).map((heads, index) => `${Object.keys(letters)[index]} ${heads}`).join(", ")}.`,
    titles: (_, { letters }) => Object.entries(letters).map(([pattern, letter]) => `${pattern} (${letter})`),
    cells: ({ patterns }, { letters }) => Object.keys(letters).map((pattern) => String(patterns.filter((found) => found === pattern).length)),
  },
  layers: {
    question: ({ text }) => ({ text: blankIn(text) }),
    show: (_, [found, untrained]) => [...layerTable(found), ...twinSays(untrained, ({ answer }) => `The last layer of its untrained twin says ${quoted(answer)}.`)],
    said: (found) => layerTable(found)[0].textContent.replace(quoted(found.answer), quoted(aloud(found.answer))),
    titles: () => ["last layer says", "since layer", "its probability"],
    cells: (found) => [found.answer, String(sinceOf(found)), found.lines.at(-1)[2]],
    bar: "share",
  },
  neighbours: {
    byWord: true, // all words are asked; which one is shown, the reader chooses
    question: ({ text }) => ({ text }),
    show: (names, answers, { word }) => answers.map(({ words, lines }, index) => nearTable(names[index], words[word], lines.map((layer) => layer[word]))),
    said: ({ words, lines }, { word }) => `Nearest to ${quoted(aloud(words[word]))} at the last layer: ${aloud(few(lines.at(-1)[word]))}.`,
    titles: ([{ words }], { word }) => [`nearest to ${quoted(words[word])} at layer 0`, "at the last layer"],
    cells: ({ lines }, { word }) => [few(lines[0][word]), few(lines.at(-1)[word])],
  },
};
kinds.learning = kinds.fill;

// The table of a training's steps: `made`, its `rows`, and what is `said` of each, as a slider tells it.
export function stepTable({ titles, cells, bar }, caption, steps, answers, more) {
  const columns = titles(answers, more), found = answers.map((answer) => cells(answer, more));
  const most = Math.max(...found.map((line) => Math.abs(line.at(-1)))) || 1;
  const last = { share: shareCell, difference: (value) => differenceCell(value, most) }[bar] ?? cell, written = { share: percent, difference: nats }[bar] ?? aloud;
  const rows = found.map((line, index) => row(head(steps[index]), ...line.slice(0, -1).map(cell), last(line.at(-1))));
  const made = table(caption, heading("Step", ...columns), make("tbody", {}, ...rows));
  made.classList.add("ask-steps");
  if (!bar) made.classList.add("ask-plain");
  const said = found.map((line) => columns.map((title, index) => `${title.replace(/ \(.\)$/, "")} ${index + 1 < line.length ? aloud(line[index]) : written(line[index])}`).join("; "));
  return { made, rows, said };
}
