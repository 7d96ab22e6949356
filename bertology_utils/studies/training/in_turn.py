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

FIRST = "new los san saint port fort lake mount cape high old east".split()
LAST = "york angeles jose paul arthur worth placid vernon town point haven side".split()
PEOPLE = "farmer teacher doctor sailor painter singer baker judge".split()
VERBS = "knows likes leaves visits misses loves".split()
WHEN = "often never soon again today twice".split()
ALL = [*FIRST, *LAST, *PEOPLE, *VERBS, *WHEN, "the", "."]
NAME = (3, 4)  # the places of a name's words in a sentence
READ, ASKED, PIECES = 3000, 200, 90_000
RECIPE = {
    "inner": 128, "batch": 16, "matrix_learning_rate": 0.02, "masking": {"share": 0.3}, "single_share": 1.0,
    "phases": [{"steps": 8, "length": 16}],
}  # fmt: skip
OBJECTIVES = {"masked": "masked-tokens", "permuted": "permutation"}


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
def name_costs(model: Specimen, asked: Sequence[Words], permuted: bool) -> np.ndarray:
    """What a name's words cost in nats where both are hidden, (sentences, 2): at once, or if `permuted` in turn.

    In turn: behind the words stands a [MASK] for each of the two, at its place; the first sees the sentence without the
    name, the second the name's first word as well, as in training.
    """
    tokenizer = model.tokenizer
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(["[CLS]", *words, "[SEP]"]) for words in asked])
    places = [1 + place for place in NAME]
    answers = ids[:, places]
    if not permuted:
        ids[:, places] = tokenizer.mask_token_id
        logits = model.model(input_ids=ids).logits[:, places]
    else:
        length = ids.shape[1]
        masks = torch.full((len(ids), len(places)), tokenizer.mask_token_id)
        logits = model.model(
            input_ids=torch.cat([ids, masks], 1),
            position_ids=torch.tensor([[*range(length), *places]]),
            attention_mask=_bias(length, places).expand(len(ids), -1, -1, -1),
        ).logits[:, length:]
    return -logits.log_softmax(-1).gather(-1, answers[..., None])[..., 0].numpy()


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
        for name, objective in OBJECTIVES.items():
            arm = Arm([[words] for words in read], RECIPE | {"objectives": {objective: 1.0}})
            ends = train(arm, ALL, PIECES, seed)
            for side, model in ((trained, ends[-1]), (blank, ends[0])):
                side[name + ending] = _mean(name_costs(model, asked, name == "permuted").sum(1))
                if name == "masked" and not ending:
                    side |= _asked_in_turn(model, asked)
    return trained, blank


def _asked_in_turn(model: Specimen, asked: Sequence[Words]) -> Values:
    """The masked LM's costs of the second word where the first is shown, and of the first with it."""
    tokenizer, place = model.tokenizer, 1 + NAME[1]
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(["[CLS]", *words, "[SEP]"]) for words in asked])
    answers = ids[:, place].clone()
    ids[:, place] = tokenizer.mask_token_id
    with torch.no_grad():
        second = -model.model(input_ids=ids).logits[:, place].log_softmax(-1).gather(-1, answers[:, None])[:, 0].numpy()
    first = name_costs(model, asked, permuted=False)[:, 0]
    return {"second_of_masked": _mean(second), "asked_in_turn": _mean(first + second)}


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values))


EXPERIMENTS = {"in-turn": one_by_one(in_turn, ASKED)}
