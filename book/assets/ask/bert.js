// BERT (Devlin et al. 2019) on weights that the book exports: embeddings, blocks of attention and feed-forward, and the
// head that reads a word from a vector. Inputs of one call have one length, so nothing is padded or masked out.
// All numbers lie in one array: the weights, then the room for what is computed; `product` is the only quick part.

const POSITIONS = 1024; // pieces computed at once; bounds the room
const DECODED = 64; // rows that the head reads at once
const SLACK = 4; // rows: the product works on four at a time

// Every number that sixteen bits can hold, by its bits: those of 32, moved to their places, have an exponent too small by 112.
const bits32 = Uint32Array.from({ length: 65536 }, (_, bits) => ((bits & 0x8000) << 16) | ((bits & 0x7fff) << 13));
const HALF = new Float32Array(bits32.buffer).map((value) => value * 2 ** 112);

// The error function to 1e-8, as GELU needs it: its slope, summed over a grid, and straight lines between the sums.
const GRID = 4096; // points a unit, up to 6, where it is one
const sums = new Float64Array(6 * GRID);
for (let i = 1; i < sums.length; i += 1) sums[i] = sums[i - 1] + (2 / Math.sqrt(Math.PI)) * Math.exp(-(((i - 0.5) / GRID) ** 2)) / GRID;

function erf(x) {
  const place = Math.min(Math.abs(x) * GRID, sums.length - 2), i = Math.floor(place);
  return Math.sign(x) * (sums[i] + (place - i) * (sums[i + 1] - sums[i]));
}

// In place.
function softmax(values) {
  let most = -Infinity, sum = 0;
  for (const value of values) most = Math.max(most, value);
  for (let i = 0; i < values.length; i += 1) sum += values[i] = Math.exp(values[i] - most);
  for (let i = 0; i < values.length; i += 1) values[i] /= sum;
}

export class Bert {
  // `shape` is the model's entry in the manifest, `bytes` its weights; `arithmetic(count)` gives numbers and product.
  constructor(shape, bytes, arithmetic) {
    const halves = new Uint16Array(bytes), { width, inner, vocabulary } = shape;
    let free = halves.length;
    const take = (rows, columns) => { const place = free; free += (rows + SLACK) * columns; return place; };
    for (const name of ["x", "query", "key", "value", "context", "change"]) this[name] = take(POSITIONS, width);
    this.wide = take(POSITIONS, inner);
    for (const name of ["chosen", "transformed"]) this[name] = take(DECODED, width);
    this.logits = take(DECODED, vocabulary);
    const { floats, product, name: engine } = arithmetic(free);
    for (let i = 0; i < halves.length; i += 1) floats[i] = HALF[halves[i]];
    Object.assign(this, shape, { floats, product, engine, positions: POSITIONS });
  }

  place(name) { return this.tensors[name].offset; }

  // to (rows, `columns`) = from (rows, `depth`) times the transposed weight, plus bias.
  linear(from, layer, to, rows, columns, depth) {
    this.product(from, this.place(`${layer}.weight`), this.place(`${layer}.bias`), to, rows, columns, depth);
  }

  // LayerNorm of vectors (rows, width), in place.
  normalise(at, layer, rows) {
    const { floats, width, epsilon } = this, weight = this.place(`${layer}.weight`), bias = this.place(`${layer}.bias`);
    for (let start = at; start < at + rows * width; start += width) {
      let mean = 0, variance = 0;
      for (let i = start; i < start + width; i += 1) mean += floats[i] / width;
      for (let i = start; i < start + width; i += 1) variance += (floats[i] - mean) ** 2 / width;
      const scale = 1 / Math.sqrt(variance + epsilon);
      for (let i = 0; i < width; i += 1) floats[start + i] = (floats[start + i] - mean) * scale * floats[weight + i] + floats[bias + i];
    }
  }

  gelu(at, count) {
    const { floats } = this;
    for (let i = at; i < at + count; i += 1) floats[i] = 0.5 * floats[i] * (1 + erf(floats[i] * Math.SQRT1_2));
  }

