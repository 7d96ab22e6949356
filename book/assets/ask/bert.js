// BERT (Devlin et al. 2019) on weights that the book exports: embeddings, blocks of attention and feed-forward, and the
// head that reads a word from a vector. Inputs of one call have one length, so nothing is padded or masked out.
// All numbers lie in one array: the weights, then the room for what is computed; `product` is the only quick part.

const POSITIONS = 1024; // pieces computed at once; bounds the room
const DECODED = 64; // rows that the head reads at once
const SLACK = 4; // rows: the product works on four at a time

// Every number that sixteen bits can hold, by its bits: those of 32, moved to their places, have an exponent too small by 112.
const bits32 = Uint32Array.from({ length: 65536 }, (_, bits) => ((bits & 0x8000) << 16) | ((bits & 0x7fff) << 13));
const HALF = new Float32Array(bits32.buffer).map((value) => value * 2 ** 112);

// The error function to 1e-9, as GELU needs it: Taylor's first terms from the nearest point of a grid, whose values are summed
// by Simpson's rule.
const GRID = 512, END = 4.5; // points a unit; from END on it is one
const slope = (x) => (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x);
const slopes = Float64Array.from({ length: GRID * END + 1 }, (_, i) => slope(i / GRID)), values = new Float64Array(slopes.length);
for (let i = 1; i < values.length; i += 1) values[i] = values[i - 1] + (slopes[i - 1] + 4 * slope((i - 0.5) / GRID) + slopes[i]) / (6 * GRID);

function erf(x) {
  const size = Math.abs(x), i = Math.round(size * GRID), rest = size - i / GRID;
  const value = size < END ? values[i] + rest * slopes[i] * (1 - (i / GRID) * rest) : 1;
  return x < 0 ? -value : value;
}

// Softmax of `count` numbers in place; returns the logarithm of their sum.
function softmax(values, start, count) {
  let most = -Infinity, sum = 0;
  for (let i = start; i < start + count; i += 1) most = Math.max(most, values[i]);
  for (let i = start; i < start + count; i += 1) sum += values[i] = Math.exp(values[i] - most);
  for (let i = start; i < start + count; i += 1) values[i] /= sum;
  return most + Math.log(sum);
}

export class Bert {
  // `shape` is the model's entry in the manifest, `bytes` its weights; `arithmetic(count)` gives numbers and product.
  constructor(shape, bytes, arithmetic) {
    Object.assign(this, shape);
    const halves = new Uint16Array(bytes), { width, inner, vocabulary } = shape;
    const room = (POSITIONS + SLACK) * (6 * width + inner) + (DECODED + SLACK) * (2 * width + vocabulary);
    const made = arithmetic(halves.length + room);
    Object.assign(this, { floats: made.floats, product: made.product, engine: made.name });
    for (let i = 0; i < halves.length; i += 1) this.floats[i] = HALF[halves[i]];
    this.free = halves.length;
    const take = (rows, columns) => { const place = this.free; this.free += (rows + SLACK) * columns; return place; };
    for (const name of ["x", "query", "key", "value", "context", "change"]) this[name] = take(POSITIONS, width);
    this.wide = take(POSITIONS, inner);
    for (const name of ["chosen", "transformed"]) this[name] = take(DECODED, width);
    this.logits = take(DECODED, vocabulary);
  }

  place(name) { return this.tensors[name].offset; }

  // to (rows, `columns`) = from (rows, `depth`) times the transposed weight, plus bias.
  linear(from, layer, to, rows, columns, depth) {
    this.product(from, this.place(`${layer}.weight`), this.place(`${layer}.bias`), to, rows, columns, depth);
  }

  // at (rows, width) = LayerNorm(at + other); without `other` of `at` alone.
  normalise(at, other, layer, rows) {
    const { floats, width, epsilon } = this, weight = this.place(`${layer}.weight`), bias = this.place(`${layer}.bias`);
    for (let start = at, end = at + rows * width; start < end; start += width) {
      let mean = 0, variance = 0;
      for (let i = 0; i < width; i += 1) mean += floats[start + i] += other === null ? 0 : floats[other + start - at + i];
      mean /= width;
      for (let i = 0; i < width; i += 1) variance += (floats[start + i] - mean) ** 2;
      const scale = 1 / Math.sqrt(variance / width + epsilon);
      for (let i = 0; i < width; i += 1) floats[start + i] = (floats[start + i] - mean) * scale * floats[weight + i] + floats[bias + i];
    }
  }

