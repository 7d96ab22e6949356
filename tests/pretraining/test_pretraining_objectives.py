"""Pre-training: what every objective hides, swaps or predicts, against the pure functions, and that its loss falls."""

import numpy as np
import pytest
import torch
from pretraining_toys import STORIES, config, write_corpus

from bertology_utils.pretraining import objectives as ob
from bertology_utils.pretraining.config import Masking
from bertology_utils.pretraining.corpus import BEGINS_PHRASE, IN_CAPITALS
from bertology_utils.pretraining.engine import Pretraining
from bertology_utils.pretraining.examples import IGNORED, Row, SpecialIds, collate
from bertology_utils.pretraining.passes import Pass
from bertology_utils.pretraining.tasks import MaskedTokens, Vocabulary, make_objectives

SPECIAL = SpecialIds(pad=0, cls=2, sep=3, mask=4, vocabulary_size=100)
CONTINUES = np.arange(100) >= 60  # pieces 60 to 99 continue a word
VOCABULARY = Vocabulary(SPECIAL, CONTINUES)
LM = {"masked-tokens": 1.0}


def row(pieces, flags=None) -> Row:
    ids = np.array([SPECIAL.cls, *pieces, SPECIAL.sep])
    special = np.isin(ids, [SPECIAL.cls, SPECIAL.sep])
    flags = None if flags is None else np.array([0, *flags, 0], dtype=np.uint8)
    return Row(ids, np.zeros_like(ids), np.arange(len(ids)), special, flags)


def words(n: int, rng: np.random.Generator) -> list[int]:
    """`n` words of one to three pieces."""
    pieces = []
    for _ in range(n):
        pieces += [int(rng.integers(5, 60)), *rng.integers(60, 100, int(rng.integers(0, 3))).tolist()]
    return pieces


def marked(name: str, made: Row, seed: int = 0, **masking) -> Row:
    chosen = ["masked-tokens", name] if name in ("span-boundary", "replaced-tokens") else [name]
    rng = np.random.default_rng(seed)
    for objective in make_objectives(chosen, Masking(**masking), VOCABULARY).values():
        objective.mark(made, rng)
    return made


# --- masks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("symbol", ["[MASK]", "[UNK]"])
def test_masked_pieces_are_hidden_in_the_shares_of_bert(symbol):
    made = marked("masked-tokens", row(np.random.default_rng(0).integers(5, 100, 20_000).tolist()), symbol=symbol)
    asked = made.noted["masked-tokens"]
    chosen = asked != IGNORED
    assert chosen.sum() == round(0.15 * 20_000) and not chosen[[0, -1]].any()
    assert np.array_equal(asked[chosen], made.original[chosen]) and np.array_equal(
        made.ids[~chosen], made.original[~chosen]
    )
    hidden = SPECIAL.mask if symbol == "[MASK]" else SPECIAL.unk
    shares = [(made.ids[chosen] == value).mean() for value in (hidden, made.original[chosen])]
    assert shares == pytest.approx([0.8, 0.1], abs=0.02)
    assert set(made.ids.tolist()) <= {*range(5, 100), hidden, SPECIAL.cls, SPECIAL.sep}


def word_of(made: Row) -> np.ndarray:
    return np.cumsum(~CONTINUES[made.original])


@pytest.mark.parametrize("unit", ["word", "span", "ngram"])
@pytest.mark.parametrize("seed", range(5))
def test_whole_words_are_masked_together(unit, seed):
    made = marked("masked-tokens", row(words(60, np.random.default_rng(seed))), seed, unit=unit)
    chosen, numbers = made.noted["masked-tokens"] != IGNORED, word_of(made)
    assert chosen.any() and not chosen[[0, -1]].any()
    assert all(len(set(chosen[numbers == number])) == 1 for number in set(numbers.tolist()))


def test_spans_are_the_longest_and_share_one_fate():
    def runs(unit):
        made = [marked("masked-tokens", row(list(range(5, 60)) * 2), seed, unit=unit) for seed in range(40)]
        return [
            (run.stop - run.start, set(m.ids[run] == SPECIAL.mask))
            for m in made
            for run in np.ma.clump_unmasked(np.ma.array(m.ids, mask=m.noted["masked-tokens"] == IGNORED))
        ]

    lengths = {unit: np.mean([length for length, _ in runs(unit)]) for unit in ("piece", "ngram", "span")}
    assert lengths["span"] > lengths["ngram"] > lengths["piece"]
    assert all(len(fates) == 1 for _, fates in runs("span"))
    assert any(len(fates) == 2 for _, fates in runs("ngram"))


