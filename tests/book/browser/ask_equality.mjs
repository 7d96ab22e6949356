// How far the scripts of the page *Ask BERT* are from Python, run by node and in a browser alike.
const farthest = (found, expected) => found.reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i])), found.length === expected.length ? 0 : Infinity);

// `files(name)` gives the bytes of expected.json, logits.bin, maps.bin, the manifest and the weights; `scripts` has Bert,
// WordPiece, arithmetic, pieceScores, pool, neighbours and patterns; `count`, how many sentences are computed; all are cut into pieces.
export async function differences({ Bert, WordPiece, arithmetic, pieceScores, pool, neighbours, patterns }, files, { plain = false, count = Infinity } = {}) {
  const read = async (name) => JSON.parse(new TextDecoder().decode(await files(name)));
  const manifest = await read("manifest.json"), { model: name, sentences, neighbours: near } = await read("expected.json");
  const [logits, maps] = (await Promise.all(["logits.bin", "maps.bin"].map(files))).map((bytes) => new Float32Array(bytes));
  const tokenizer = new WordPiece(manifest.pieces), model = new Bert(manifest.models[name], await files(manifest.models[name].file), (size) => arithmetic(size, plain));
  const found = { engine: model.engine, tokens: [], forms: [], patterns: [], logits: 0, maps: 0, scores: 0, neighbours: 0 };
  let place = 0, mapPlace = 0, computed = 0;
  for (const { text, ids, words, scores, patterns: known } of sentences) {
    const encoded = tokenizer.encode(text);
    if (String(encoded.ids) !== String(ids)) { found.tokens.push(`${text}: ${encoded.ids} is not ${ids}`); continue; }
    const special = /\[(CLS|SEP)\]/.test(text); // words to the tokenizer of running text, not to Python's list of words
    if (!special && String(encoded.words) !== String(words)) found.tokens.push(`${text}: ${encoded.words} is not ${words}`);
    const size = ids.length * model.vocabulary, mapSize = model.layers * model.heads * ids.length ** 2;
    if (ids.length <= 2 * manifest.longest + 2 && computed++ < count) { // longer ones the page refuses
      const mine = model.run([ids]);
      found.maps = Math.max(found.maps, farthest(mine, maps.subarray(mapPlace, mapPlace + mapSize)));
      if (!special && String(patterns(mine, ids.length, manifest.limits)) !== String(known)) found.patterns.push(text);
      const rows = ids.map((_, row) => row);
      model.decode(rows, (row, values) => {
        const start = place + row * model.vocabulary;
        found.logits = Math.max(found.logits, farthest(values, logits.subarray(start, start + model.vocabulary)));
      });
      const own = words.map(() => 0);
      pieceScores(model, encoded, tokenizer.mask).forEach((score, index) => { own[encoded.owner[index + 1]] += score; });
      if (!special) found.scores = Math.max(found.scores, farthest(own, scores));
    }
    place += size;
    mapPlace += mapSize;
  }
  const others = pool(model, manifest.references.map((text) => tokenizer.encode(text)));
  for (const { text, lines } of near) {
    const mine = neighbours(model, others, tokenizer.encode(text), manifest.nearest).flat(2), expected = lines.flat(2);
    if (String(mine.map(([form]) => form)) !== String(expected.map(([form]) => form))) found.forms.push(text);
    found.neighbours = Math.max(found.neighbours, farthest(mine.map(([, cosine]) => cosine), expected.map(([, cosine]) => cosine)));
  }
  return { ...found, computed: Math.min(computed, count) };
}
