// Answers the page's questions beside the page, so that nothing on it stands still: fetches and checks the weights,
// keeps each model that was asked, and computes. Messages in: {id, kind, model, ...}. Messages out: {id, answer},
// {id, error}, or {id, doing, done, total} while something takes its time.
//
// The address ends in the edition of the scripts, which is passed on: a browser's cache must not mix two of them.
const { search } = self.location;
const scripts = ["bert", "product", "wordpiece", "scores", "neighbours", "patterns"].map((name) => import(`./${name}.js${search}`));
const [{ Bert }, { arithmetic }, { WordPiece }, { probabilities, pieceScores }, { pool, neighbours }, { patterns }] = await Promise.all(scripts);

const models = new Map(), pools = new Map();
let manifest = null, tokenizer = null;

class Told extends Error {} // what the reader can mend

async function readManifest() {
  const response = await fetch("models/manifest.json", { cache: "no-cache" });
  if (!response.ok) throw new Told(`The models are not beside this page (${response.status}).`);
  manifest = await response.json();
  tokenizer = new WordPiece(manifest.pieces);
}

// The size comes from the manifest: the server's own number is that of the compressed file.
async function download(entry, progress) {
  const response = await fetch(`models/${entry.file}?v=${entry.sha256.slice(0, 10)}`);
  if (!response.ok) throw new Told(`The weights could not be fetched (${response.status}).`);
  const bytes = new Uint8Array(entry.bytes), reader = response.body.getReader();
  let place = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (place + part.value.length > bytes.length) throw new Told("The weights are longer than they should be.");
    bytes.set(part.value, place);
    place += part.value.length;
    progress(place, entry.bytes);
  }
  await verify(bytes, entry.sha256);
  return bytes.buffer;
}

// Only secure pages (https, localhost) have the means.
async function verify(bytes, sha256) {
  if (!self.crypto?.subtle) return;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const found = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (found !== sha256) throw new Told("The weights are damaged: their checksum is another one. Reload the page to try again.");
}

async function modelOf(name, progress) {
  if (!manifest) await readManifest();
  if (!models.has(name)) {
    const entry = manifest.models[name], doing = `Loading ${name.startsWith("random:") ? "the untrained twin" : name.split("@")[0]} …`; // the same of all its steps, since it is read aloud
    models.set(name, new Bert(entry, await download(entry, (done, total) => progress(doing, done, total)), arithmetic));
  }
  return models.get(name);
}

function encode(text) {
  const encoded = tokenizer.encode(text), { words, ids } = encoded;
  if (!words.length) throw new Told("Type a sentence first.");
  if (words.length > manifest.longest) throw new Told(`At most ${manifest.longest} words and marks, please; these are ${words.length}.`);
  if (ids.length > 2 * manifest.longest + 2) throw new Told("Words so rare fall into too many pieces; please shorten the sentence.");
  return encoded;
}

// The sentence with its one blank, and where the blank is.
function blank(text) {
  const { ids } = encode(text), places = ids.flatMap((id, place) => (id === tokenizer.mask ? [place] : []));
  if (places.length !== 1) throw new Told(`The sentence needs exactly one [MASK]; it has ${places.length || "none"}.`);
  return [ids, places[0]];
}

const rankOf = (values, id) => 1 + values.reduce((count, value) => count + (value > values[id]), 0);
const first = (values) => values.reduce((best, value, id) => (value > values[best] ? id : best), 0);

// A word, or a piece such as ##s.
function ownWord(values, word) {
  const exact = tokenizer.ids.get(word), ids = exact === undefined ? tokenizer.encode(word).ids.slice(1, -1) : [exact], [id] = ids;
  return ids.length === 1 && id !== tokenizer.unknown ? [word, rankOf(values, id), values[id]] : [word];
}

// Computed once for each model.
function poolOf(model, progress) {
  if (!pools.has(model)) {
    const others = manifest.references.map((text) => tokenizer.encode(text)), doing = `Reading ${others.length} other sentences …`;
    pools.set(model, pool(model, others, (done, total) => progress(doing, done, total)));
  }
  return pools.get(model);
}

const answers = {
  fill(model, { text, words }) {
    const [ids, place] = blank(text);
    model.run([ids]);
    const [values] = probabilities(model, [place]);
    const order = Array.from(values.keys()).sort((one, other) => values[other] - values[one]).slice(0, manifest.shown);
    return { best: order.map((id) => [tokenizer.pieces[id], values[id]]), own: words.map((word) => ownWord(values, word)) };
  },

  sentences(model, { texts }) {
    return texts.map((text) => {
      const sentence = encode(text), { words, owner } = sentence, scores = words.map(() => 0);
      pieceScores(model, sentence, tokenizer.mask).forEach((score, index) => { scores[owner[index + 1]] += score; });
      return { words, scores };
    });
  },

  heads(model, { text }) {
    const { ids } = encode(text), maps = model.run([ids]);
    return { units: ids.map((id) => tokenizer.pieces[id]), layers: model.layers, heads: model.heads, maps, patterns: patterns(maps, ids.length, manifest.limits) };
  },

  layers(model, { text }) {
    const [ids, place] = blank(text), found = [];
    model.run([ids], () => found.push(...probabilities(model, [place])));
    const answer = first(found.at(-1));
    return { answer: tokenizer.pieces[answer], lines: found.map((values) => [tokenizer.pieces[first(values)], rankOf(values, answer), values[answer]]) };
  },

  neighbours(model, { text }, progress) {
    const sentence = encode(text);
    return { words: sentence.words, lines: neighbours(model, poolOf(model, progress), sentence, manifest.nearest) };
  },
};

async function answer({ id, kind, model: name, ...question }) {
  try {
    const progress = (doing, done, total) => postMessage({ id, doing, done, total }), model = await modelOf(name, progress);
    const start = performance.now(), found = answers[kind](model, question, progress);
    postMessage({ id, answer: found, engine: model.engine, milliseconds: performance.now() - start });
  } catch (error) {
    if (!(error instanceof Told)) console.error(error);
    postMessage({ id, error: error instanceof Told ? error.message : `This browser could not compute it (${error.message}).` });
  }
}

let last = Promise.resolve(); // one question at a time
self.onmessage = ({ data }) => { last = last.then(() => answer(data)); };
postMessage({ ready: true });
