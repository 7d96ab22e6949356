"""Facts read from a masked language model: relations under many prompts, prompt ensembles, triples, invented names.

Depends on `facts` and `lama` (what is asked), `cloze` (scores at a mask) and scikit-learn; `crossed` holds the tests
that need two contexts. Every choice between prompts is made on one half of the facts and measured on the other, both
ways round; candidates are compared less their mean over the facts, because a frequent one would win everywhere.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

import numpy as np
import torch
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from bertology_utils.data import lama
from bertology_utils.data.material import EMBEDDED
from bertology_utils.errors import BertologyError, NotAskable
from bertology_utils.instruments.cloze import (
    compare_distributions,
    masked_distributions,
    single_piece,
    word_log_probability,
)
from bertology_utils.language.facts import RELATIONS, Fact, InventedPerson, Prompt, facts, nameless_people
from bertology_utils.models import Specimen
from bertology_utils.samples import by_unit
from bertology_utils.tokenizing import pieces_of

# Ways to say a sentence again without touching its slots (after jiang2019how, whose paraphrases are back-translations).
WAYS = 8  # to halve the answers on which prompts are chosen
REWRITES = ("{}", "we know that {}", "it is true that {}", "in fact , {}", "people say that {}")
ASKED = tuple(relation for relation in RELATIONS if relation != "size")


@dataclass(frozen=True)
class RelationScores:
    """One relation under all its prompts.

    `log_probabilities` (prompts, facts, candidates) in nats; `answers` (facts,) indices of the true candidate;
    `prompts` the templates, the hand-written first one at index 0; `coverage` the share of facts that can be asked.
    """

    relation: str
    facts: tuple[Fact, ...]
    candidates: tuple[str, ...]
    prompts: tuple[str, ...]
    log_probabilities: np.ndarray
    answers: np.ndarray
    coverage: float

    @property
    def raw_hits(self) -> np.ndarray:
        """Booleans (prompts, facts): the true object is the most probable candidate (P@1 of petroni2019language)."""
        return self.log_probabilities.argmax(-1) == self.answers

    @property
    def hits(self) -> np.ndarray:
        """The same of `calibrated` scores: no candidate wins by being frequent, booleans (prompts, facts)."""
        return self.calibrated.argmax(-1) == self.answers

    @property
    def calibrated(self) -> np.ndarray:
        """Scores less each candidate's mean over the facts: what the subject adds (after davison2019commonsense)."""
        return self.log_probabilities - self.log_probabilities.mean(axis=1, keepdims=True)

    @property
    def majority(self) -> np.ndarray:
        """Booleans (facts,): the most frequent object of the relation's other facts, `halves`, would be right."""
        right = np.zeros(len(self.answers), dtype=bool)
        for development, test in halves(len(self.answers)):
            counts = Counter(self.answers[development].tolist()).most_common(1)
            right[test] = [bool(counts) and answer == counts[0][0] for answer in self.answers[test]]
        return right


def rewrite(prompt: Prompt, frame: str) -> Prompt:
    """The prompt inside one of REWRITES, its mask found again."""
    words = tuple(frame.format(" ".join(prompt.words)).split())
    return Prompt(words, words.index("[MASK]"), prompt.answer, prompt.candidates, frame.format(prompt.template))


def paraphrases(fact: Fact, rewrites: Sequence[str] = REWRITES) -> list[Prompt]:
    """Every hand-written template of the fact's relation in every frame, the plain ones first."""
    return [rewrite(prompt, frame) for frame in rewrites for prompt in fact.prompts()]


def asked(specimen: Specimen, source: str = EMBEDDED) -> list[str]:
    """The relations of a source that a specimen can be asked: some facts of at least two objects it knows as one piece.

    Of the book's own, which are small, those with four facts for this vocabulary; of LAMA's, those with ten.
    """
    relations, fewest = (ASKED, 4) if source == EMBEDDED else (lama.relations(), 10)
    chosen = []
    for relation in relations:
        every, known = _facts_and_known(specimen, relation, source)
        if len(known) >= 2 and sum(fact.object in known for fact in every) >= fewest:
            chosen.append(relation)
    return chosen


