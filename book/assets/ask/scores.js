// What the panels ask of a model's logits: probabilities of pieces, and how likely each piece of a sentence is.

// What to take from logits to make them log-probabilities.
function logSum(logits) {
  let most = -Infinity, sum = 0;
  for (const logit of logits) most = Math.max(most, logit);
  for (const logit of logits) sum += Math.exp(logit - most);
  return most + Math.log(sum);
}

// Probabilities (vocabulary) at the given rows of what the model ran last.
export function probabilities(model, rows) {
  const found = [];
  model.decode(rows, (_, logits) => { const all = logSum(logits); found.push(logits.map((logit) => Math.exp(logit - all))); });
  return found;
}

// log P(piece | the rest) of every piece but the two at the ends, in nats; the later pieces of the same word are masked
// too (Kauf and Ivanova 2023). `owner` says which word each piece belongs to.
export function pieceScores(model, { ids, owner }, mask) {
  const places = ids.map((_, place) => place).slice(1, -1), atOnce = Math.max(1, Math.floor(model.positions / ids.length)), scores = [];
  for (let first = 0; first < places.length; first += atOnce) {
    const part = places.slice(first, first + atOnce);
    model.run(part.map((place) => ids.map((id, other) => (other === place || (other > place && owner[other] === owner[place]) ? mask : id))));
    let index = 0;
    model.decode(part.map((place, row) => row * ids.length + place), (_, logits) => { scores.push(logits[ids[part[index++]]] - logSum(logits)); });
  }
  return scores;
}
