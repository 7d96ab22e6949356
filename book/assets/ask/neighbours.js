// The words of other sentences whose vectors are nearest to those of a sentence's words, layer by layer: cosines within a
// layer, less the mean vector of the others, which all words share.

// Of each layer, 0 being the embeddings, the vectors of an encoded sentence's words: the means of their pieces.
function wordVectors(model, { words, ids, owner }) {
  const layers = [];
  model.run([ids], () => layers.push(pooled(model, owner, words.length)));
  return layers;
}

function pooled({ floats, x, width }, owner, count) {
  const sums = new Float32Array(count * width), pieces = new Float32Array(count);
  owner.forEach((word, row) => {
    if (word < 0) return;
    pieces[word] += 1;
    for (let i = 0; i < width; i += 1) sums[word * width + i] += floats[x + row * width + i];
  });
  return sums.map((value, i) => value / pieces[Math.floor(i / width)]);
}

function meanOf(parts, width) {
  const mean = new Float64Array(width), rows = parts.reduce((total, part) => total + part.length / width, 0);
  for (const part of parts) part.forEach((value, i) => { mean[i % width] += value / rows; });
  return mean;
}

// The vectors less the mean, each of length one.
function directions(vectors, mean) {
  const width = mean.length, made = vectors.map((value, i) => value - mean[i % width]);
  for (let start = 0; start < made.length; start += width) {
    const row = made.subarray(start, start + width), length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)) || 1;
    row.forEach((value, i) => { row[i] = value / length; });
  }
  return made;
}

// What neighbours are looked for in: the forms of the other sentences' words and, by layer, their mean and directions.
export function pool(model, others, progress = () => {}) {
  const layers = Array.from({ length: model.layers + 1 }, () => []);
  others.forEach((other, index) => {
    wordVectors(model, other).forEach((vectors, layer) => layers[layer].push(vectors));
    progress(index + 1, others.length);
  });
  return { forms: others.map(({ words }) => words), layers: layers.map((parts) => {
    const mean = meanOf(parts, model.width);
    return { mean, parts: parts.map((part) => directions(part, mean)) };
  }) };
}

// [layer][word][rank] of an encoded sentence: form and cosine, nearest first, each form by its nearest occurrence.
export function neighbours(model, { forms, layers }, sentence, shown) {
  return wordVectors(model, sentence).map((vectors, layer) => {
    const { mean, parts } = layers[layer], own = directions(vectors, mean);
    return sentence.words.map((_, word) => nearest(own.subarray(word * mean.length, (word + 1) * mean.length), forms, parts).slice(0, shown));
  });
}

function nearest(direction, forms, parts) {
  const best = new Map();
  parts.forEach((part, other) => forms[other].forEach((form, place) => {
    let cosine = 0;
    for (let i = 0, start = place * direction.length; i < direction.length; i += 1) cosine += direction[i] * part[start + i];
    best.set(form, Math.max(cosine, best.get(form) ?? -1));
  }));
  return [...best].sort(([, one], [, other]) => other - one);
}
