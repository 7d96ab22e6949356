"""Labels of who acts and who is acted on, joined to the vectors of a tiny encoder when it learns a task of roles.

Depends on `language.lexicon` (words), `knowledge` (training) and `tuning.together`. A man and a woman stand in each
sentence, active, passive or with a relative clause; the question is whether the woman acts. The words and their order
tell nothing of it: each answer is as frequent in each frame. That kings are men an encoder learns from text, in which
they follow *himself*.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.runs import Runs
from bertology_utils.studies.training.knowledge import MENTIONS, by_arm, fresh, train
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.mlm_training import endless_batches
from bertology_utils.tuning.together import Packed, Stack, pack
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=3, width=48, heads=2, inner=96, steps=700, learning_rate=4e-3, budget=240)
TUNING_STEPS, TUNING_RATE, BATCH = 150, 2e-3, 16
TEXT, LABELLED, ASKED = 800, 24, 192  # sentences: read, learnt from, asked
NO_ROLE, VERB, AGENT, PATIENT = range(4)
MARKS = {"V": VERB, "A": AGENT, "P": PATIENT}
SWAPPED = {AGENT: PATIENT, PATIENT: AGENT}
FRAMES = ("the A V the P .", "the P was V by the A .", "the A that V the P left .", "the P that the A V left .")
MEN, WOMEN = (
    tuple(noun.singular for split in ("train", "test") for noun in load_lexicon(split).nouns[kind])
    for kind in ("male", "female")
)
VERBS = ("carried", "chased", "followed", "helped", "kicked", "pulled", "pushed", "served")  # past and participle
WORDS = tuple(dict.fromkeys((*MEN, *WOMEN, *VERBS, *" ".join(FRAMES).split(), "himself", "herself")))
ARMS = ("roles", "shuffled_roles", "no_roles")
Lexicon = tuple[Sequence[str], Sequence[str], Sequence[str]]  # men, women, verbs


@dataclass(frozen=True)
class Scene:
    """A sentence, the role of each word, and whether the woman acts."""

    words: tuple[str, ...]
    roles: tuple[int, ...]
    woman: int


def scenes(lexicon: Lexicon, count: int, rng: np.random.Generator) -> list[Scene]:
    """`count` sentences, as many of each frame and of each answer."""
    kinds = [(frame.split(), woman) for frame in FRAMES for woman in (0, 1)]
    made = []
    for i in range(count):
        frame, woman = kinds[i % len(kinds)]
        man, lady, verb = (str(rng.choice(own)) for own in lexicon)
        said = {"A": lady, "P": man, "V": verb} if woman else {"A": man, "P": lady, "V": verb}
        made.append(Scene(tuple(said.get(w, w) for w in frame), tuple(MARKS.get(w, NO_ROLE) for w in frame), woman))
    return made


def text(lexicon: Lexicon, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """Unlabelled sentences of all words: scenes, and three times as many that tell by a reflexive who is a man."""
    selves = [("himself", lexicon[0]), ("herself", lexicon[1])]
    told = [(own, who) for own, people in selves for who in rng.choice(people, 3 * TEXT // 8)]
    return [one.words for one in scenes(lexicon, TEXT // 4, rng)] + [
        ("the", str(who), str(rng.choice(lexicon[2])), own, ".") for own, who in told
    ]


def labels(arm: str, scene: Scene, rng: np.random.Generator) -> tuple[int, ...]:
    """The roles that an arm sees: the scene's own; with agent and patient dealt by a coin; none."""
    if arm == "no_roles":
        return (NO_ROLE,) * len(scene.roles)
    if arm == "shuffled_roles" and rng.random() < 0.5:
        return tuple(SWAPPED.get(role, role) for role in scene.roles)
    return scene.roles


def read(specimen: Specimen, made: Sequence[Scene], arm: str, rng: np.random.Generator) -> dict[str, Tensor]:
    """Pieces (scenes, longest), a word being a piece, with the roles that the arm sees as `token_type_ids`."""
    batch = model_inputs(specimen, encode_words(specimen, [one.words for one in made]))
    types = torch.zeros_like(batch["input_ids"])
    for row, one in zip(types, made, strict=True):
        row[1 : 1 + len(one.words)] = torch.tensor(labels(arm, one, rng))
    return {**batch, "token_type_ids": types, "labels": torch.full_like(types, IGNORED)}


@dataclass(frozen=True)
class Encoders:
    """Stacked encoders; vectors of roles (models, 4, width) for what all blocks but the last give; a head (models,
    width, 2) on the mean of pieces.

    Vectors side by side, then through a layer that leaves the encoder's part as it is: so the roles' part is added.
    """

    stack: Stack
    roles: Tensor
    head: Tensor

    def logits(self, batch: Packed) -> Tensor:
        """(models, sentences, 2)."""
        x = below(self.stack, batch) + self.roles[torch.arange(len(self.roles)).unsqueeze(1), batch.types]
        x = self.stack.block(x, RECIPE.layers - 1, batch)
        shares = batch.real / batch.real.sum(1, keepdim=True)  # (sentences of all models, longest)
        rows = x.flatten(0, 1)[batch.rows].mul(shares.unsqueeze(-1)).sum(1)
        return rows.view(len(x), -1, x.shape[-1]) @ self.head