  gelu(at, count) {
    const { floats } = this;
    for (let i = at; i < at + count; i += 1) floats[i] = 0.5 * floats[i] * (1 + erf(floats[i] * Math.SQRT1_2));
  }

  embed(inputs) {
    const { floats, width, x } = this, embeddings = "bert.embeddings";
    const words = this.place(`${embeddings}.word_embeddings.weight`), segments = this.place(`${embeddings}.token_type_embeddings.weight`);
    const positions = this.place(`${embeddings}.position_embeddings.weight`);
    inputs.flatMap((ids) => ids.map((id, position) => [id, position])).forEach(([id, position], row) => {
      for (let i = 0; i < width; i += 1) {
        floats[x + row * width + i] = floats[words + id * width + i] + floats[positions + position * width + i] + floats[segments + i];
      }
    });
    this.normalise(x, null, `${embeddings}.LayerNorm`, inputs.flat().length);
  }

  // context = what each head reads; `maps` (heads, length, length), if given, takes the weights of the one input.
  attend(inputs, length, maps) {
    const { floats, width, heads, query, key, value, context } = this, size = width / heads;
    const weights = new Float32Array(length), scale = 1 / Math.sqrt(size);
    for (let input = 0; input < inputs; input += 1) {
      const base = input * length * width;
      for (let head = 0; head < heads; head += 1) for (let row = 0; row < length; row += 1) {
        const own = base + row * width + head * size;
        for (let other = 0; other < length; other += 1) {
          let sum = 0;
          for (let i = 0, q = query + own, k = key + base + other * width + head * size; i < size; i += 1) sum += floats[q + i] * floats[k + i];
          weights[other] = sum * scale;
        }
        softmax(weights, 0, length);
        maps?.set(weights, (head * length + row) * length);
        floats.fill(0, context + own, context + own + size);
        for (let other = 0; other < length; other += 1) {
          for (let i = 0, c = context + own, v = value + base + other * width + head * size; i < size; i += 1) floats[c + i] += weights[other] * floats[v + i];
        }
      }
    }
  }

  block(index, inputs, length, maps) {
    const { width, inner, x, query, key, value, context, change, wide } = this, rows = inputs * length;
    const layer = `bert.encoder.layer.${index}`, attention = `${layer}.attention`;
    for (const [name, to] of Object.entries({ query, key, value })) this.linear(x, `${attention}.self.${name}`, to, rows, width, width);
    this.attend(inputs, length, maps);
    this.linear(context, `${attention}.output.dense`, change, rows, width, width);
    this.normalise(x, change, `${attention}.output.LayerNorm`, rows);
    this.linear(x, `${layer}.intermediate.dense`, wide, rows, inner, width);
    this.gelu(wide, rows * inner);
    this.linear(wide, `${layer}.output.dense`, change, rows, width, inner);
    this.normalise(x, change, `${layer}.output.LayerNorm`, rows);
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
      this.normalise(transformed, null, `${head}.transform.LayerNorm`, part.length);
      const words = this.place("bert.embeddings.word_embeddings.weight");
      this.product(transformed, words, this.place(`${head}.bias`), logits, part.length, vocabulary, width);
      part.forEach((row, index) => use(row, floats.subarray(logits + index * vocabulary, logits + (index + 1) * vocabulary)));
    }
  }

  // Probabilities (vocabulary) at the given rows of x, as copies.
  probabilities(rows) {
    const found = [];
    this.decode(rows, (_, logits) => { const values = logits.slice(); softmax(values, 0, values.length); found.push(values); });
    return found;
  }

  // log P(piece | the rest) of every piece but the two at the ends, in nats; the later pieces of the same word are masked
  // too (Kauf and Ivanova 2023). `owner` says which word each piece belongs to.
  pieceScores(ids, owner, mask) {
    const places = ids.map((_, place) => place).slice(1, -1), atOnce = Math.max(1, Math.floor(POSITIONS / ids.length)), scores = [];
    for (let first = 0; first < places.length; first += atOnce) {
      const part = places.slice(first, first + atOnce);
      this.run(part.map((place) => ids.map((id, other) => (other === place || (other > place && owner[other] === owner[place]) ? mask : id))));
      let index = 0;
      this.decode(part.map((place, row) => row * ids.length + place), (_, logits) => {
        const own = ids[part[index++]], raw = logits[own];
        scores.push(raw - softmax(logits, 0, logits.length));
      });
    }
    return scores;
  }
}
