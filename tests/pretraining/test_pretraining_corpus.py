"""Pre-training: sources to documents, the tokenizer and its samples, stored arrays, and text that is none."""

import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from pretraining_toys import STORIES, config, config_file, write_corpus
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.language.twins import shift_word
from bertology_utils.pretraining import corpus
from bertology_utils.pretraining.batches import Batches, run_tokenizer
from bertology_utils.pretraining.corpus import (
    BEGINS_PHRASE,
    IN_CAPITALS,
    Phrases,
    tokenize,
    unknown_share,
)
from bertology_utils.pretraining.sources import (
    CorpusSource,
    Hub,
    file_identity,
    is_same_file,
    read_documents,
    sentences,
    twin_sentence,
)
from bertology_utils.pretraining.wordpieces import (
    SPECIAL_TOKENS,
    sampled_shares,
    smoothed_weights,
    train_tokenizer,
)


@pytest.fixture
def folder(tmp_path):
    write_corpus(tmp_path / "toy.txt")
    return tmp_path


def source(path, **changes) -> CorpusSource:
    return CorpusSource(path=str(path), **changes)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.xz", "a.txt.gz"])
def test_documents_are_cut_into_sentences_whatever_the_packing(tmp_path, name):
    found = [d.sentences for d in read_documents(source(write_corpus(tmp_path / name)))]
    assert len(found) == len(STORIES)
    assert found[0] == ["The cook opened the door.", '"Who is there?"', "he asked.", "Nobody answered!"]
    assert [len(sentences) for sentences in found[1:3]] == [3, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He came at 3 p.m. on Monday. He left.", ["He came at 3 p.m. on Monday.", "He left."]),
        ("Он ушёл. Она тоже. т. е. вместе", ["Он ушёл.", "Она тоже. т. е. вместе"]),
        ("他来了。她说：“好。”他们走了！", ["他来了。", "她说：“好。”", "他们走了！"]),
        ("वह गया। वह आई।", ["वह गया।", "वह आई।"]),
        ("هل ذهب؟ نعم.", ["هل ذهب؟", "نعم."]),
    ],
)
def test_sentences_end_as_their_script_ends_them(text, expected):
    assert sentences(text) == expected


def test_lines_translations_and_labels(tmp_path):
    (tmp_path / "lines.txt").write_text("One. Two.\n\nThree.\n")
    assert [d.sentences for d in read_documents(source(tmp_path / "lines.txt", format="lines"))] == [
        ["One.", "Two."],
        ["Three."],
    ]
    (tmp_path / "two.tsv").write_text("A dog. It barks.\tUn chien. Il aboie.\ngood\tbad\n")
    pair, classed = (
        list(read_documents(source(tmp_path / "two.tsv", format=form))) for form in ("parallel", "labelled")
    )
    assert pair[0] == (["A dog. It barks.", "Un chien. Il aboie."], None)
    assert classed[1] == (["bad"], "good")
    (tmp_path / "two.tsv").write_text("a\tb\nno tab\n")
    with pytest.raises(BertologyError, match=r"Line 2 .* two tab-separated columns"):
        list(read_documents(source(tmp_path / "two.tsv", format="parallel")))


def test_a_twin_is_the_same_text_in_other_letters(tmp_path):
    assert twin_sentence("Café, no!", 0.0).split() == [shift_word(word) for word in ("cafe", ",", "no", "!")]
    assert twin_sentence("Café, no!", 1.0) == "cafe , no !"
    words = [f"word{i}" for i in range(2000)]
    kept = twin_sentence(" ".join(words), 0.4).split()
    assert all(twin in (word, shift_word(word)) for word, twin in zip(words, kept, strict=True))
    assert sum(word == twin for word, twin in zip(words, kept, strict=True)) / 2000 == pytest.approx(0.4, abs=0.04)
    assert twin_sentence(words[7], 0.4) == kept[7]  # every text agrees on the words that stay


def test_twins_are_read_and_stored_beside_their_originals(folder):
    corpora = {"english": {"path": str(folder / "toy.txt")}, "twin": {"path": str(folder / "toy.txt"), "twin": 0.0}}
    made = config(folder, corpora=corpora, phases=[{"steps": 6, "length": 32}])
    batches = Batches(made, run_tokenizer(made))
    english, twin = (set(batches.train[name].tokens.tolist()) for name in corpora)
    assert english and twin and not english & twin