  embed(inputs) {
    const { floats, width, x } = this, ids = inputs.flat(), length = inputs[0].length;
    const [words, positions, segment] = ["word", "position", "token_type"].map((name) => this.place(`bert.embeddings.${name}_embeddings.weight`));
    ids.forEach((id, row) => {
      const word = words + id * width, position = positions + (row % length) * width;
      for (let i = 0; i < width; i += 1) floats[x + row * width + i] = floats[word + i] + floats[position + i] + floats[segment + i];
    });
    this.normalise(x, "bert.embeddings.LayerNorm", ids.length);
  }

  // context = what each head reads; `maps` (heads, length, length), if given, takes the weights of the one input.
  attend(inputs, length, maps) {
    const { floats, width, heads, query, key, value, context } = this, size = width / heads;
    const weights = new Float32Array(length), scale = 1 / Math.sqrt(size);
    for (let input = 0; input < inputs; input += 1) for (let head = 0; head < heads; head += 1) {
      const first = input * length * width + head * size; // of the head's numbers of the first piece
      for (let row = 0; row < length; row += 1) {
        const own = first + row * width;
        for (let other = 0; other < length; other += 1) {
          let sum = 0;
          for (let i = 0, q = query + own, k = key + first + other * width; i < size; i += 1) sum += floats[q + i] * floats[k + i];
          weights[other] = sum * scale;
        }
        softmax(weights);
        maps?.set(weights, (head * length + row) * length);
        floats.fill(0, context + own, context + own + size);
        for (let other = 0; other < length; other += 1) {
          for (let i = 0, c = context + own, v = value + first + other * width; i < size; i += 1) floats[c + i] += weights[other] * floats[v + i];
        }
      }
    }
  }

  // x = LayerNorm(x + linear(from)): how both parts of a block end.
  close(from, depth, layer, rows) {
    const { floats, width, x, change } = this;
    this.linear(from, `${layer}.dense`, change, rows, width, depth);
    for (let i = 0; i < rows * width; i += 1) floats[x + i] += floats[change + i];
    this.normalise(x, `${layer}.LayerNorm`, rows);
  }

  block(index, inputs, length, maps) {
    const { width, inner, x, query, key, value, context, wide } = this, rows = inputs * length, layer = `bert.encoder.layer.${index}`;
    for (const [name, to] of Object.entries({ query, key, value })) this.linear(x, `${layer}.attention.self.${name}`, to, rows, width, width);
    this.attend(inputs, length, maps);
    this.close(context, width, `${layer}.attention.output`, rows);
    this.linear(x, `${layer}.intermediate.dense`, wide, rows, inner, width);
    this.gelu(wide, rows * inner);
    this.close(wide, inner, `${layer}.output`, rows);
  }

  // Runs inputs of one length, POSITIONS pieces at most. `eachLayer(layer)` is called with the vectors (pieces, width)
  // in `x`, layer 0 being the embeddings. Returns the attention maps (layers, heads, length, length) of a single input.
  run(inputs, eachLayer = () => {}) {
    const length = inputs[0].length, size = this.heads * length * length;
    const maps = inputs.length === 1 ? new Float32Array(this.layers * size) : null;
    this.embed(inputs);
    eachLayer(0);
    for (let index = 0; index < this.layers; index += 1) {
      this.block(index, inputs.length, length, maps?.subarray(index * size, (index + 1) * size));
      eachLayer(index + 1);
    }
    return maps;
  }

  // What the head reads at some rows of x: `use(row, logits)`, of which the numbers are gone at the next call.
  decode(rows, use) {
    const { floats, width, vocabulary, x, chosen, transformed, logits } = this, head = "cls.predictions";
    for (let first = 0; first < rows.length; first += DECODED) {
      const part = rows.slice(first, first + DECODED);
      part.forEach((row, index) => floats.copyWithin(chosen + index * width, x + row * width, x + (row + 1) * width));
      this.linear(chosen, `${head}.transform.dense`, transformed, part.length, width, width);
      this.gelu(transformed, part.length * width);
      this.normalise(transformed, `${head}.transform.LayerNorm`, part.length);
      const words = this.place("bert.embeddings.word_embeddings.weight");
      this.product(transformed, words, this.place(`${head}.bias`), logits, part.length, vocabulary, width);
      part.forEach((row, index) => use(row, floats.subarray(logits + index * vocabulary, logits + (index + 1) * vocabulary)));
    }
  }
}