def _facts_and_known(specimen: Specimen, relation: str, source: str) -> tuple[list[Fact], tuple[str, ...]]:
    """All facts of a relation, and those of its candidates that the specimen knows as one piece."""
    every = facts(relation) if source == EMBEDDED else lama.facts(relation)
    return every, tuple(word for word in every[0].candidates if single_piece(specimen, word) is not None)


def relation_scores(
    specimen: Specimen,
    relation: str,
    rewrites: Sequence[str] = REWRITES,
    limit: int | None = None,
    source: str = EMBEDDED,
    seed: int = 0,
) -> RelationScores:
    """Scores of all candidates for `limit` facts of a relation, drawn with a seed, under every template and frame.

    Candidates that are not one known piece are dropped, with the facts that they answer (petroni2019language asks for
    single pieces too). `source`: the book's own facts or LAMA's. Raises BertologyError for "size", whose candidates
    differ by template, and where fewer than two candidates are left.
    """
    if source == EMBEDDED and relation not in ASKED:
        raise BertologyError(f"'{relation}' cannot be asked with one candidate list; choose one of {', '.join(ASKED)}.")
    pool, candidates = _facts_and_known(specimen, relation, source)
    if source == EMBEDDED:
        pool = _spread(pool, limit, seed)
    chosen = tuple(fact for fact in pool if fact.object in candidates)
    if source != EMBEDDED:  # many objects are no single piece, so the limit counts the facts that can be asked
        chosen = tuple(_spread(chosen, limit, seed))
    if len(candidates) < 2 or not chosen:
        raise NotAskable(f"{specimen.name} knows fewer than two candidates of '{relation}' as one piece.")
    columns = list(zip(*(paraphrases(fact, rewrites) for fact in chosen), strict=True))  # prompts x facts
    flat = [prompt for column in columns for prompt in column]
    scores = word_log_probability(specimen, [p.words for p in flat], [p.focus for p in flat], [candidates] * len(flat))
    values = scores.log_probabilities.reshape(len(columns), len(chosen), len(candidates))
    templates = tuple(column[0].template for column in columns)
    answers = np.array([candidates.index(fact.object) for fact in chosen])
    coverage = sum(fact.object in candidates for fact in pool) / len(pool)
    return RelationScores(relation, chosen, candidates, templates, values, answers, coverage)


def _spread(every: Sequence[Fact], limit: int | None, seed: int = 0) -> list[Fact]:
    """`limit` facts in a random order, so that a cut keeps all the objects mixed."""
    return Random(seed).sample(every, min(limit or len(every), len(every)))


def vocabulary_ranks(specimen: Specimen, scores: RelationScores) -> np.ndarray:
    """How many pieces of the whole vocabulary are likelier than the true object, (facts,), hand-written prompt.

    The share of ranks below k is P@k.
    """
    prompts = [fact.prompts()[0] for fact in scores.facts]
    found = masked_distributions(specimen, [prompt.words for prompt in prompts])
    own = torch.tensor([[single_piece(specimen, fact.object)] for fact in scores.facts])
    return (found > found.gather(1, own)).sum(1).numpy()


# --- choosing and combining prompts ---------------------------------------------------------------------------------


