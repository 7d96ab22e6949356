"""The experiment on adapters in a frozen English body that is to read a twin of another word order.

Depends on `carried_over` (new embeddings), `side_by_side` (texts and measures) and `regimens` (adapters). No change of
places alone gives the twin the order of English, since which word moves depends on its class: the body meets a grammar
that it does not know, as it would in a natural language.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from bertology_utils.instruments.blocks import encoder_layers
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import parallel_tasks as tasks
from bertology_utils.studies.mbert import side_by_side as lab
from bertology_utils.studies.mbert.carried_over import read_twin, started
from bertology_utils.studies.mbert.side_by_side import LEXICON, SAME, Models, Texts, Values
from bertology_utils.tuning.regimens import adapt
from bertology_utils.tuning.two_languages import TwinLanguage

STEPS = 150
SIZE, ABOVE = 5, 22  # a sixth of the width, four times, as artetxe2019crosslingual; as many parameters in one adapter
NEW = "word_embeddings|position_embeddings|adapter"  # what is trained of a reader
TAGS = {word: tag for tag, words in LEXICON.items() for word in words.split()}


class VerbLast(TwinLanguage):
    """A twin with its verbs last and its adjectives behind their nouns."""

    def order(self, sentence: Sequence[str]) -> Sequence[int]:
        """Which word stands at each place of the translation."""
        tags = [TAGS[word] for word in sentence]

        def place(word: int) -> float:
            if tags[word] == "ADJ":
                return tags.index("NOUN", word) + 0.5
            return len(tags) - 1.5 if tags[word] == "VERB" else word

        return sorted(range(len(tags)), key=place)


def adapters(seeds: Sequence[int]) -> Runs:
    """A twin of another order read by a frozen English body with new embeddings, with and without adapters.

    loss_*: nats on the twin; tags_*: tags right of its words, by a tagger of English; of the arms plain, adapters and
    above, which has one adapter as large as all in the head (artetxe2019crosslingual). same_tags_*, same_loss_*: of a
    twin with the order of English. loss_english: of the body on English.
    """
    texts, same = ([lab.draw(seed, language) for seed in seeds] for language in (VerbLast(), SAME))
    body, _ = tasks.train(lab.untrained(texts), [replace(own, foreign=[]) for own in texts], tasks.alone)

    def measure(of: tuple[Models, Models], read: Sequence[Texts] = texts) -> Values:
        models, readers = of
        return {"loss": lab.losses(models, read, readers, ["twin"]), "tags": lab.tags(models, read, readers=readers)}

    arms = {name: (body, carry(body, texts, name)) for name in ("plain", "adapters", "above")}
    control = lab.known(body, texts, new=False) | {"loss_english": lab.losses(body, texts, sides=["english"])}
    for name in ("plain", "adapters"):
        found = measure((body, carry(body, same, name)), same)
        control |= {f"same_{what}_{name}": values for what, values in found.items()}
    blank = lab.untrained(texts)
    return lab.compared(arms, (blank, blank), measure, control)


def carry(body: Models, texts: Sequence[Texts], arm: str) -> Models:
    """Copies of English models whose new embeddings, and adapters if any, have read the twin."""
    readers = started(body, texts, "random")
    for model, own in zip(readers, texts, strict=True):
        blocks = [dense for block in encoder_layers(model.encoder) for dense in (block.attention.output, block.output)]
        places = {"plain": [], "adapters": blocks, "above": [model.model.cls.predictions.transform]}[arm]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(own.seed)
            for place in places:
                adapt(place.dense, ABOVE if arm == "above" else SIZE)
    return read_twin(readers, texts, STEPS, NEW)


EXPERIMENTS = {"adapters-for-a-twin": adapters}
