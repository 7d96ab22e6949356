"""ELECTRA's objective asked what it is for: which words were replaced, of what kind, and what its own vectors hold.

A discriminator and a masked model read as many pieces of the same generated text, one a seed (clark2020electra).
Depends on `engine_arms`, `tiny_pretraining.small_language`, `cloze` and linear probes.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import torch

from bertology_utils.activations import word_vectors
from bertology_utils.instruments.cloze import focus_preference, preferred
from bertology_utils.instruments.probes import encode_labels, probe_correctness, stack_words
from bertology_utils.language.grammar_trees import Sentence
from bertology_utils.language.pairs import MinimalPair
from bertology_utils.models import Specimen
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.runs import Runs
from bertology_utils.studies.training.engine_arms import Arm, train_with_filler
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.hidden_words import hidden_words
from bertology_utils.tuning.tiny_pretraining import agreement_pairs_of, small_language

PIECES = 600_000
READ, NEW = 6000, 1200  # sentences
KNOWN = 2000  # of those that were read, for rivals and probes to learn from
LONGEST = 14  # words, as many as an input has room for
RECIPE = {
    "inner": 128, "batch": 16, "matrix_learning_rate": 0.02, "phases": [{"steps": 8, "length": LONGEST + 2}],
}  # fmt: skip
OBJECTIVES = {
    "masks": {"objectives": {"masked-tokens": 1.0}},
    "replaced": {
        "objectives": {"masked-tokens": 1.0, "replaced-tokens": 50.0},
        "masking": {"hidden": 1.0, "replaced": 0.0},
        "learning_rate": 1e-3,
        "matrix_learning_rate": 0.01,
    },
}
"""The base, and what `configs/pretraining/compare/replaced-tokens.yaml` has of the study, at rates of its own: of those
tried on another seed the best for it, which at the base's rates learns next to nothing."""
TAGS = ("NOUN", "VERB", "ADJ", "AUX", "DET", "ADP", "PRON", "PROPN", "ADV")  # those of several words
Words = tuple[str, ...]
Texts = Sequence[Sequence[Sentence]]
Item = tuple[tuple[int, int], Hashable, str]  # a sentence and a word of it, its label, and what is new at the test


def of_seed(seed: int) -> tuple[Values, Values]:
    """What a seed's masked model, `masks`, and discriminator, `replaced`, know of new sentences.

    accuracy, f1: `detected` in draws of the trained generator; _majority, _word: those of its
    `rivals`. pair_: how often the right word is preferred to a wrong one, by kind of `wrong_words`. tag_, number_,
    role_: accuracies of probes on the vectors of a layer, the last one in the name; of the most usual label, _majority.
    The untrained are asked in the same draws.
    """
    rng = np.random.default_rng(seed)
    made = [s for s in small_language(READ + NEW, seed, drawn=True) if len(s.words) <= LONGEST]
    read, new = made[:-NEW], made[-NEW:]
    words = sorted({word for s in made for word in s.words})
    ends, fillers = {}, {}
    for name, changes in OBJECTIVES.items():
        arm = Arm([[s.words] for s in read], RECIPE | changes)
        ends[name], fillers[name] = train_with_filler(arm, words, PIECES, seed)
    texts = read[:KNOWN], new
    draws = [(corrupted(fillers["replaced"], own, rng), own) for own in ([s.words for s in part] for part in texts)]
    pairs, items = wrong_words(new, rng), [probed(part) for part in texts]

    def side(place: int) -> Values:
        models = {name: kept[place] for name, kept in ends.items()}
        found = detected(models["replaced"], *draws[1]) | rivals(*draws)
        for kind, own in pairs.items():
            found[f"pair_{kind}_masks"] = float(preferred(focus_preference(models["masks"], own)).mean())
            found[f"pair_{kind}_replaced"] = noticed(models["replaced"], own)
        for name, model in models.items():
            found |= _probes(model, texts, items, name, seed)
        return found

    return side(-1), side(0)