def test_phrases_are_masked_together():
    flags = [BEGINS_PHRASE, 0, 0, BEGINS_PHRASE, BEGINS_PHRASE, 0, BEGINS_PHRASE]
    for seed in range(20):
        made = marked("masked-tokens", row(range(10, 17), flags), seed, unit="phrase", share=0.5)
        chosen = (made.noted["masked-tokens"] != IGNORED)[1:-1]
        assert len(set(chosen[:3])) == 1 and chosen[4] == chosen[5] and chosen.any()


def test_rare_pieces_are_masked_more_often_by_frequency():
    counts = np.ones(100)
    counts[10] = 100.0
    masker = MaskedTokens("masked-tokens", Masking(subsample=True), Vocabulary(SPECIAL, CONTINUES, counts))
    made, rng = row([10] * 20 + [11] * 20), np.random.default_rng(0)
    chosen = np.mean([masker.choose(made, rng) for _ in range(300)], axis=0)
    assert chosen[21:41].mean() > 5 * chosen[1:21].mean()


# --- what is asked --------------------------------------------------------------------------------------------------


def test_span_boundaries_are_those_of_the_pure_function():
    rows = [marked("span-boundary", row(words(30, np.random.default_rng(s))), s, unit="span") for s in range(3)]
    width = max(map(len, rows)) + 2
    made = make_objectives(["masked-tokens", "span-boundary"], Masking(), VOCABULARY)
    batch = made["masked-tokens"].collate(rows, width) | made["span-boundary"].collate(rows, width)
    expected = [
        (number * width + left, number * width + right, place)
        for number, r in enumerate(rows)
        for left, right, place in ob.span_boundaries(r.noted["masked-tokens"] != IGNORED)
    ]
    found = zip(*(batch[key].tolist() for key in ("span_left", "span_right", "span_place")), strict=True)
    assert list(found) == expected and len(expected) == len(batch["labels"])
    flat = np.stack([np.pad(r.original, (0, width - len(r))) for r in rows]).ravel()
    assert batch["labels"].tolist() == flat[batch["masked"]].tolist()


def test_trigrams_are_shuffled_and_nothing_else():
    made = row(range(5, 65))
    masked = make_objectives(["masked-tokens", "ngram-order"], Masking(), VOCABULARY)
    rng = np.random.default_rng(1)
    masked["masked-tokens"].mark(made, rng)
    before = made.ids
    masked["ngram-order"].mark(made, rng)
    asked = made.noted["ngram-order"]
    moved = asked != IGNORED
    assert moved.sum() == 3 and not (moved & (made.noted["masked-tokens"] != IGNORED)).any()
    assert np.ptp(np.flatnonzero(moved)) == 2 and np.array_equal(asked[moved], before[moved])
    assert sorted(made.ids[moved]) == sorted(before[moved]) and (made.ids[moved] != before[moved]).any()
    assert np.array_equal(made.ids[~moved], before[~moved])
    short = marked("ngram-order", row([7, 8]))
    assert (short.noted["ngram-order"] == IGNORED).all()


def test_capitals_are_asked_at_the_first_piece_of_a_word():
    made = marked("capitals", row([10, 70, 11, 12], [IN_CAPITALS, IN_CAPITALS, 0, IN_CAPITALS]))
    assert made.noted["capitals"].tolist() == [IGNORED, 1, IGNORED, 0, 1, IGNORED]


def test_a_permutation_sees_the_past_of_its_order_only():
    rows = [marked("permutation", row(range(10, 22)), 1), marked("permutation", row(range(10, 16)), 2)]
    task = make_objectives(["permutation"], Masking(), VOCABULARY)["permutation"]
    batch = task.collate(rows, 14)
    sees, n = batch["order_bias"][0, 0].numpy() == 0, len(rows[0])
    order = rows[0].noted["permutation"]
    context, predicted = order[:-2], order[-2:]
    before = ob.permutation_attention(order)
    for query, place in enumerate(predicted):
        assert np.array_equal(sees[n + query, :n], before[place]) and not sees[n + query, n:].any()
        assert sees[place, :n].tolist() == (before[place] | (np.arange(n) == place)).tolist()
    assert sees[np.ix_(context, context)].all() and not sees[np.ix_(context, predicted)].any()
    assert not sees[:n, n:].any()
    assert batch["order_ids"][0, n:].tolist() == [SPECIAL.mask] * 2
    assert batch["order_positions"][0, n:].tolist() == predicted.tolist()
    assert batch["order_labels"][:2].tolist() == rows[0].original[predicted].tolist()
    seen = batch["order_bias"] == 0
    assert seen.any(-1).all() and not seen[1, 0, :9, 9:].any()