def test_a_data_set_is_read_from_parquet_and_from_disk(tmp_path):
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"body": [story + "\n" for story in STORIES], "id": range(len(STORIES))})
    (tmp_path / "files").mkdir()
    data.to_parquet(tmp_path / "files" / "train.parquet")
    data.save_to_disk(str(tmp_path / "saved"))
    plain = [d.sentences for d in read_documents(source(write_corpus(tmp_path / "toy.txt")))]
    for place in ("files", "saved"):
        hub = Hub(name=str(tmp_path / place), column="body")
        assert [d.sentences for d in read_documents(CorpusSource(hub=hub))] == plain
    with pytest.raises(BertologyError, match="no column or split 'text'"):
        list(read_documents(CorpusSource(hub=Hub(name=str(tmp_path / "files")))))
    with pytest.raises(BertologyError, match="cannot be read"):
        list(read_documents(CorpusSource(hub=Hub(name=str(tmp_path / "nothing")))))


def test_the_engine_needs_neither_datasets_nor_papermill():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('datasets', 'papermill', 'accelerate', 'dask', 'pandas')));"
        "import bertology_utils.pretraining.engine, bertology_utils.pretraining.compare"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_tokenizer_and_the_stored_corpus_give_the_text_back(folder):
    tokenizer = train_tokenizer([source(folder / "toy.txt")], 150)
    assert [tokenizer.token_to_id(t) for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")] == list(range(5))
    corpus = tokenize(source(folder / "toy.txt"), tokenizer, folder / "store")
    assert len(corpus.documents) == len(STORIES) + 1 and corpus.tokens.dtype == np.uint16
    pieces = [tokenizer.id_to_token(i) for i in corpus.sentence(0)]
    assert " ".join(pieces).replace(" ##", "") == "the cook opened the door ."
    train, held_out = corpus.split()
    assert train.documents[-1] == held_out.documents[0] and held_out.documents[-1] == corpus.documents[-1]
    assert np.array_equal(np.concatenate([train.text, held_out.text]), corpus.tokens)
    assert unknown_share(corpus, tokenizer.token_to_id("[UNK]")) == 0
    assert not list((folder / "store").glob("*.part*"))


def test_a_changed_text_is_tokenized_again(folder):
    tokenizer = train_tokenizer([source(folder / "toy.txt")], 150)
    tokenize(source(folder / "toy.txt"), tokenizer, folder / "store")
    write_corpus(folder / "toy.txt", STORIES * 2)
    later = (folder / "store" / "toy.txt.tokens.npy").stat().st_mtime + 10
    os.utime(folder / "toy.txt", (later, later))
    assert len(tokenize(source(folder / "toy.txt"), tokenizer, folder / "store").documents) == 2 * len(STORIES) + 1


OTHER_STORIES = ["The owl sat in the barn. It did not move.", "Two foxes ran. A dog barked at them."] * 6


def other_text(folder, stories=OTHER_STORIES):
    """Another text under the same file name, written long ago."""
    (folder / "other").mkdir(exist_ok=True)
    path = write_corpus(folder / "other" / "toy.txt", stories)
    os.utime(path, (1e9, 1e9))
    return path


def test_a_text_is_known_by_its_content_wherever_it_lies(folder):
    path, moved = folder / "toy.txt", folder / "moved.txt"
    identity = file_identity(path)
    shutil.copy(path, moved)
    assert is_same_file(path, identity) and is_same_file(moved, identity) and not is_same_file(path, None)
    moved.write_text(path.read_text().replace("cook", "cock"))  # of the same size
    assert not is_same_file(moved, identity) and not is_same_file(folder / "none.txt", identity)
    path.unlink()
    assert is_same_file(path, identity), "what was made of a text outlives it"


@pytest.mark.parametrize("recorded", [True, False])
def test_an_older_text_of_the_same_name_is_not_taken_for_the_stored_one(folder, recorded):
    """`recorded`: False as stored by earlier versions, which left no record of the text."""
    store, texts = folder / "store", [source(folder / "toy.txt"), source(other_text(folder))]
    tokenizer = train_tokenizer(texts, 150)
    first = tokenize(texts[0], tokenizer, store)
    if not recorded:
        (store / "toy.txt.source.json").unlink()
    other = tokenize(texts[1], tokenizer, store)
    fresh = tokenize(texts[1], tokenizer, folder / "empty")
    assert np.array_equal(other.tokens, fresh.tokens) and not np.array_equal(other.tokens, first.tokens)
    assert np.array_equal(tokenize(texts[0], tokenizer, store).tokens, first.tokens)


def test_stored_arrays_of_the_same_text_are_used_as_they_are(folder, monkeypatch):
    tokenizer = train_tokenizer([source(folder / "toy.txt")], 150)
    tokens = tokenize(source(folder / "toy.txt"), tokenizer, folder / "store").tokens
    monkeypatch.setattr(corpus, "_store", lambda *_: pytest.fail("tokenized again"))
    assert np.array_equal(tokenize(source(folder / "toy.txt"), tokenizer, folder / "store").tokens, tokens)


def test_arrays_of_a_run_that_was_killed_while_it_wrote_are_not_believed(folder, monkeypatch):
    texts = [source(folder / "toy.txt"), source(other_text(folder))]
    tokenizer, store = train_tokenizer(texts, 150), folder / "store"
    first = tokenize(texts[0], tokenizer, store).tokens
    save = np.save

    def killed(part, array):
        if "documents" in part.name:
            raise KeyboardInterrupt
        save(part, array)

    monkeypatch.setattr(np, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        tokenize(texts[1], tokenizer, store)  # its tokens are written, its documents are not
    monkeypatch.undo()
    assert np.array_equal(tokenize(texts[0], tokenizer, store).tokens, first)


def test_flags_of_another_text_are_made_again(folder):
    texts = [source(folder / "toy.txt"), source(other_text(folder))]
    tokenizer, store = train_tokenizer(texts, 150), folder / "store"
    tokenize(texts[0], tokenizer, store, Phrases(tokenizer))
    tokenize(texts[1], tokenizer, store)
    found = tokenize(texts[1], tokenizer, store, Phrases(tokenizer))
    assert len(found.flags) == len(found.tokens)


def test_smoothing_lifts_the_small_corpora(tmp_path):
    assert smoothed_weights([100, 1], 1.0) == pytest.approx([100 / 101, 1 / 101])
    assert smoothed_weights([100, 1], 0.0) == pytest.approx([0.5, 0.5])
    weights = smoothed_weights([1000, 10], 0.7)
    assert weights[0] / weights[1] == pytest.approx(100**0.7)
    write_corpus(tmp_path / "large.txt", STORIES * 100)
    write_corpus(tmp_path / "small.txt", STORIES)
    shares = sampled_shares([source(tmp_path / "large.txt"), source(tmp_path / "small.txt")], 0.7)
    assert shares == pytest.approx([100**-0.3, 1.0])


def test_the_tokenizer_sees_the_smoothed_sample(tmp_path):
    """A large corpus would take all pieces; with every corpus alike the small one gets whole words too."""
    (tmp_path / "large.txt").write_text("\n".join(f"word{i} " * 3 for i in range(3000)))
    (tmp_path / "small.txt").write_text("zebras quietly vanish\n" * 40)
    sources = [source(tmp_path / "large.txt", format="lines"), source(tmp_path / "small.txt", format="lines")]
    plain, smooth = (train_tokenizer(sources, 100, smoothing=value).get_vocab() for value in (None, 0.0))
    assert "zebras" not in plain and "zebras" in smooth


def test_the_same_text_gives_the_same_tokenizer_at_every_training(tmp_path):
    """Nearly all pairs are as frequent as others here; the library by itself merges them as chance has it."""
    lines = (f"{a}{b}{c} {c}{a}{b}" for a in "abcdef" for b in "ghijkl" for c in "mnopqr")
    (tmp_path / "ties.txt").write_text("\n".join(lines))
    tied = source(tmp_path / "ties.txt", format="lines")
    first, *others = (train_tokenizer([tied], 80).to_str() for _ in range(4))
    assert all(other == first for other in others)


def test_the_pieces_are_those_of_the_plain_way_where_no_two_pairs_are_alike(tmp_path):
    words = {"banana": 13, "bandana": 7, "cab": 29, "dab": 19}
    (tmp_path / "words.txt").write_text("\n".join(word for word, count in words.items() for _ in range(count)))
    plain = Tokenizer(WordPiece(unk_token="[UNK]"))
    plain.pre_tokenizer = BertPreTokenizer()
    trainer = WordPieceTrainer(vocab_size=20, special_tokens=SPECIAL_TOKENS, show_progress=False)
    plain.train_from_iterator((word for word, count in words.items() for _ in range(count)), trainer)
    ours = train_tokenizer([source(tmp_path / "words.txt", format="lines")], 20)
    assert set(ours.get_vocab()) == set(plain.get_vocab())
    assert ours.encode("bandana").tokens == ["[CLS]", *plain.encode("bandana").tokens, "[SEP]"]


def test_only_special_tokens_are_read_as_such(folder):
    """The letters inside words are no special tokens in the end: "##a" in a text is two marks and a letter."""
    tokenizer = train_tokenizer([source(folder / "toy.txt")], 150)
    assert [token.content for token in tokenizer.get_added_tokens_decoder().values()] == SPECIAL_TOKENS
    assert tokenizer.encode("##a", add_special_tokens=False).tokens == ["[UNK]", "[UNK]", "a"]


def test_chinese_characters_are_words_and_the_alphabet_can_hold_them(tmp_path):
    characters = [chr(0x4E00 + i) for i in range(600)]
    text = "\n".join("".join(characters[i : i + 20]) for i in range(0, 600, 20))
    (tmp_path / "zh.txt").write_text(text * 2)
    han = source(tmp_path / "zh.txt", format="lines")
    few, many = (train_tokenizer([han], 700, alphabet=size) for size in (400, 1000))
    assert len(many.encode("".join(characters[:3]), add_special_tokens=False).tokens) == 3
    shares = [unknown_share(tokenize(han, t, tmp_path / str(i)), 1) for i, t in enumerate((few, many))]
    assert shares[0] > 0.2 and shares[1] == 0


def test_a_tokenizer_of_other_corpora_is_not_taken(folder):
    run_tokenizer(config(folder))
    write_corpus(folder / "other.txt")
    with pytest.raises(BertologyError, match="trained on other corpora"):
        run_tokenizer(config(folder, corpora={"toy": str(folder / "other.txt")}, phases=[{"steps": 1, "length": 8}]))
    other = config(folder, corpora={"toy": str(other_text(folder))})
    with pytest.raises(BertologyError, match="trained on other corpora"):
        run_tokenizer(other)  # another text of the same name
    given = folder / "work" / "tokenizer-150.json"
    named = config(folder, corpora={"toy": str(folder / "other.txt")}, tokenizer=str(given))
    assert run_tokenizer(named).get_vocab_size() == run_tokenizer(config(folder)).get_vocab_size()
    with pytest.raises(BertologyError, match="no tokenizer"):
        run_tokenizer(config(folder, tokenizer=str(folder / "none.json")))


def test_a_tokenizer_without_a_record_of_its_texts_is_known_by_their_names(folder):
    vocabulary = run_tokenizer(config(folder)).get_vocab()
    (folder / "work" / "tokenizer-150.sources.json").unlink()
    assert run_tokenizer(config(folder)).get_vocab() == vocabulary


def phrase_starts(folder, listed: str | None = None) -> list[str]:
    tokenizer = train_tokenizer([source(folder / "toy.txt")], 300)
    if listed is not None:
        (folder / "phrases.txt").write_text(listed)
    phrases = Phrases(tokenizer, folder / "phrases.txt" if listed is not None else None)
    sentence = "Ann Smith saw the old tree in New York."
    encoding = tokenizer.encode(sentence, add_special_tokens=False)
    flags = phrases.flags(sentence, encoding)
    units: list[str] = []
    for piece, flag in zip(encoding.tokens, flags, strict=True):
        units += [""] if flag & BEGINS_PHRASE else []
        units[-1] += piece.removeprefix("##") if piece.startswith("##") or not units[-1] else f" {piece}"
    capital = [t for t, flag in zip(encoding.tokens, flags, strict=True) if flag & IN_CAPITALS]
    assert {"ann", "new"} <= set(capital) and not {"saw", "tree", "."} & set(capital)
    return [unit.replace(" ##", "") for unit in units]


def test_phrases_are_runs_of_capitals_or_entries_of_a_list(folder):
    joined = {"ann smith", "new york"}
    assert joined <= set(phrase_starts(folder)) and "tree" in phrase_starts(folder)
    found = phrase_starts(folder, "the old tree\nthe old\nYork\n")
    assert "the old tree" in found and {"ann", "new", "york"} <= set(found)
    with pytest.raises(BertologyError, match="is empty"):
        phrase_starts(folder, "\n\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", b"", "no text"),
        ("blank.txt", b"\n \n\n", "no text"),
        ("one.txt", b"Only one document. It has two sentences.\n", "fewer than two documents"),
        ("binary.txt", bytes(range(128, 256)) * 20, "not UTF-8"),
        ("zeros.txt", b"\0" * 100, "not UTF-8"),
        ("fake.xz", b"no archive", "not UTF-8"),
        ("fake.gz", b"no archive", "not UTF-8"),
        ("cut.gz", gzip.compress(b"A story. " * 400, mtime=0)[:40], "not UTF-8"),
        ("cut.xz", lzma.compress(b"A story. " * 400)[:70], "not UTF-8"),
        ("short.txt", b"A story.\n\nIt ends.\n\nSoon.\n", "fewer than one batch"),
        ("missing.txt", None, "does not exist"),
    ],
)
def test_a_corpus_that_is_none_is_told_and_can_be_mended(tmp_path, capsys, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    path = config_file(tmp_path, corpora={"toy": str(tmp_path / name)})
    assert cli.main(["pretrain", str(path)]) == 1
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") <= 2
    assert not list((tmp_path / "work").rglob("*.part*")) and not list((tmp_path / "work").rglob("checkpoint*"))


def test_a_folder_is_no_corpus(tmp_path):
    with pytest.raises(BertologyError, match="cannot be read"):
        list(read_documents(source(tmp_path)))


def test_weights_come_from_the_phase_or_from_the_sizes(tmp_path):
    for name, times in (("a", 4), ("b", 1), ("c", 2)):
        write_corpus(tmp_path / f"{name}.txt", STORIES * times)
    corpora = {name: str(tmp_path / f"{name}.txt") for name in "abc"}
    phases = [
        {"steps": 1, "length": 8, "mixture": {"b": 2.0, "a": 1.0}},
        {"steps": 1, "length": 8, "mixture": ["a", "c"]},
        {"steps": 1, "length": 8},
    ]
    chosen = config(tmp_path, corpora=corpora, phases=phases, smoothing=0.5)
    batches = Batches(chosen, run_tokenizer(chosen))
    sizes = {name: len(corpus.text) for name, corpus in batches.train.items()}
    explicit, named, all_of_them = (batches.weights(phase) for phase in chosen.phases)
    assert explicit == [1.0, 2.0, 0.0]
    assert named[1] == 0 and named[0] / named[2] == pytest.approx((sizes["a"] / sizes["c"]) ** 0.5)
    assert all_of_them == pytest.approx(list(smoothed_weights(list(sizes.values()), 0.5)))


def test_words_and_passes_are_counted_by_corpus(folder):
    """All text once is one pass and the words that a reader counts; a corpus with half of the weight gets half."""
    corpora = {name: str(write_corpus(folder / f"{name}.txt", STORIES * 9)) for name in ("a", "b")}
    phases = [{"steps": 3, "length": 8, "mixture": {"a": 2}}, {"steps": 1, "length": 8, "mixture": {"a": 1, "b": 3}}]
    chosen = config(folder, corpora=corpora, phases=phases)
    tokenizer = run_tokenizer(chosen)
    batches, text = Batches(chosen, tokenizer), Batches(chosen, tokenizer).train["a"].text
    found = batches.amounts_read(tokenizer, 16 * len(text))
    assert {name: round(of["times"], 6) for name, of in found.items()} == {"a": 13.0, "b": 3.0}
    words = len(re.findall(r"\w+", tokenizer.decode(text.tolist())))
    assert found["b"]["words"] == pytest.approx(3 * words)
