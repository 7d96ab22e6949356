"""Universal triggers: a few words without meaning that, put before any input, change a classifier's mind.

After wallace2019universal: gradient-guided search over the vocabulary (first-order, word by word). Depends on
`training` (the classifier) and `text`. The encoder is frozen here and only the linear head is trained, so that the
attack costs seconds.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from bertology_utils.data import material
from bertology_utils.data.material import EMBEDDED
from bertology_utils.models import Specimen
from bertology_utils.studies.syntax.probing import two_questions
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.training import Classifier, Examples, finetune, predict, run_seeds

Words = tuple[str, ...]


def trigger_attack(
    specimen: Specimen,
    train: int,
    test: int,
    seed: int = 0,
    seeds: int = 8,
    length: int = 3,
    rounds: int = 1,
    draws: int = 4,
    source: str = EMBEDDED,
) -> dict[str, object]:
    """Attack classifiers that tell sentences about animals from sentences about people, or what `source` labels.

    Samples `(seeds, test // 2)`: `accuracy` (test items of the attacked class that are right without a trigger),
    `triggered` and `random`: items taken for the other class behind the trigger, or behind random strings of as many
    words (mean over `draws`). `triggers` lists what was found. The trigger is sought on training sentences, and holds
    no word of any sentence here. Every second seed attacks the other class.
    """
    examples = [
        _examples(n, 2 * seed + i, split, source) for i, (n, split) in enumerate(((train, "train"), (test, "test")))
    ]
    allowed = candidate_words(specimen, {word for part in examples for s in part.sentences for word in s})
    found: dict[str, list] = {"accuracy": [], "triggered": [], "random": [], "triggers": []}
    for index, place in enumerate(run_seeds(seed, seeds)):
        tuned = finetune(specimen, *examples, place, freeze="encoder")
        source, rng = index % 2, np.random.default_rng(place)
        known, unseen = ([s for s, y in zip(e.sentences, e.labels, strict=True) if y == source] for e in examples)
        trigger = find_trigger(tuned.classifier, specimen, known[:16], 1 - source, allowed, rng, length, rounds)
        strings = [tuple(rng.choice(list(allowed), length).tolist()) for _ in range(draws)]
        clean = flipped(tuned.classifier, specimen, unseen, 1 - source, ())
        found["accuracy"].append(1 - clean)
        found["triggered"].append(flipped(tuned.classifier, specimen, unseen, 1 - source, trigger))
        noise = [flipped(tuned.classifier, specimen, unseen, 1 - source, string) for string in strings]
        found["random"].append(np.mean(noise, axis=0))
        found["triggers"].append(" ".join(trigger))
    return {name: values if name == "triggers" else np.stack(values) for name, values in found.items()}


def _examples(n: int, seed: int, split: str, source: str) -> Examples:
    """`n` sentences, half of them of either class."""
    if source == EMBEDDED:
        words, labels = two_questions(n, seed, split)
        return Examples(words, labels["lexical"].tolist())
    rows = [(tuple(row.text.split()), int(row.label)) for row in material.rows(source, split)]
    readable = [[row for row in rows if row[1] == label and material.fits(row[0])] for label in (0, 1)]
    drawn = [row for part in readable for row in material.draw(part, n // 2, seed)]
    return Examples([words for words, _ in drawn], [label for _, label in drawn])


def candidate_words(specimen: Specimen, excluded: set[str]) -> dict[str, int]:
    """Whole lower-case words of the vocabulary that are a single piece each, with its id; without the excluded ones."""
    pieces = specimen.tokenizer.convert_ids_to_tokens(range(specimen.vocabulary_size))
    bare = {piece.lstrip("Ġ▁") for piece in pieces if piece}  # there is none where the tokenizer knows fewer pieces
    words = sorted(word for word in bare - excluded if word.isalpha() and word.islower() and len(word) > 2)
    split = specimen.tokenizer([[w] for w in words], is_split_into_words=True, add_special_tokens=False)["input_ids"]
    return {word: ids[0] for word, ids in zip(words, split, strict=True) if len(ids) == 1}


def find_trigger(
    classifier: Classifier,
    specimen: Specimen,
    sentences: Sequence[Words],
    target: int,
    allowed: Mapping[str, int],
    rng: np.random.Generator,
    length: int = 3,
    rounds: int = 1,
    beam: int = 4,
) -> Words:
    """The words that push all sentences towards class `target`, changed one at a time.

    For each place the `beam` words are tried whose embeddings lower the loss most by the gradient; the best one stays
    if it is better than what stood there. `allowed` maps words to their piece ids.
    """
    words = list(allowed)
    table = classifier.encoder.get_input_embeddings().weight.detach()[list(allowed.values())]
    trigger = [words[i] for i in rng.integers(len(words), size=length)]
    best = trigger_loss(classifier, specimen, sentences, target, trigger)
    for step in range(rounds * length):
        place = step % length
        slope = embedding_gradient(classifier, specimen, sentences, target, trigger)[place]
        for choice in (-(table @ slope)).topk(beam).indices.tolist():
            changed = [*trigger[:place], words[choice], *trigger[place + 1 :]]
            loss = trigger_loss(classifier, specimen, sentences, target, changed)
            if loss < best:
                trigger, best = changed, loss
    return tuple(trigger)


def embedding_gradient(
    classifier: Classifier, specimen: Specimen, sentences: Sequence[Words], target: int, trigger: Sequence[str]
) -> torch.Tensor:
    """Gradient of the mean loss towards `target` at the embedding of each trigger word: `(length, width)`."""
    encodings = encode_words(specimen, [(*trigger, *s) for s in sentences])
    kept: list[torch.Tensor] = []
    with classifier.encoder.get_input_embeddings().register_forward_hook(lambda m, a, out: kept.append(out)):
        logits = classifier(**model_inputs(specimen, encodings))
    loss = torch.nn.functional.cross_entropy(logits, torch.full((len(sentences),), target))
    gradient = torch.autograd.grad(loss, kept[0])[0]  # (sentences, pieces, width)
    first = encodings[0].word_ids.index(0)
    return gradient[:, first : first + len(trigger)].sum(0)


@torch.no_grad()
def trigger_loss(classifier, specimen, sentences, target: int, trigger: Sequence[str]) -> float:
    """Mean cross-entropy towards `target` with the trigger in front."""
    inputs = model_inputs(specimen, encode_words(specimen, [(*trigger, *s) for s in sentences]))
    return float(torch.nn.functional.cross_entropy(classifier(**inputs), torch.full((len(sentences),), target)))


def flipped(classifier, specimen, sentences: Sequence[Words], target: int, trigger: Sequence[str]) -> np.ndarray:
    """Which sentences are taken for class `target` with the trigger in front: 0/1 `(sentences,)`."""
    examples = Examples([(*trigger, *s) for s in sentences], [target] * len(sentences))
    return (predict(classifier, specimen, examples).argmax(1) == target).astype(float)
