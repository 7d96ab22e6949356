"""Does attention reach farther than recurrence (vaswani2017attention)?

Two nets of one size under BERT's prediction head, one of attention and one of a bidirectional LSTM, learn to fill in
the verb of the same sentences, which agrees with a noun next to it or up to four phrases before. The study
`small-models` records them. Depends on `tuning.mlm_training` and the LSTM of `compression.methods.recurrent`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from transformers.modeling_outputs import MaskedLMOutput

from bertology_utils.compression.methods.recurrent import Recurrent
from bertology_utils.language.lexicon import load_lexicon
from bertology_utils.models import Specimen
from bertology_utils.pretraining.examples import IGNORED
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.text import encode_words, model_inputs
from bertology_utils.tuning.mlm_training import masked_logits, masked_loss, optimise
from bertology_utils.tuning.two_languages import BilingualRecipe, tiny_specimen

RECIPE = BilingualRecipe(layers=2, width=64, heads=2, inner=128, steps=1000)
RATES = {"transformer": 2e-3, "recurrent": 4e-3}  # at which each learnt neighbours on a seed that is not recorded
READ, ASKED = 3000, 300
NOUNS, BETWEEN = 40, ("near", "behind", "with", "beside")
FIRST = ("today", "now", "still", "often")
NEAR, FAR = 0, 4  # phrases between subject and verb
VERBS, ENDS = ("is", "are"), ("here", "there", "old", "new", "big", "small", "good", "bad", "tall", "short")
BATCH = 64
Sentence = tuple[str, ...]
Nets = Mapping[str, nn.Module]


# ---------------------------------------------------------------- the text


def nouns_of(seed: int) -> list[tuple[str, str]]:
    """Singular and plural of the nouns of a seed."""
    every = [noun for group in load_lexicon("train").nouns.values() for noun in group if noun.plural]
    chosen = np.random.default_rng(seed).permutation(len(every))[:NOUNS]
    return [(every[i].singular, every[i].plural) for i in chosen]


def sentence(nouns: Sequence[tuple[str, str]], phrases: int, rng: np.random.Generator) -> Sentence:
    """`now the dog near the cats is here .`: up to three words, and so many phrases between a subject and its verb."""
    forms, numbers = rng.integers(len(nouns), size=phrases + 1), rng.integers(2, size=phrases + 1)
    words = [*rng.choice(FIRST, rng.integers(4)).tolist(), "the", nouns[forms[0]][numbers[0]]]
    for form, number in zip(forms[1:], numbers[1:], strict=True):
        words += [str(rng.choice(BETWEEN)), "the", nouns[form][number]]
    return (*words, VERBS[numbers[0]], str(rng.choice(ENDS)), ".")


def text_of(seed: int) -> tuple[list[Sentence], dict[int, list[Sentence]]]:
    """Sentences to read, of all distances alike, and those to ask, near and far, which are not among them."""
    rng, nouns = np.random.default_rng(seed), nouns_of(seed)
    read = [sentence(nouns, i % (FAR + 1), rng) for i in range(READ)]
    known, asked = set(read), {}
    for phrases in (NEAR, FAR):
        new = {words for words in (sentence(nouns, phrases, rng) for _ in range(8 * ASKED)) if words not in known}
        asked[phrases] = sorted(new)[:ASKED]
    return read, asked


# ---------------------------------------------------------------- the nets


class RecurrentMLM(nn.Module):
    """BERT's prediction head, its decoder the table of pieces, on a bidirectional LSTM."""

    def __init__(self, table: Tensor, units: int) -> None:
        super().__init__()
        self.base_model = Recurrent(table, units)
        width = table.shape[1]
        self.transform = nn.Sequential(nn.Linear(2 * units, width), nn.GELU(), nn.LayerNorm(width))
        self.bias = nn.Parameter(torch.zeros(len(table)))

    def forward(self, return_dict: bool = True, **inputs: Tensor) -> MaskedLMOutput:
        hidden = self.base_model(**inputs).last_hidden_state
        return MaskedLMOutput(logits=self.transform(hidden) @ self.base_model.vectors.weight.T + self.bias)


def untrained(seed: int) -> tuple[Specimen, Nets]:
    """Both nets of a seed, whose vectors of pieces begin alike, and the specimen whose tokenizer they share."""
    words = [*(form for noun in nouns_of(seed) for form in noun), *FIRST, *BETWEEN, *VERBS, *ENDS, "the", "."]
    reader = tiny_specimen(words, RECIPE, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        recurrent = RecurrentMLM(reader.model.get_input_embeddings().weight, RECIPE.width)
    return reader, {"transformer": reader.model, "recurrent": recurrent.eval()}


def cloze(reader: Specimen, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
    """Sentences whose verb is masked, with `labels` there, (sentences, pieces); the verb stands before the last two."""
    places = [len(words) - 3 for words in sentences]
    hidden = [[*words[:at], "[MASK]", *words[at + 1 :]] for words, at in zip(sentences, places, strict=True)]
    batch = model_inputs(reader, encode_words(reader, hidden))
    batch["labels"] = torch.full_like(batch["input_ids"], IGNORED)
    verbs = reader.tokenizer.convert_tokens_to_ids([words[at] for words, at in zip(sentences, places, strict=True)])
    batch["labels"][batch["input_ids"] == reader.tokenizer.mask_token_id] = torch.tensor(verbs)
    return batch


def train(reader: Specimen, nets: Nets, read: Sequence[Sentence], seed: int) -> None:
    """Trains each net in place on the same batches, at its own rate."""
    every = cloze(reader, read)
    for name, net in nets.items():
        rng = np.random.default_rng(seed)

        def loss(net: nn.Module = net, rng: np.random.Generator = rng) -> Tensor:
            rows = torch.as_tensor(rng.integers(len(read), size=BATCH))
            return masked_loss(net, {key: values[rows] for key, values in every.items()}).mean()

        optimise(net, loss, RECIPE.steps, RATES[name])


# ---------------------------------------------------------------- what is asked


@torch.no_grad()
def agreement(reader: Specimen, net: nn.Module, sentences: Sequence[Sentence]) -> float:
    """How often the right form of the masked verb is likelier than the other."""
    batch = cloze(reader, sentences)
    chosen = batch["labels"] != IGNORED
    logits, _ = masked_logits(net, batch, chosen)
    forms = reader.tokenizer.convert_tokens_to_ids(list(VERBS))
    right, wrong = (
        logits.gather(1, ids.unsqueeze(1)) for ids in (batch["labels"][chosen], sum(forms) - batch["labels"][chosen])
    )
    return float((right > wrong).float().mean())


def _asked(reader: Specimen, nets: Nets, asked: Mapping[int, Sequence[Sentence]]) -> Values:
    places = {"near": asked[NEAR], "far": asked[FAR]}
    return {f"{name}_{at}": agreement(reader, net, own) for name, net in nets.items() for at, own in places.items()}


def compared(seed: int) -> tuple[Values, Values]:
    """Verbs right: `transformer_near`, `_far`, `recurrent_near` and `_far`, of trained nets and of untrained ones."""
    read, asked = text_of(seed)
    reader, nets = untrained(seed)
    before = _asked(reader, nets, asked)
    train(reader, nets, read, seed)
    return _asked(reader, nets, asked), before


EXPERIMENTS = {"attention-or-recurrence": one_by_one(compared, ASKED)}
