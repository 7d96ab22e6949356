"""Experiments on what training with two languages side by side teaches: TLM, Unicoder, language ids, sampling.

Depends on `side_by_side` (texts and measures) and `parallel_tasks` (what is read). All arms of an experiment read
equally many pieces of the same sentences; they differ in what stands beside a sentence and in what is asked of it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import parallel_tasks as tasks
from bertology_utils.studies.mbert import side_by_side as lab
from bertology_utils.studies.mbert.parallel_tasks import Heads, Task
from bertology_utils.studies.mbert.side_by_side import RECIPE, SAME, SWITCHED, Models, Texts, Values
from bertology_utils.tuning.mlm_training import masked_batches, masked_logits
from bertology_utils.tuning.tiny_pretraining import next_heads

FIRST, THEN = 520, 150  # steps on pairs alone, and on pairs and other sentences in turn
PAIRED = (tasks.recovery, tasks.together, tasks.alternating, tasks.telling_apart)
TLM = ([tasks.together], [tasks.alone, tasks.together])
FIVE = (PAIRED, [read for task in PAIRED for read in (tasks.alone, task)])


def arm(texts: Sequence[Texts], *stages: Sequence[Task], wrong: bool = False) -> tuple[Models, Heads]:
    """Models, one a seed, and their classifiers of pairs, after two stages of a batch of each task in turn.

    Pairs come first: a model that has learnt what can be told from one sentence is slow to look into the other.
    """
    given = [replace(own, wrong=wrong) for own in texts]
    models, heads = tasks.train(lab.untrained(texts), given, *stages[0], steps=FIRST)
    return tasks.train(models, given, *stages[1], steps=THEN, heads=heads)


def translations(seeds: Sequence[int]) -> Runs:
    """TLM beside masked words alone and beside wrong pairs.

    use_*: nats that a hidden word gains by its sentence's translation; new_words_*: tags right in the twin of words
    that stand in no pair; retrieval_*: translations found; loss_*: nats on both languages, read alone; of the arms
    plain, shuffled and pairs (lample2019crosslingual).
    """
    texts = [lab.draw(seed, SWITCHED) for seed in seeds]
    arms = {
        "plain": arm(texts, [tasks.apart], [tasks.alone, tasks.apart])[0],
        "shuffled": arm(texts, *TLM, wrong=True)[0],
        "pairs": arm(texts, *TLM)[0],
    }

    def measure(models: Models) -> Values:
        return lab.transfer(models, texts) | {"use": lab.use_of_translation(models, texts)}

    return lab.compared(arms, lab.untrained(texts), measure, lab.known(arms["plain"], texts))


def five_tasks(seeds: Sequence[int]) -> Runs:
    """The five tasks of Unicoder beside TLM, and with wrong pairs and words; huang2019unicoder.

    Samples as in `translations`, of the arms pairs, wrong and five; recovered_*: the share of words named in whose
    place the translation stands; told_apart_*: the pairs that are rightly called translations or not.
    """
    texts = [lab.draw(seed, SWITCHED) for seed in seeds]
    arms = {
        "pairs": arm(texts, *TLM),
        "wrong": arm(texts, *FIVE, wrong=True),
        "five": arm(texts, *FIVE),
    }

    def measure(of: tuple[Models, Heads]) -> Values:
        models, heads = of
        told = {"recovered": recovered(models, texts), "told_apart": told_apart(models, heads, texts)}
        return lab.transfer(models, texts) | told

    blank = lab.untrained(texts), next_heads(RECIPE.width, seeds)
    return lab.compared(arms, blank, measure, lab.known(arms["five"][0], texts))


@torch.no_grad()
def recovered(models: Models, texts: Sequence[Texts]) -> list[float]:
    """Share of the words of pairs that are named where their translation stands in held-out sentences."""
    found = []
    for model, own in zip(models, texts, strict=True):
        table, right = tasks.word_table(model, own), []
        met = [words for words in own.held_out if not own.new & set(words)]
        for _, batch in masked_batches(model, [*met, *map(own.language.translate, met)]):
            asked = batch["labels"] != IGNORED
            logits, _ = masked_logits(model.model, tasks.with_translations(batch, table), asked)
            right.append(logits.argmax(-1) == batch["labels"][asked])
        found.append(float(torch.cat(right).float().mean()))
    return found


def told_apart(models: Models, heads: Heads, texts: Sequence[Texts]) -> list[float]:
    """Share of held-out pairs, half of them translations and half of another meaning but as long, that are told so."""
    found = []
    for place, (model, own) in enumerate(zip(models, texts, strict=True)):
        asked = replace(own, paired=own.held_out)
        right = []
        for truth in (0, 1):
            right.append(tasks.classes_told(model, heads, place, own.held_out, asked.beside(truth)) == truth)
        found.append(float(torch.cat(right).float().mean()))
    return found


# ---------------------------------------------------------------- without pairs


def language_ids(seeds: Sequence[int]) -> Runs:
    """Tags in the twin, which has the order of English, of models that are told each piece's language, or are not.

    tags_*, loss_*: of the arms with_ids and without_ids, in equally many steps (wang2019crosslingual).
    """
    texts = [lab.draw(seed, SAME) for seed in seeds]
    plain, told = (tasks.train(lab.untrained(texts), texts, task)[0] for task in (tasks.alone, tasks.marked))
    arms = {"without_ids": (plain, plain), "with_ids": (told, [tasks.of_the_twin(model) for model in told])}

    def measure(of: tuple[Models, Models]) -> Values:
        models, readers = of
        return {"tags": lab.tags(models, texts, readers=readers), "loss": lab.losses(models, texts, readers)}

    blank = lab.untrained(texts)
    return lab.compared(arms, (blank, blank), measure, lab.known(plain, texts, new=False))


RICH, POOR = 2000, 100  # sentences
POWERS = {"proportional": 1.0, "smoothed": 0.7, "levelled": 0.3}


def sampling(seeds: Sequence[int]) -> Runs:
    """Losses of a rich and a poor language that are drawn by their size to the power of 1, 0.7 or 0.3.

    rich_*, poor_*: nats on held-out English and on the twin; devlin2019bert takes 0.7.
    """
    texts = [lab.draw(seed, SAME) for seed in seeds]
    arms = {
        name: tasks.train(lab.untrained(texts), [_sampled(own, power) for own in texts], tasks.alone)[0]
        for name, power in POWERS.items()
    }

    def measure(models: Models) -> Values:
        return {"rich": lab.losses(models, texts, sides=["english"]), "poor": lab.losses(models, texts, sides=["twin"])}

    blank = lab.untrained(texts)
    return lab.compared(arms, blank, measure, {"loss_untrained": lab.losses(blank, texts)})


def _sampled(own: Texts, power: float) -> Texts:
    """Texts of a rich English and a poor twin that comes as often as its size to the power, beside that of English."""
    rng = np.random.default_rng(own.seed)
    poor = [own.language.translate(sentence.words) for sentence in lab.sentences(rng, POOR)]
    often = round(RICH * (POOR / RICH) ** power)
    return replace(own, english=lab.sentences(rng, RICH), foreign=[poor[place % POOR] for place in range(often)])


EXPERIMENTS = {
    "translations": translations,
    "five-tasks": five_tasks,
    "language-ids": language_ids,
    "language-sampling": sampling,
}