# ---------------------------------------------------------------- which words were replaced


@torch.no_grad()
def suspicion(specimen: Specimen, sentences: Sequence[Words]) -> list[np.ndarray]:
    """How false each word looks to a discriminator of whole words: logits (words,) of each sentence."""
    logits = specimen.model(**model_inputs(specimen, encode_words(specimen, sentences))).logits
    return [own[1 : 1 + len(words)].double().numpy() for own, words in zip(logits, sentences, strict=True)]


def corrupted(filler: Specimen, sentences: Sequence[Words], rng: np.random.Generator) -> list[Words]:
    """Each sentence with one word hidden and a draw of the filler in its place, which may be the same word."""
    places = np.array([[rng.integers(len(words))] for words in sentences])
    odds = hidden_words(filler, sentences, places)[0][:, 0].double().exp().numpy()
    drawn = filler.tokenizer.convert_ids_to_tokens([int(rng.choice(len(own), p=own / own.sum())) for own in odds])
    return [(*words[:at], new, *words[at + 1 :]) for words, (at,), new in zip(sentences, places, drawn, strict=True)]


def detected(specimen: Specimen, false: Sequence[Words], true: Sequence[Words]) -> Values:
    """accuracy: of calling each word with a positive score replaced, the others not; f1: `detection` by the scores."""
    scores, replaced = np.concatenate(suspicion(specimen, false)), _replaced(false, true)
    return {"accuracy": float(((scores > 0) == replaced).mean()), "f1": detection(scores, replaced)}


def detection(scores: np.ndarray, replaced: np.ndarray) -> float:
    """F1 of calling as many words replaced as are, the most suspicious ones, so that precision and recall are one.

    scores: (words,), equal ones in any order; replaced: booleans (words,), one of them at least.
    """
    count = int(replaced.sum())
    least = np.sort(scores)[-count]
    sure, tied = scores > least, scores == least
    return float((replaced[sure].sum() + replaced[tied].mean() * (count - sure.sum())) / count)


def rivals(read: tuple[Sequence[Words], Sequence[Words]], asked: tuple[Sequence[Words], Sequence[Words]]) -> Values:
    """Of who calls all words original, and of who knows how often each word was a replacement in what was read."""
    replaced, flat = _replaced(*asked), [word for words in asked[0] for word in words]
    seen = Counter(word for words in read[0] for word in words)
    wrong = Counter(np.array([word for words in read[0] for word in words])[_replaced(*read)].tolist())
    odds = np.array([(wrong[word] + 1) / (seen[word] + 2) for word in flat])
    accuracies = {"majority": 1 - replaced.mean(), "word": ((odds > 0.5) == replaced).mean()}
    return {f"accuracy_{name}": float(v) for name, v in accuracies.items()} | {"f1_word": detection(odds, replaced)}


def _replaced(false: Sequence[Words], true: Sequence[Words]) -> np.ndarray:
    return np.concatenate([np.array(own) != np.array(original) for own, original in zip(false, true, strict=True)])


# ---------------------------------------------------------------- by kind


def wrong_words(sentences: Sequence[Sentence], rng: np.random.Generator) -> dict[str, list[MinimalPair]]:
    """Sentences and the same with a wrong word: another noun of its number (`noun`) or a verb or adjective (`class`) in
    a noun's place, drawn from the text; a verb in its other number (`agreement`)."""
    words = [item for s in sentences for item in zip(s.words, s.upos, s.number, s.lemmas, strict=True)]
    made = {"noun": [], "class": [], "agreement": agreement_pairs_of(sentences)}
    for own in sentences:
        at = int(rng.choice([place for place, tag in enumerate(own.upos) if tag == "NOUN"] or [-1]))
        if at >= 0:
            alike = [w for w, *what, lemma in words if what == ["NOUN", own.number[at]] and lemma != own.lemmas[at]]
            others = [w for w, tag, *_ in words if tag in ("VERB", "ADJ")]
            for kind, options in (("noun", alike), ("class", others)):
                bad = (*own.words[:at], options[rng.integers(len(options))], *own.words[at + 1 :])
                made[kind].append(MinimalPair(own.words, bad, at, kind, {}))
    return made


