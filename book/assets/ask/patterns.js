// Which pattern each attention map of one sentence shows, by the rule of the chapter on attention: mass on [CLS] and [SEP]
// (vertical) and on the neighbours (diagonal) above that of an even map, as a share of the possible, and entropy. Blocks
// need two segments. The limits come from Python.

const excess = (mass, even) => (mass - even) / (1 - even);

function features(map, size) {
  let special = 0, beside = 0, entropy = 0;
  map.forEach((weight, index) => {
    const row = Math.floor(index / size), column = index % size;
    if (column === 0 || column === size - 1) special += weight / size;
    if (Math.abs(row - column) === 1) beside += weight / size;
    if (weight > 0) entropy -= (weight * Math.log(weight)) / (size * Math.log(size));
  });
  return { vertical: excess(special, 2 / size), diagonal: excess(beside, (2 * (size - 1)) / size ** 2), entropy };
}

function patternOf({ vertical, diagonal, entropy }, { single, part, mixed, broad }) {
  if (Math.min(vertical, diagonal) >= part && vertical + diagonal >= mixed) return "vertical+diagonal";
  if (vertical >= single) return "vertical";
  if (diagonal >= single) return "diagonal";
  return entropy > broad ? "broad" : "heterogeneous";
}

// Names, of one head after the other; `maps` holds maps of `size` pieces squared, end to end.
export function patterns(maps, size, limits) {
  return Array.from({ length: maps.length / size ** 2 }, (_, head) => patternOf(features(maps.subarray(head * size ** 2, (head + 1) * size ** 2), size), limits));
}