def halves(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(development, test) indices, twice with changed roles, so that every item is tested once."""
    even, odd = np.arange(0, n, 2), np.arange(1, n, 2)
    return [(even, odd), (odd, even)]


def halves_by_answer(answers: np.ndarray, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """`halves` that share no answer and are about equally large; those of the indices where there is one answer only.

    A prompt that likes one object would otherwise win on both sides. Answers go to the smaller side, most frequent
    first, equally frequent ones by the seed: (facts,) -> two pairs of (development, test) indices.
    """
    sides: tuple[list[int], list[int]] = ([], [])
    shuffled = np.random.default_rng(seed).permutation(answers)
    for answer, _ in Counter(shuffled.tolist()).most_common():
        min(sides, key=len).extend(np.flatnonzero(answers == answer))
    one, other = (np.array(sorted(side), dtype=int) for side in sides)
    return [(one, other), (other, one)] if len(other) else halves(len(answers))


def prompt_study(scores: RelationScores) -> dict[str, np.ndarray]:
    """Hits (facts,) of the hand-written, the best, the median prompt, and an ensemble; beside them two baselines.

    The baselines are the relation's most frequent object (`majority`) and what a `guess` among its candidates hits.
    Scores are `calibrated`; `manual_raw` is the hand-written prompt's as the model gives it.

    Best and median are chosen by P@1 on facts with other answers (ties: by the mean log probability of the answers), in
    several ways to halve the answers, over which a fact's hit is averaged: which one it was is no part of the result.
    The ensemble averages the candidates' probabilities with weights proportional to the development P@1, a plain form
    of the weighted ensemble of jiang2019how.
    """
    hits = scores.hits
    out = {name: np.zeros(len(scores.facts)) for name in ("best_template", "median_template", "ensemble")}
    for development, test in (half for way in range(WAYS) for half in halves_by_answer(scores.answers, way)):
        order = _ranked(scores, development)
        out["best_template"][test] += hits[order[-1], test] / WAYS
        out["median_template"][test] += hits[order[len(order) // 2], test] / WAYS
        weights = hits[:, development].sum(1) + 1
        out["ensemble"][test] += _ensemble_hits(scores, weights, test) / WAYS
    guess = np.full(len(scores.facts), 1 / len(scores.candidates))
    plain = {"manual": hits[0], "manual_raw": scores.raw_hits[0], "majority": scores.majority}
    return {**out, **{name: values.astype(float) for name, values in plain.items()}, "guess": guess}


def _ranked(scores: RelationScores, development: np.ndarray) -> np.ndarray:
    """Prompt indices from worst to best on the development facts."""
    shares = _shares(scores)[:, development]
    likelihood = np.log(shares[:, np.arange(len(development)), scores.answers[development]]).mean(1)
    return np.lexsort((likelihood, scores.hits[:, development].mean(1)))


def _ensemble_hits(scores: RelationScores, weights: np.ndarray, test: np.ndarray) -> np.ndarray:
    mixture = np.einsum("p,pfc->fc", weights / weights.sum(), _shares(scores)[:, test])
    return mixture.argmax(-1) == scores.answers[test]


def _shares(scores: RelationScores) -> np.ndarray:
    """Calibrated scores as probabilities over the candidates, (prompts, facts, candidates)."""
    return softmax(scores.calibrated, axis=-1)


def consistency(scores: RelationScores) -> np.ndarray:
    """For each fact, the share of prompt pairs that give the same answer, (facts,); 1 if the wording never matters."""
    answers = scores.calibrated.argmax(-1)  # (prompts, facts)
    return np.mean([answers[i] == answers[j] for i, j in combinations(range(len(answers)), 2)], axis=0)


def fact_samples(found: Sequence[RelationScores]) -> dict[str, np.ndarray]:
    """`prompt_study` and `consistency` of several relations: name -> (relations,), as `over_relations` makes them."""
    return over_relations([{**prompt_study(scores), "consistency": consistency(scores)} for scores in found])


def over_relations(studies: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The facts of several relations as samples over the relations (`samples.by_unit`): name -> (relations,).

    The facts of a relation share its prompts and are right or wrong together; the mean stays that of the facts.
    """
    units = [str(relation) for relation, study in enumerate(studies) for _ in next(iter(study.values()))]
    return {name: by_unit(values, units) for name, values in joined(studies).items()}


def joined(studies: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The samples of several relations end to end: name -> (all facts,)."""
    return {name: np.concatenate([study[name] for study in studies]) for name in studies[0]}


# --- negation and priming -------------------------------------------------------------------------------------------


def negation_effect(
    specimen: Specimen, relation: str, limit: int | None = None, source: str = EMBEDDED
) -> dict[str, np.ndarray]:
    """What "not" changes at the mask, (facts,): `top1_agreement` and `spearman` of kassner2020negated."""
    if source == EMBEDDED:
        chosen = [(fact.prompts()[0], fact.prompts(negated=True)) for fact in _spread(facts(relation), limit)]
        same = [(plain, negated[0]) for plain, negated in chosen if negated and negated[0].template == plain.template]
        pairs = [(plain.words, negated.words) for plain, negated in same]
    else:
        pairs = lama.negations(relation, limit)
    if not pairs:
        raise BertologyError(f"The first template of '{relation}' cannot be negated.")
    both = [masked_distributions(specimen, [pair[side] for pair in pairs]) for side in (0, 1)]
    compared = compare_distributions(*both, measures=("top1_agreement", "spearman"))
    return {name: np.asarray(values, dtype=float) for name, values in compared.items()}


def mispriming_effect(
    specimen: Specimen, scores: RelationScores, seed: int = 0, source: str = EMBEDDED
) -> dict[str, np.ndarray]:
    """Raw hits of the hand-written prompt (facts,): `plain`, `misprimed` by "wrong answer ? " before it, and whether
    the prime is the guess. The book's own facts are answered among the candidates, kassner2020negated's, with any word
    as the prime, among all pieces."""
    if source != EMBEDDED:
        return _misprimed_lama(specimen, scores.relation, len(scores.facts), seed)
    random = Random(seed)
    prompts = [fact.prompts()[0] for fact in scores.facts]
    primes = [random.choice([word for word in scores.candidates if word != fact.object]) for fact in scores.facts]
    words = [(prime, "?", *prompt.words) for prime, prompt in zip(primes, prompts, strict=True)]
    found = word_log_probability(specimen, words, [p.focus + 2 for p in prompts], [scores.candidates] * len(words))
    answers = found.log_probabilities.argmax(-1)
    wrong = np.array([scores.candidates.index(prime) for prime in primes])
    return {
        "plain": scores.raw_hits[0].astype(float),
        "misprimed": (answers == scores.answers).astype(float),
        "gives_the_prime": (answers == wrong).astype(float),
    }


def _misprimed_lama(specimen: Specimen, relation: str, limit: int, seed: int) -> dict[str, np.ndarray]:
    asked = [row for row in lama.misprimings(relation, seed=seed) if single_piece(specimen, row[0]) is not None][:limit]
    if not asked:
        return {name: np.zeros(0) for name in ("plain", "misprimed", "gives_the_prime")}
    answers = np.array([single_piece(specimen, answer) for answer, *_ in asked])
    primes = np.array([single_piece(specimen, words[0]) or -1 for *_, words in asked])
    sides = ([row[side] for row in asked] for side in (1, 2))
    plain, misprimed = (masked_distributions(specimen, side).argmax(-1).numpy() for side in sides)
    found = {"plain": plain == answers, "misprimed": misprimed == answers, "gives_the_prime": misprimed == primes}
    return {name: values.astype(float) for name, values in found.items()}


# --- triples of unseen entities -------------------------------------------------------------------------------------


def triple_ranking(
    specimen: Specimen, scores: RelationScores, corrupted: int | None = None, seed: int = 0
) -> dict[str, np.ndarray]:
    """True against corrupted triples: for each fact the share of wrong objects ranked below the true one (its AUC).

    `mlm` ranks by the calibrated cloze score averaged over prompts; nothing is trained, so all subjects are unseen.
    `classifier_*` is a logistic regression on the model's own word vectors, trained on one half of the
    subjects; "seen" are those, "unseen" the other half. It trains on `corrupted` wrong objects of a fact, or on all,
    and always ranks all, each object less its mean over the facts, as with the cloze: an object that stands once is
    true in training or never. After davison2019commonsense; values (facts,).
    """
    cloze = _below(scores.calibrated.mean(0), scores.answers)
    out = {name: np.zeros(len(scores.facts)) for name in ("classifier_seen", "classifier_unseen")}
    features = _triple_features(specimen, scores)
    kept = _drawn(scores, corrupted, seed)
    for train, test in halves(len(scores.facts)):
        labels = np.eye(len(scores.candidates), dtype=int)[scores.answers[train]]
        model = LogisticRegression(class_weight="balanced", max_iter=300)
        model.fit(features[train][kept[train]], labels[kept[train]])
        ranked = model.decision_function(features.reshape(-1, features.shape[-1])).reshape(features.shape[:2])
        below = _below(ranked - ranked.mean(0), scores.answers)
        out["classifier_seen"][train], out["classifier_unseen"][test] = below[train], below[test]
    return {"mlm": cloze, **out}


def _drawn(scores: RelationScores, corrupted: int | None, seed: int) -> np.ndarray:
    """Booleans (facts, candidates): each fact's true object and at most `corrupted` random others."""
    order = np.random.default_rng(seed).random((len(scores.facts), len(scores.candidates)))
    order[np.arange(len(order)), scores.answers] = -1
    return order.argsort(1).argsort(1) <= (len(scores.candidates) if corrupted is None else corrupted)


def _below(values: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Share of the other candidates below the true one, ties half: (facts, candidates), (facts,) -> (facts,)."""
    true = values[np.arange(len(values)), answers][:, None]
    below = (values < true).sum(1) + ((values == true).sum(1) - 1) / 2
    return below / (values.shape[1] - 1)


def _triple_features(specimen: Specimen, scores: RelationScores) -> np.ndarray:
    """Input vectors of subject and object and their product, (facts, candidates, 3 * width)."""
    table = specimen.model.get_input_embeddings().weight.detach().numpy()
    subjects = np.stack([_static(specimen, table, fact.subject) for fact in scores.facts])
    objects = np.stack([_static(specimen, table, word) for word in scores.candidates])
    scale = table.std()
    s = np.repeat(subjects[:, None] / scale, len(objects), axis=1)
    o = np.repeat(objects[None] / scale, len(subjects), axis=0)
    return np.concatenate([s, o, s * o], axis=-1)


def _static(specimen: Specimen, table: np.ndarray, word: str) -> np.ndarray:
    return table[pieces_of(specimen.tokenizer, [word])].mean(0)


# --- names ----------------------------------------------------------------------------------------------------------


def name_guesses(specimen: Specimen, people: Sequence[InventedPerson], told: str = "nothing") -> np.ndarray:
    """The country that is guessed for each person by its language, as an index into `person.candidates`, (people,).

    `told` puts something before the question: the planted "birthplace", or the "answer" itself. Each candidate's mean
    over all people is taken off first, so a model that always prefers one country guesses by the name or not at all.
    All candidates must be single pieces.
    """
    prompts = [person.prompts("language")[0] for person in people]
    before = {"nothing": lambda person, prompt: (), "birthplace": lambda person, prompt: person.statement(),
              "answer": lambda person, prompt: filled(prompt)}[told]  # fmt: skip
    prefixes = [before(person, prompt) for person, prompt in zip(people, prompts, strict=True)]
    words = [(*prefix, *prompt.words) for prefix, prompt in zip(prefixes, prompts, strict=True)]
    places = [len(prefix) + prompt.focus for prefix, prompt in zip(prefixes, prompts, strict=True)]
    scores = word_log_probability(specimen, words, places, [prompt.candidates for prompt in prompts]).log_probabilities
    if np.isnan(scores).any():
        raise NotAskable(f"{specimen.name} does not know every language of the names test as one piece.")
    return (scores - scores.mean(0)).argmax(1)


def filled(prompt: Prompt) -> tuple[str, ...]:
    """The sentence of a prompt with its answer in the place of the mask."""
    return (*prompt.words[: prompt.focus], prompt.answer, *prompt.words[prompt.focus + 1 :])


def names_test(
    specimen: Specimen, congruent: Sequence[InventedPerson], incongruent: Sequence[InventedPerson]
) -> dict[str, np.ndarray]:
    """Does the name or the fact decide? Samples (names,), after the names test of poerner2019bert.

    `style`: with nothing told, the guess is that of the name; `constant`: one answer for everybody would be right;
    `congruent`, `incongruent`: with the birthplace told before, the guess fits it; `misled`: it is the name's although
    the sentence said otherwise. `told` is the positive control, (nouns,): the answer is told, of `nameless_people`.
    The people of both lists must share names, in one order, and one candidate list. People share their first names and
    surnames, so those are the units (`samples.by_unit`).
    """
    styles = np.array([person.candidates.index(person.style) for person in congruent])
    truths = [np.array([p.candidates.index(p.country) for p in group]) for group in (congruent, incongruent)]
    untold = name_guesses(specimen, congruent)
    agreeing, clashing = (name_guesses(specimen, group, "birthplace") for group in (congruent, incongruent))
    samples = {
        "style": untold == styles,
        "constant": styles == np.bincount(styles).argmax(),
        "congruent": agreeing == truths[0],
        "incongruent": clashing == truths[1],
        "misled": clashing == styles,
    }
    names = [person.name.split() for person in congruent]
    return {name: by_unit(values, names) for name, values in samples.items()} | {"told": told_language(specimen)}


def told_language(specimen: Specimen) -> np.ndarray:
    """Whether an answer told of somebody without a name is given back, (nouns,): "the guest speaks greek ." twice."""
    people = nameless_people()
    truths = np.array([person.candidates.index(person.country) for person in people])
    right = name_guesses(specimen, people, "answer") == truths
    return by_unit(right, [person.name for person in people])