def noticed(specimen: Specimen, pairs: Sequence[MinimalPair]) -> float:
    """How often a discriminator finds a wrong word more suspicious than the right one in its place; ties are a half."""
    good, bad = (suspicion(specimen, [getattr(pair, side) for pair in pairs]) for side in ("good", "bad"))
    gaps = np.array([own[p.focus] - other[p.focus] for own, other, p in zip(bad, good, pairs, strict=True)])
    return float(np.mean((gaps > 0) + 0.5 * (gaps == 0)))


# ---------------------------------------------------------------- what its vectors hold


def probed(sentences: Sequence[Sentence]) -> dict[str, list[Item]]:
    """Places and labels by task. tag: the class of a word; role: what a noun does; number: that of the subject, at a
    finite verb that has one form for both. New at the test are the word, the noun, and the subject."""
    found: dict[str, list[Item]] = {"tag": [], "number": [], "role": []}
    for i, own in enumerate(sentences):
        for at, (word, tag, role, lemma) in enumerate(zip(own.words, own.upos, own.roles, own.lemmas, strict=True)):
            if tag in TAGS:
                found["tag"].append(((i, at), tag, word))
            if tag == "NOUN" and role:
                found["role"].append(((i, at), role, lemma))
        focus, subject = own.features["focus"], own.features["subject"]
        if own.upos[subject] == "NOUN" and own.number[focus] is None:
            found["number"].append(((i, focus), own.features["subject_number"], own.lemmas[subject]))
    return found


def _probes(specimen: Specimen, texts: Texts, items: Sequence[dict[str, list[Item]]], name: str, seed: int) -> Values:
    vectors = [word_vectors(specimen, [s.words for s in part]) for part in texts]
    found = {}
    for task in items[0]:
        parts = new_words(*(own[task] for own in items), seed)
        (learnt, asked), labels = (
            [stack_words(own, [place for place, *_ in part])[1:] for own, part in zip(vectors, parts, strict=True)],
            [[label for _, label, _ in part] for part in parts],
        )
        classes, answers, _ = encode_labels(*labels)
        right = probe_correctness(learnt, classes, asked, answers, seed=seed).mean((1, 2))
        found |= {f"{task}_{name}_{layer}": float(value) for layer, value in enumerate(right, 1)}
        found[f"{task}_majority"] = float((answers == np.bincount(classes).argmax()).mean())
    return found


def new_words(known: Sequence[Item], asked: Sequence[Item], seed: int) -> tuple[list[Item], list[Item]]:
    """The items of one half of the words, to learn from, and those of the other half, to be asked."""
    words = sorted({word for *_, word in known})
    half = set(np.random.default_rng(seed).permutation(words)[: len(words) // 2].tolist())
    return [item for item in known if item[2] in half], [item for item in asked if item[2] not in half]


# ---------------------------------------------------------------- shown

QUESTIONS = {
    "another noun": "pair_noun_{}",
    "no noun": "pair_class_{}",
    "wrong number": "pair_agreement_{}",
    "probe: tags": "tag_{}_2",
    "probe: number": "number_{}_2",
    "probe: roles": "role_{}_2",
}


def by_question(runs: Runs) -> dict[str, dict[str, np.ndarray]]:
    """{question: {masked model, discriminator, untrained discriminator: shares right, (seeds, 1)}}, recorded."""
    return {
        asked: {
            "masks": runs.model[sample.format("masks")],
            "discriminator": runs.model[sample.format("replaced")],
            "untrained": runs.twin[sample.format("replaced")],
        }
        for asked, sample in QUESTIONS.items()
    }


EXPERIMENTS = {"replaced-words": one_by_one(of_seed, NEW)}
