// Matrix products for the model: a few instructions of SIMD WebAssembly, assembled here so that no compiler and no binary
// file is needed, and the same in plain JavaScript where WebAssembly does not run.
//
// Both work in one array of numbers, `floats`: out[i, j] = bias[j] + sum over k of a[i, k] * w[j, k], where a is (m, k),
// w (n, k) as in torch's Linear, and places are counted in numbers. m and n are multiples of 4 and 2, k of 8.

const ROWS = 4, COLUMNS = 2; // of out, held in registers at once

// The binary format, as nested lists of bytes. Whole numbers are LEB128 in two bytes, which is enough below 2^13.
const whole = (value) => [(value & 127) | 128, value >> 7];
const list = (items) => [whole(items.length), items];
const sized = (bytes) => list(bytes.flat(Infinity));
const section = (id, ...items) => [id, sized(list(items))];
const text = (word) => list([...word].map((letter) => letter.charCodeAt(0)));

// Instructions, by their numbers in the specification.
const I32 = 0x7f, V128 = 0x7b, MEMORY = 2, FUNCTION = 0;
const get = (local) => [0x20, local], set = (local) => [0x21, local], number = (value) => [0x41, whole(value)];
const add = 0x6a, times = 0x6c, less = 0x49, loop = [0x03, 0x40], again = [0x0d, 0], end = 0x0b;
const wide = (code, ...more) => [0xfd, whole(code), more], load4 = (offset) => wide(0, 0, whole(offset)), zero4 = wide(12, Array(16).fill(0));
const add4 = wide(228), times4 = wide(230), lane = (index) => wide(31, index), addFloat = 0x92, loadFloat = [0x2a, 0, 0], storeFloat = [0x38, 0, 0];
const every = (count, each) => Array.from({ length: count }, (_, index) => each(index));
const plus = (local, count) => [get(local), number(count), add];
const repeat = (local, step, limit, ...inner) => [number(0), set(local), loop, inner, plus(local, step), set(local), get(local), get(limit), less, again, end];
const address = (base, index, length) => [get(base), index, length, times, add];

// The function's locals: seven arguments (places in bytes; `k` is a row's length in bytes), then its own.
const [a, w, bias, out, m, n, k, i, j, p, rows] = every(11, (index) => index), columns = rows + ROWS;
const sums = columns + COLUMNS, columnValues = sums + ROWS * COLUMNS, rowValue = columnValues + COLUMNS, cell = (r, c) => sums + r * COLUMNS + c;
const tile = (each) => every(ROWS, (r) => every(COLUMNS, (c) => each(r, c)));

// Four numbers of each row against four of each column, `offset` bytes further on.
const load = (start, offset, value) => [get(start), get(p), add, load4(offset), set(value)];
const accumulate = (sum, column) => [get(sum), get(rowValue), get(column), times4, add4, set(sum)];
const four = (offset) => [
  every(COLUMNS, (c) => load(columns + c, offset, columnValues + c)),
  every(ROWS, (r) => [load(rows + r, offset, rowValue), every(COLUMNS, (c) => accumulate(cell(r, c), columnValues + c))]),
];
const store = (r, c) => [
  address(out, [plus(i, r), get(n), times, plus(j, c), add], number(4)), address(bias, plus(j, c), number(4)), loadFloat,
  every(4, (index) => [get(cell(r, c)), lane(index), addFloat]), storeFloat,
];
const body = repeat(j, COLUMNS, n, repeat(i, ROWS, m, // columns stay in the cache while all rows pass by
  every(ROWS, (r) => [address(a, plus(i, r), get(k)), set(rows + r)]),
  every(COLUMNS, (c) => [address(w, plus(j, c), get(k)), set(columns + c)]),
  tile((r, c) => [zero4, set(cell(r, c))]),
  repeat(p, 32, k, four(0), four(16)),
  tile(store)));

// The module: one memory from outside, one function to the outside.
export const moduleBytes = () => new Uint8Array([
  [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  section(1, [0x60, list(Array(7).fill(I32)), 0]),
  section(2, [text("m"), text("m"), MEMORY, 0, 0]),
  section(3, 0),
  section(7, [text("product"), FUNCTION, 0]),
  section(10, sized([list([[sums - i, I32], [rowValue + 1 - sums, V128]]), body, end])),
].flat(Infinity));

function inWebAssembly(count) {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(count / 16384) }); // pages of so many numbers
  const { product } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()), { m: { m: memory } }).exports;
  return { floats: new Float32Array(memory.buffer), name: "WebAssembly",
    product: (a, w, bias, out, m, n, k) => product(4 * a, 4 * w, 4 * bias, 4 * out, m, n, 4 * k) };
}

function inJavaScript(count) {
  const floats = new Float32Array(count);
  function product(a, w, bias, out, m, n, k) {
    for (let j = 0; j < n; j += 2) for (let i = 0; i < m; i += 1) { // two sums at once take hardly longer than one
      let one = floats[bias + j], two = floats[bias + j + 1];
      for (let p = 0, row = a + i * k, column = w + j * k; p < k; p += 1) {
        one += floats[row + p] * floats[column + p];
        two += floats[row + p] * floats[column + k + p];
      }
      floats[out + i * n + j] = one;
      floats[out + i * n + j + 1] = two;
    }
  }
  return { floats, product, name: "JavaScript" };
}

// Room for `count` numbers and the product that works in it; `plain` asks for JavaScript.
export function arithmetic(count, plain = false) {
  if (!plain) try { return inWebAssembly(count); } catch { /* no SIMD, no WebAssembly, or a policy forbids it */ }
  return inJavaScript(count);
}
