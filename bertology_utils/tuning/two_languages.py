"""Two languages in one model: a twin language in shifted letters, tiny bilingual models, and cross-lingual measures.

Depends on torch and scikit-learn. The measures take vectors (layers, sentences, width)
or (sentences, width) of parallel sentences, row i of one language translating row i of the other; they give values an
item.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from bertology_utils.errors import BertologyError
from bertology_utils.language.twins import shift_word
from bertology_utils.models import Specimen
from bertology_utils.pretraining.wordpieces import SPECIAL_TOKENS, as_pretrained


@dataclass(frozen=True)
class TwinLanguage:
    """English in another alphabet: the same grammar and lexicon, no shared piece but those of `shared`."""

    shared: frozenset[str] = frozenset()
    inverted: bool = False

    def order(self, sentence: Sequence[str]) -> Sequence[int]:
        """Which word stands at each place of the translation: the same, or the inverse (dufter2020identifying)."""
        return range(len(sentence))[:: -1 if self.inverted else 1]

    def translate(self, sentence: Sequence[str]) -> tuple[str, ...]:
        """Word by word, in the order of the language."""
        ordered = [sentence[place] for place in self.order(sentence)]
        return tuple(word if word in self.shared else shift_word(word) for word in ordered)


def twin_language(sentences: Sequence[Sequence[str]], overlap: float = 0.0, seed: int = 0) -> TwinLanguage:
    """A twin of the language of these sentences which shares a share `overlap` of its word types with it."""
    if not 0 <= overlap <= 1:
        raise BertologyError(f"An overlap lies between 0 and 1, got {overlap}.")
    types = sorted({word for sentence in sentences for word in sentence})
    chosen = np.random.default_rng(seed).permutation(len(types))[: round(overlap * len(types))]
    return TwinLanguage(frozenset(types[i] for i in chosen))


def vocabulary_overlap(first: Sequence[str] | set[str], second: Sequence[str] | set[str]) -> float:
    """|A and B| / |A or B| of two sets of pieces: the overlap of pires2019multilingual (a Jaccard coefficient)."""
    a, b = set(first), set(second)
    if not a | b:
        raise BertologyError("The overlap of two empty vocabularies is not defined.")
    return len(a & b) / len(a | b)


@dataclass(frozen=True)
class BilingualRecipe:
    """A BERT small enough to train in a notebook. dufter2020identifying: 12 layers of width 64, 1 head, inner 256.

    Fewer layers here, for seconds instead of hours; `steps` of about `budget` pieces each.
    """

    layers: int = 4
    width: int = 64
    heads: int = 1
    inner: int = 256
    steps: int = 600
    learning_rate: float = 2e-3
    budget: int = 1024


def word_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """A fast tokenizer with one piece a word: ids of the special pieces, then the words in the order given."""
    vocabulary = {piece: i for i, piece in enumerate([*SPECIAL_TOKENS, *dict.fromkeys(words)])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    ids = [(piece, vocabulary[piece]) for piece in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ids)
    return as_pretrained(tokenizer)


def padded(words: Sequence[str], size: int) -> list[str]:
    """The words and, up to `size`, pieces that stand for none: models of vocabularies of one size train together."""
    return [*words, *(f"[unused{place}]" for place in range(size - len(words)))]


def tiny_specimen(words: Sequence[str], recipe: BilingualRecipe = BilingualRecipe(), seed: int = 0) -> Specimen:
    """An untrained specimen of the recipe's size over these words."""
    tokenizer = word_tokenizer(words)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.width,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        intermediate_size=recipe.inner,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertForMaskedLM(config).eval()
    digest = hashlib.sha256(f"{config.to_json_string()}{seed}".encode()).hexdigest()
    return Specimen("bilingual", model, tokenizer, f"seed {seed}", digest, "trained in this notebook")


def _unit(vectors: Tensor) -> Tensor:
    return torch.nn.functional.normalize(vectors.float(), dim=-1)


def nearest(queries: Tensor, candidates: Tensor) -> Tensor:
    """Index of the candidate with the highest cosine for each query: (..., queries), by one matrix product a layer."""
    return (_unit(queries) @ _unit(candidates).transpose(-1, -2)).argmax(-1)


