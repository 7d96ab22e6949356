// Matrix products for the model: a few instructions of SIMD WebAssembly, assembled here byte by byte so that no compiler
// and no binary file is needed, and the same in plain JavaScript where WebAssembly does not run.
//
// Both work in one array of numbers, `floats`: out[i, j] = bias[j] + sum over k of a[i, k] * w[j, k], where a is (m, k),
// w (n, k) as in torch's Linear, and places are counted in numbers. m and n are multiples of 4 and 2, k of 8.

const PAGE = 65536; // bytes; WebAssembly's unit of memory
const ROWS = 4, COLUMNS = 2; // of out, held in registers at once

// LEB128, WebAssembly's way to write whole numbers.
function whole(value) {
  const bytes = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value];
}

const list = (items) => [...whole(items.length), ...items.flat()];
const section = (id, items) => { const body = list(items); return [id, ...whole(body.length), ...body]; };
const text = (word) => list([...word].map((letter) => letter.charCodeAt(0)));

// Instructions, by their numbers in the specification.
const I32 = 0x7f, F32 = 0x7d, V128 = 0x7b, MEMORY = 2, FUNCTION = 0;
const get = (local) => [0x20, local], set = (local) => [0x21, local];
const add = [0x6a], times = [0x6c], less = [0x49], end = [0x0b], loop = [0x03, 0x40], again = [0x0d, 0];
const number = (value) => [0x41, ...whole(value)]; // below 64, where signed and unsigned look alike
const wide = (code) => [0xfd, ...whole(code)];
const load4 = (offset) => [...wide(0), 0, ...whole(offset)], addWide = wide(228), timesWide = wide(230);
const lane = (index) => [...wide(31), index], addFloat = [0x92], loadFloat = [0x2a, 0, 0], storeFloat = [0x38, 0, 0];
const zero4 = [...wide(12), ...Array(16).fill(0)];
const step = (local, by) => [...get(local), ...by, ...add, ...set(local)];

// The function's locals: seven arguments (places in bytes; `k` is a row's length in bytes), then its own.
const [a, w, bias, out, m, n, k, i, j, p] = Array.from({ length: 10 }, (_, index) => index);
const rowStart = 10, columnStart = rowStart + ROWS, sums = columnStart + COLUMNS;
const columnValue = sums + ROWS * COLUMNS, rowValue = columnValue + COLUMNS;
const tile = (each) => Array.from({ length: ROWS * COLUMNS }, (_, cell) => each(Math.floor(cell / COLUMNS), cell % COLUMNS, sums + cell)).flat();
const every = (count, each) => Array.from({ length: count }, (_, index) => each(index)).flat();

// Four numbers of each row against four of each column; `offset` bytes further on.
const four = (offset) => [
  ...every(COLUMNS, (c) => [...get(columnStart + c), ...get(p), ...add, ...load4(offset), ...set(columnValue + c)]),
  ...every(ROWS, (r) => [
    ...get(rowStart + r), ...get(p), ...add, ...load4(offset), ...set(rowValue),
    ...every(COLUMNS, (c) => [...get(sums + r * COLUMNS + c), ...get(rowValue), ...get(columnValue + c), ...timesWide, ...addWide, ...set(sums + r * COLUMNS + c)]),
  ]),
];

const address = (base, index, length) => [...get(base), ...index, ...length, ...times, ...add];
const plus = (local, count) => [...get(local), ...number(count), ...add];
const together = (sum) => [0, 1, 2, 3].flatMap((index) => [...get(sum), ...lane(index), ...(index ? addFloat : [])]);
const store = (r, c, sum) => [
  ...address(out, [...plus(i, r), ...get(n), ...times, ...plus(j, c), ...add], number(4)),
  ...together(sum), ...address(bias, plus(j, c), number(4)), ...loadFloat, ...addFloat, ...storeFloat,
];

const body = [
  ...number(0), ...set(j), ...loop, // a pair of columns stays in the cache while all rows pass by
  ...number(0), ...set(i), ...loop,
  ...every(ROWS, (r) => [...address(a, plus(i, r), get(k)), ...set(rowStart + r)]),
  ...every(COLUMNS, (c) => [...address(w, plus(j, c), get(k)), ...set(columnStart + c)]),
  ...tile((r, c, sum) => [...zero4, ...set(sum)]),
  ...number(0), ...set(p), ...loop, ...four(0), ...four(16), ...step(p, number(32)), ...get(p), ...get(k), ...less, ...again, ...end,
  ...tile(store),
  ...step(i, number(ROWS)), ...get(i), ...get(m), ...less, ...again, ...end,
  ...step(j, number(COLUMNS)), ...get(j), ...get(n), ...less, ...again, ...end, ...end,
];

// The module: one memory from outside, one function to the outside.
export function moduleBytes() {
  const own = [[...whole(columnStart + COLUMNS - i), I32], [...whole(ROWS * COLUMNS + COLUMNS + 1), V128]];
  const code = [...list(own), ...body];
  return new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [[0x60, ...list(Array(7).fill(I32)), 0]]),
    ...section(2, [[...text("m"), ...text("m"), MEMORY, 0, 0]]),
    ...section(3, [0]),
    ...section(7, [[...text("product"), FUNCTION, 0]]),
    ...section(10, [[...whole(code.length), ...code]]),
  ]);
}

function inWebAssembly(count) {
  const memory = new WebAssembly.Memory({ initial: Math.ceil((4 * count) / PAGE) });
  const { product } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()), { m: { m: memory } }).exports;
  return { floats: new Float32Array(memory.buffer), name: "WebAssembly",
    product: (a, w, bias, out, m, n, k) => product(4 * a, 4 * w, 4 * bias, 4 * out, m, n, 4 * k) };
}

function inJavaScript(count) {
  const floats = new Float32Array(count);
  function product(a, w, bias, out, m, n, k) {
    for (let j = 0; j < n; j += 2) {
      const w0 = w + j * k, w1 = w0 + k;
      for (let i = 0; i < m; i += 2) {
        const a0 = a + i * k, a1 = a0 + k;
        let s00 = 0, s01 = 0, s10 = 0, s11 = 0;
        for (let p = 0; p < k; p += 1) {
          const x0 = floats[a0 + p], x1 = floats[a1 + p], y0 = floats[w0 + p], y1 = floats[w1 + p];
          s00 += x0 * y0; s01 += x0 * y1; s10 += x1 * y0; s11 += x1 * y1;
        }
        const o = out + i * n + j;
        floats[o] = s00 + floats[bias + j]; floats[o + 1] = s01 + floats[bias + j + 1];
        floats[o + n] = s10 + floats[bias + j]; floats[o + n + 1] = s11 + floats[bias + j + 1];
      }
    }
  }
  return { floats, product, name: "JavaScript" };
}

// Room for `count` numbers and the product that works in it; `plain` asks for JavaScript.
export function arithmetic(count, plain = false) {
  if (!plain) try { return inWebAssembly(count); } catch { /* no SIMD, no WebAssembly, or a policy forbids it */ }
  return inJavaScript(count);
}