# --- in the network -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    write_corpus(folder / "toy.txt")
    (folder / "pairs.tsv").write_text("".join(f"the dog saw {n}\tle chien vit {n}\n" for n in range(60)))
    lines = [f"{('bad', 'good')[n % 2]}\t{' '.join(STORIES[n % 3].split())}\n" for n in range(40)]
    (folder / "labels.tsv").write_text("".join(lines))
    return folder


def run_of(folder, steps: int = 24, **changes) -> Pretraining:
    base = {"layers": 2, "width": 32, "learning_rate": 5e-3, "matrix_learning_rate": None, "cooldown": 0, "batch": 3}
    return Pretraining(config(folder, **base, phases=[{"steps": steps, "length": 32}], **changes))


def test_a_query_is_predicted_without_its_own_piece(folder):
    """Exactness of the two streams in one BERT: other pieces at or after the predicted place change nothing there."""
    run = run_of(folder, objectives={"permutation": 1.0})
    objective, network = run.batches.objectives["permutation"], run.network.eval()
    made = row(range(10, 34))
    objective.mark(made, np.random.default_rng(0))
    other = row(range(10, 34))
    other.noted = made.noted
    first_predicted = objective._parts(made)[1][0]
    other.original = other.original.copy()
    other.original[objective._parts(made)[1]] = 50

    def scores(of: Row) -> torch.Tensor:
        batch = objective.collate([of], len(of))
        inputs = {"input_ids": "order_ids", "position_ids": "order_positions", "attention_mask": "order_bias"}
        states = network.model.bert(**{key: batch[name] for key, name in inputs.items()}).last_hidden_state
        return states[0, len(of) :]

    with torch.no_grad():
        assert torch.allclose(scores(made)[0], scores(other)[0], atol=1e-6), f"place {first_predicted} leaks"
        assert not torch.allclose(scores(made)[-1], scores(other)[-1], atol=1e-4), "the last sees the first predicted"


def test_replaced_tokens_are_false_where_they_differ(folder):
    run = run_of(folder, objectives={"masked-tokens": 1.0, "replaced-tokens": 50.0})
    batch = run.batches[0]
    seen = Pass(run.network, batch)
    filled, is_false = run.batches.objectives["replaced-tokens"].fill(seen)
    truth = batch["input_ids"].flatten().clone()
    truth[batch["masked"]] = batch["labels"]
    chosen = torch.zeros(len(truth), dtype=torch.bool)
    chosen[batch["masked"]] = True
    assert torch.equal(filled.flatten()[~chosen], truth[~chosen]), "only masks are filled"
    assert torch.equal(is_false.flatten(), filled.flatten() != truth), "a right proposal counts as original"
    again = run.batches.objectives["replaced-tokens"].fill(Pass(run.network, batch))
    assert torch.equal(filled, again[0]), "the draw belongs to the step"
    generator, model = run.network.heads["generator"], run.model
    assert generator.electra.embeddings is model.electra.embeddings
    assert generator.generator_lm_head.weight is model.electra.embeddings.word_embeddings.weight
    assert generator.config.hidden_size == model.config.hidden_size // 4


VARIANTS = {
    "bert": {},
    "dynamic": {"objectives": LM},
    "static": {"objectives": LM, "masking": {"copies": 2}},
    "words": {"objectives": LM, "masking": {"unit": "word"}},
    "phrases": {"objectives": LM, "masking": {"unit": "phrase"}},
    "ngrams": {"objectives": {**LM, "sentence-order": 1.0}, "masking": {"unit": "ngram"}},
    "spans": {"objectives": {**LM, "span-boundary": 1.0}, "masking": {"unit": "span"}},
    "unknown": {"objectives": LM, "masking": {"symbol": "[UNK]"}},
    "three-way": {"objectives": {**LM, "next-previous": 1.0}},
    "ernie": {"objectives": {**LM, "capitals": 1.0, "sentence-distance": 1.0}},
    "permutation": {"objectives": {"permutation": 1.0}},
    "order": {"objectives": {**LM, "ngram-order": 1.0}},
    "replaced": {"objectives": {**LM, "replaced-tokens": 50.0}},
    "streams": {"objectives": LM, "stream": True, "masking": {"subsample": True}},
    "shared": {"shared_layers": True, "embedding_width": 8, "objectives": {**LM, "sentence-order": 1.0}},
    "factorised": {"embedding_width": 8},
    "centred": {"cls_normalisation": True},
    "translations": {"objectives": LM, "corpora": {"toy": {"path": "pairs.tsv", "format": "parallel"}}},
    "labels": {"objectives": LM, "corpora": {"toy": {"path": "labels.tsv", "format": "labelled"}}},
}


