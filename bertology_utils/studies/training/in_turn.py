"""Words predicted in turn: what a permuted order gains where two hidden words depend on each other (yang2019xlnet).

The study's own example is a name of two words. A masked LM predicts both at once, each as if the other were unknown;
a permuted one predicts the second from the first. Depends on `engine_arms`; a seed has names and sentences of its own.
"""

from collections.abc import Sequence

import numpy as np
import torch

from bertology_utils.models import Specimen
from bertology_utils.pretraining.objectives import permutation_attention
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.studies.training.engine_arms import Arm, train
from bertology_utils.text import Words
from bertology_utils.tuning.hidden_words import losses
from bertology_utils.tuning.mlm_training import masked_logits

FIRST = ["new", "los", "san", "saint", "port", "fort", "lake", "mount", "cape", "high", "old", "east"]
LAST = ["york", "angeles", "jose", "paul", "arthur", "worth", "placid", "vernon", "town", "point", "haven", "side"]
PEOPLE = ["farmer", "teacher", "doctor", "sailor", "painter", "singer", "baker", "judge"]
VERBS = ["knows", "likes", "leaves", "visits", "misses", "loves"]
WHEN = ["often", "never", "soon", "again", "today", "twice"]
ALL = [*FIRST, *LAST, *PEOPLE, *VERBS, *WHEN, "the", "."]
NAME = (3, 4)  # the places of a name's words in a sentence
READ, ASKED, PIECES = 3000, 200, 90_000
RECIPE = {
    "inner": 128, "batch": 16, "matrix_learning_rate": 0.02, "masking": {"share": 0.3}, "single_share": 1.0,
    "phases": [{"steps": 8, "length": 16}],
}  # fmt: skip


def sentences(count: int, rng: np.random.Generator, partner: Sequence[int] | None) -> list[Words]:
    """`the farmer knows new york often .`, of random words; the second word of a name is its `partner`, or any."""
    made = []
    for _ in range(count):
        person, verb, when = (str(rng.choice(words)) for words in (PEOPLE, VERBS, WHEN))
        first, other = rng.integers(len(FIRST), size=2)
        last = other if partner is None else partner[first]
        made.append(("the", person, verb, FIRST[first], LAST[last], when, "."))
    return made


@torch.no_grad()
def costs_in_turn(model: Specimen, asked: Sequence[Words]) -> np.ndarray:
    """What a name's words cost a permuted LM in nats, (sentences, 2): the first alone, and the second after it.

    As in training, there stands a [MASK] for each of the two behind the words, at its place.
    """
    tokenizer, places = model.tokenizer, [1 + place for place in NAME]
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(["[CLS]", *words, "[SEP]"]) for words in asked])
    length = ids.shape[1]
    masks = torch.full((len(ids), len(places)), tokenizer.mask_token_id)
    batch = {
        "input_ids": torch.cat([ids, masks], 1),
        "position_ids": torch.tensor([[*range(length), *places]]),
        "attention_mask": _bias(length, places).expand(len(ids), -1, -1, -1),
    }
    behind = torch.zeros(batch["input_ids"].shape, dtype=torch.bool)
    behind[:, length:] = True
    logits, _ = masked_logits(model.model, batch, behind)
    scores = logits.log_softmax(-1).view(len(ids), len(places), -1)
    return -scores.gather(-1, ids[:, places, None])[..., 0].numpy()


def _bias(length: int, places: Sequence[int]) -> torch.Tensor:
    """Added to attention scores, (1, 1, both, both): the words outside the name see each other, the rest as in turn."""
    context = [place for place in range(length) if place not in places]
    before = permutation_attention([*context, *places])
    sees = np.zeros((length + len(places),) * 2, dtype=bool)
    sees[:length, :length] = before | np.eye(length, dtype=bool)
    sees[np.ix_(context, context)] = True
    sees[length:, :length] = before[list(places)]
    return torch.zeros(1, 1, *sees.shape).masked_fill(~torch.from_numpy(sees), torch.finfo(torch.float32).min)


def in_turn(seed: int) -> tuple[Values, Values]:
    """Nats of both words of a name in new sentences, for a masked and a permuted LM that read the same text.

    `masked` and `permuted`, where a name has one second word; `masked_loose` and `permuted_loose`, where it has any;
    second_of_masked: what the second word costs the masked LM where the first is shown; asked_in_turn: both, the masked
    LM asked one word after the other.
    """
    rng = np.random.default_rng(seed)
    partner = rng.permutation(len(LAST))
    trained, blank = {}, {}
    for ending, pairs in (("", partner), ("_loose", None)):
        read, asked = sentences(READ, rng, pairs), sentences(ASKED, rng, pairs)
        for objective, costs in ARMS:
            ends = train(Arm([[words] for words in read], RECIPE | {"objectives": {objective: 1.0}}), ALL, PIECES, seed)
            for side, model in ((trained, ends[-1]), (blank, ends[0])):
                side |= {f"{key}{ending}": value for key, value in costs(model, asked).items()}
    return trained, blank


def _at_once(model: Specimen, asked: Sequence[Words]) -> Values:
    first, second = (losses(model, asked, np.tile(hidden, (len(asked), 1))) for hidden in (NAME, NAME[1:]))
    return {
        "masked": float(first.sum(1).mean()),
        "second_of_masked": float(second.mean()),
        "asked_in_turn": float((first[:, 0] + second[:, 0]).mean()),
    }


def _in_turn(model: Specimen, asked: Sequence[Words]) -> Values:
    return {"permuted": float(costs_in_turn(model, asked).sum(1).mean())}


ARMS = (("masked-tokens", _at_once), ("permutation", _in_turn))
EXPERIMENTS = {"in-turn": one_by_one(in_turn, ASKED)}