def below(stack: Stack, batch: Packed) -> Tensor:
    """What all blocks but the last give: (models, pieces, width)."""
    x = stack.embedded(batch)
    for layer in range(RECIPE.layers - 1):
        x = stack.block(x, layer, batch)
    return x


def joined(seeds: Sequence[int]) -> Runs:
    """A task of roles learnt from few labelled sentences, with roles joined to vectors or not (zhang2020semantics).

    Accuracy on people and verbs that no labelled sentence has: roles, shuffled_roles (agent and patient dealt by a
    coin), no_roles; on new sentences of the labelled words known_roles, ...: (seeds, 1). The encoders have read
    unlabelled text of all words. Roles are the grammar's own, where the study has them predicted.
    """
    rngs = [np.random.default_rng(seed) for seed in seeds]
    lexicons = [tuple(rng.permutation(own) for own in (MEN, WOMEN, VERBS)) for rng in rngs]
    seen, unseen = ([tuple(own[part::2] for own in lexicon) for lexicon in lexicons] for part in (0, 1))

    def drawn(parts: Sequence[Lexicon], count: int) -> list[list[Scene]]:
        return [scenes(own, count, rng) for own, rng in zip(parts, rngs, strict=True)]

    tests = {"": drawn(unseen, ASKED), "known_": drawn(seen, ASKED)}
    lessons, texts = drawn(seen, LABELLED), [text(own, rng) for own, rng in zip(lexicons, rngs, strict=True)]
    made = [tiny_specimen(WORDS, RECIPE, seed) for seed in seeds]
    stack = Stack([own.model for own in made])
    stack.weights[MENTIONS] = torch.zeros(len(made), len(MARKS) + 1, RECIPE.width)  # roles are no input of the encoder
    untrained = _scores(made[0], _arms(stack, seeds), tests, rngs)
    _pretrain(made[0], stack, texts, seeds)
    tuned = _arms(stack, seeds)
    _tune(made[0], tuned, lessons, rngs)
    return Runs(_scores(made[0], tuned, tests, rngs), untrained, networks=len(seeds))


def _pretrain(specimen: Specimen, stack: Stack, texts: Sequence, seeds: Sequence[int]) -> None:
    """Masked words, by all blocks but the last."""
    encodings = [encode_words(specimen, own) for own in texts]
    feeds = [endless_batches(specimen, own, seed, RECIPE.budget) for own, seed in zip(encodings, seeds, strict=True)]

    def losses() -> Tensor:
        batch = pack([next(feed) for feed in feeds])
        return stack.masked_losses(below(stack, batch), batch)

    train(stack, losses, RECIPE.steps, RECIPE.learning_rate)


def _arms(stack: Stack, seeds: Sequence[int]) -> Encoders:
    """The encoders once for each arm, with new vectors of roles and heads, alike for all arms of a seed."""
    wide = Stack(list(stack.models) * len(ARMS))
    for name, weight in stack.weights.items():
        wide.weights[name] = (
            weight.detach().repeat(len(ARMS), *[1] * (weight.dim() - 1)).requires_grad_(name != MENTIONS)
        )

    # roles as large as the vectors that they are joined to, or the last block would not hear them
    roles = fresh(seeds, len(ARMS), len(MARKS) + 1, RECIPE.width, deviation=1.0)
    return Encoders(wide, roles, fresh(seeds, len(ARMS), RECIPE.width, 2))


def _inputs(specimen: Specimen, made: Sequence[Sequence[Scene]], rngs: Sequence) -> tuple[list[dict], Tensor]:
    """The batch of each model, all seeds of an arm in a row, and the answers (models, scenes)."""
    batches = [read(specimen, own, arm, rng) for arm in ARMS for own, rng in zip(made, rngs, strict=True)]
    return batches, torch.tensor([[one.woman for one in own] for own in made] * len(ARMS))


def _tune(specimen: Specimen, tuned: Encoders, lessons: Sequence[Sequence[Scene]], rngs: Sequence) -> None:
    """Trains all arms on the labelled sentences, in one order."""
    batches, answers = _inputs(specimen, lessons, rngs)
    generator = torch.Generator().manual_seed(0)

    def losses() -> Tensor:
        rows = torch.randint(LABELLED, (BATCH,), generator=generator)
        logits = tuned.logits(pack([{key: values[rows] for key, values in own.items()} for own in batches]))
        return nn.functional.cross_entropy(logits.transpose(1, 2), answers[:, rows], reduction="none").mean(1)

    train(tuned.stack, losses, TUNING_STEPS, TUNING_RATE, (tuned.roles, tuned.head))


@torch.no_grad()
def _scores(
    specimen: Specimen, tuned: Encoders, tests: Mapping[str, Sequence[Sequence[Scene]]], rngs: Sequence
) -> dict[str, np.ndarray]:
    """Accuracy of each arm on each test: (seeds, 1)."""
    found = {}
    for prefix, made in tests.items():
        batches, answers = _inputs(specimen, made, rngs)
        right = (tuned.logits(pack(batches)).argmax(-1) == answers).double().mean(1).numpy()
        found |= by_arm(ARMS, right, ASKED, prefix)
    return found


EXPERIMENTS = {"roles-joined": joined}