def sentence_retrieval(source: Tensor, target: Tensor) -> np.ndarray:
    """Is the nearest target the translation? Booleans (..., sentences); libovicky2019how, on one pair of languages."""
    if source.shape != target.shape:
        raise BertologyError(f"Parallel sentences need equal shapes: {tuple(source.shape)}, {tuple(target.shape)}.")
    return (nearest(source, target) == torch.arange(source.shape[-2])).numpy()


def centred(vectors: Tensor) -> Tensor:
    """Vectors (..., sentences, width) minus their language's centroid; libovicky2019how."""
    return vectors - vectors.mean(-2, keepdim=True)


def centred_retrieval(source: Tensor, target: Tensor) -> np.ndarray:
    """`sentence_retrieval` after centring each language: (..., sentences)."""
    return sentence_retrieval(centred(source), centred(target))


def translate_by_offset(source: Tensor, target: Tensor, fit: Sequence[int], test: Sequence[int]) -> np.ndarray:
    """Retrieval of the `test` sentences after adding the mean offset of the `fit` ones: booleans (..., test).

    pires2019multilingual: v_EN + mean(v_DE - v_EN), nearest neighbour. The sets must not share a sentence.
    """
    if set(fit) & set(test):
        raise BertologyError("The offset must be fitted on other sentences than those translated.")
    fit, test = list(fit), list(test)
    offset = (target[..., fit, :] - source[..., fit, :]).mean(-2, keepdim=True)
    return sentence_retrieval(source[..., test, :] + offset, target[..., test, :])


def random_offset(source: Tensor, target: Tensor, fit: Sequence[int], test: Sequence[int], seed: int = 0) -> np.ndarray:
    """Control of `translate_by_offset`: a random direction as long as the true offset; booleans (..., test)."""
    fit, test = list(fit), list(test)
    length = (target[..., fit, :] - source[..., fit, :]).mean(-2, keepdim=True).norm(dim=-1, keepdim=True)
    direction = _unit(torch.randn(*length.shape[:-1], source.shape[-1], generator=torch.Generator().manual_seed(seed)))
    return sentence_retrieval(source[..., test, :] + length * direction, target[..., test, :])


def language_probe(vectors: Tensor, languages: Sequence[int], folds: int = 5, seed: int = 0) -> np.ndarray:
    """Is the language of each held-out sentence predicted? Booleans (sentences,), by logistic regression over folds.

    Give one layer's (sentences, width). libovicky2019how, who also test it after centring.
    """
    labels = np.asarray(languages)
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return cross_val_predict(probe, vectors.numpy(), labels, cv=splits) == labels


def mutual_nearest(source: Tensor, target: Tensor) -> list[tuple[int, int]]:
    """Word alignment of one sentence pair from (words, width) each: pairs that are each other's nearest."""
    forth, back = nearest(source, target).tolist(), nearest(target, source).tolist()
    return [(i, j) for i, j in enumerate(forth) if back[j] == i]


def alignment_f1(predicted: Sequence[tuple[int, int]], gold: Sequence[tuple[int, int]]) -> float:
    """F1 of predicted word pairs against gold ones; 0 where nothing is right."""
    hits = len(set(predicted) & set(gold))
    return 2 * hits / (len(set(predicted)) + len(set(gold))) if hits else 0.0


def word_translation(specimen: Specimen, language: TwinLanguage, words: Sequence[str]) -> np.ndarray:
    """Is the twin of a word nearest among all twins, by piece embeddings? Booleans (words,).

    The P@1 of dufter2020identifying. Words shared by both languages are left out: they translate themselves.
    """
    own = [word for word in dict.fromkeys(words) if word not in language.shared]
    table = specimen.model.get_input_embeddings().weight.detach()
    ids = torch.tensor(specimen.tokenizer.convert_tokens_to_ids(own))
    twins = torch.tensor(specimen.tokenizer.convert_tokens_to_ids([shift_word(word) for word in own]))
    return sentence_retrieval(table[ids], table[twins])