def variant(folder, name: str) -> dict:
    changes = dict(VARIANTS[name])
    if "corpora" in changes:
        source = changes["corpora"]["toy"]
        changes["corpora"] = {"toy": {**source, "path": str(folder / source["path"])}}
        changes["work"] = str(folder / f"work-{name}")
    return changes


@pytest.mark.parametrize("name", VARIANTS)
def test_the_loss_of_every_objective_falls(folder, name):
    run = run_of(folder, **variant(folder, name))
    history = [run.train_step() for _ in range(24)]
    for objective in history[0]:
        first, last = (np.mean([float(h[objective]) for h in part]) for part in (history[:6], history[-6:]))
        least = 0.4 if objective in ("masked-tokens", "permutation", "ngram-order", "span-boundary") else 0.0
        # What the second segment is takes longer to learn than these steps.
        assert last < (1.5 if objective in ob.PAIR_TASKS else first - least), (name, objective)


def test_a_batch_without_masks_or_pairs_gives_no_nan(folder):
    run = run_of(folder, single_share=1.0)
    batch = run.batches[0]
    batch["masked"], batch["labels"] = batch["masked"][:0], batch["labels"][:0]
    losses = run.network(batch, ["masked-tokens", "next-sentence"])
    sum(losses.values()).backward()
    assert [loss.item() for loss in losses.values()] == [0, 0]
    assert all(torch.isfinite(p.grad).all() for p in run.network.parameters() if p.grad is not None)


def test_the_loss_of_masked_tokens_is_that_of_transformers(folder):
    run = run_of(folder)
    batch = run.batches[0]
    labels = torch.full(batch["input_ids"].shape, IGNORED).flatten()
    labels[batch["masked"]] = batch["labels"]
    relation = torch.full((len(batch["input_ids"]),), IGNORED)
    relation[batch["next-sentence-rows"]] = batch["next-sentence-labels"]
    keys = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    inputs = {key: batch[key] for key in keys}
    whole = run.model(**inputs, labels=labels.view_as(batch["input_ids"]), next_sentence_label=relation).loss
    assert sum(run.network(batch, ["masked-tokens", "next-sentence"]).values()).item() == pytest.approx(
        whole.item(), abs=1e-5
    )


def test_continual_training_adds_tasks_phase_by_phase(folder):
    phases = [
        {"steps": 2, "length": 32, "objectives": LM},
        {"steps": 2, "length": 32, "objectives": {**LM, "capitals": 1.0}},
        {"steps": 2, "length": 32, "objectives": {**LM, "capitals": 1.0, "sentence-distance": 1.0}},
    ]
    run = Pretraining(config(folder, phases=phases))
    assert [len(run.train_step()) for _ in range(6)] == [1, 1, 2, 2, 3, 3]


def test_padding_changes_no_loss(folder):
    run = run_of(folder, objectives={**LM, "permutation": 1.0})
    made = [run.batches.samplers[0].draw(np.random.default_rng(s))[0] for s in range(2)]
    for objective in run.batches.objectives.values():
        for number, r in enumerate(made):
            objective.mark(r, np.random.default_rng(number))

    def loss(rows):
        batch = collate(rows, run.batches.special)
        for objective in run.batches.objectives.values():
            batch |= objective.collate(rows, batch["input_ids"].shape[1])
        found = run.network.eval()(batch, list(run.batches.objectives))
        return found, batch

    (both, batch), singles = loss(made), [loss([r]) for r in made]
    for name, key in (("masked-tokens", "labels"), ("permutation", "order_labels")):
        weighted = sum(found[name].item() * len(one[key]) for found, one in singles) / len(batch[key])
        assert both[name].item() == pytest.approx(weighted, abs=1e-5)
