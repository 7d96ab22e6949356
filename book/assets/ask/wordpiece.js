// BERT's uncased tokenizer: text to words (runs between blanks, each mark by itself), words to the longest known pieces.
// Equal to the `tokenizers` library, whose rules are followed: control characters go, accents go, letters become small
// one by one (so that no letter minds its neighbours), Chinese characters stand alone.

const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const LONGEST_WORD = 100; // characters; a longer one is unknown
const HAN = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
const MARK = /([\p{P}$+<=>^`|~])/gu;
const specialPattern = new RegExp(`(${SPECIAL.map((name) => name.replace(/[[\]]/g, "\\$&")).join("|")})`);

function wordsOf(text) {
  const clean = text.replace(/[\t\n\r]/g, " ").replace(/[\p{C}\ufffd]/gu, "").replace(HAN, " $& ");
  const plain = clean.normalize("NFD").replace(/\p{Mn}/gu, "");
  const small = [...plain].map((letter) => letter.toLowerCase()).join("");
  return small.replace(MARK, " $1 ").split(/\s+/u).filter(Boolean);
}

export class WordPiece {
  constructor(pieces) {
    this.pieces = pieces;
    this.ids = new Map(pieces.map((piece, id) => [piece, id]));
    [this.pad, this.unknown, this.start, this.stop, this.mask] = SPECIAL.map((name) => this.ids.get(name));
  }

  // The pieces of one word, unknown as a whole where its letters are.
  cut(word) {
    const letters = [...word], found = [];
    if (letters.length > LONGEST_WORD) return [this.unknown];
    for (let from = 0, to; from < letters.length; from = to) {
      for (to = letters.length; to > from; to -= 1) {
        const id = this.ids.get((from ? "##" : "") + letters.slice(from, to).join(""));
        if (id !== undefined) { found.push(id); break; }
      }
      if (to === from) return [this.unknown];
    }
    return found;
  }

  // ids with [CLS] and [SEP] around them; words; owner[i], the word that piece i belongs to, -1 for the two at the ends.
  encode(text) {
    const words = text.split(specialPattern).flatMap((part) => (SPECIAL.includes(part) ? [part] : wordsOf(part)));
    const cut = words.map((word) => (SPECIAL.includes(word) ? [this.ids.get(word)] : this.cut(word)));
    return { words, ids: [this.start, ...cut.flat(), this.stop],
      owner: [-1, ...cut.flatMap((pieces, index) => pieces.map(() => index)), -1] };
  }
}
