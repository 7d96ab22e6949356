"""The page *Ask BERT*: models as files that a browser reads, and the answers that stand there until a reader asks.

The page's scripts, in `book/assets/ask`, compute in the browser what `instruments` computes here. Depends on models,
instruments and figures; the extension writes the models beside the built pages, where only a click fetches them.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from markupsafe import Markup

from bertology_utils import families
from bertology_utils.errors import BertologyError
from bertology_utils.figures import attention_explorer
from bertology_utils.files import read_json, write_text
from bertology_utils.instruments import cloze, relations
from bertology_utils.instruments.layer_views import logits_of_layers
from bertology_utils.models import Specimen, load
from bertology_utils.pages.ask_neighbours import NEAREST, neighbours, references
from bertology_utils.project import DEFAULT_MODEL, RANDOM_PREFIX, model_slug
from bertology_utils.templates import render
from bertology_utils.text import Encoding, model_inputs

PAGE = "book/ask"
ASSETS = Path("book") / "assets" / "ask"
TARGET = Path("_static") / "ask" / "models"  # below the built pages
MANIFEST = "manifest.json"
TWIN = RANDOM_PREFIX + DEFAULT_MODEL
LEARNER = "ladder-1m"  # whose checkpoints show how an answer is learnt
MARKING = Path("_executed") / "live" / DEFAULT_MODEL / "attention.ipynb"
EXPLORER = re.compile(r'data-kind="attention".*?<script type="application/json">(.*?)</script>', re.DOTALL)
UNUSED = ("bert.pooler.", "cls.seq_relationship.", "cls.predictions.decoder.")  # the last is tied to the embeddings
SHOWN = 10  # words of an answer
LONGEST = 30  # words that a reader may type; a browser answers in a few seconds then
LETTERS = {"vertical": "V", "diagonal": "D", "vertical+diagonal": "M", "broad": "B", "heterogeneous": "·"}
LIMITS = {name: getattr(relations, name.upper()) for name in ("single", "part", "mixed", "broad")}
QUESTIONS = {
    "fill": {"text": "She drank a cup of [MASK].", "words": "water, blood, paris"},
    "sentences": {
        "first": "The keys to the house are on the table.",
        "second": "The keys to the house is on the table.",
    },
    "heads": {"text": "The dog that chased the cats was tired."},
    "layers": {"text": "The keys to the house [MASK] on the table."},
    "neighbours": {"text": "The old bank of the river was wet.", "word": "bank"},
    "learning": {"text": "What time [MASK] it?"},
}
"""What stands in each panel's form, and what its first answer is of."""
Question = Mapping[str, str]


# --- models as files ------------------------------------------------------------------------------------------------


def models_shown(root: Path) -> dict[str, list[str]]:
    """The names that `load` takes, by what the page calls them together; the learner's by step."""
    steps = families.known(families.checkpoints, LEARNER, root) or {}
    return {"model": [DEFAULT_MODEL], "twin": [TWIN], "learning": list(steps.values())}


@cache
def _specimen(name: str, attention: str = "sdpa") -> Specimen:
    """A model with the weights that its file holds: a twin's are rounded, all others are stored so."""
    specimen = load(name, attention=attention)
    specimen.model.half().float()
    return specimen


def half_weights(specimen: Specimen) -> dict[str, np.ndarray]:
    """The weights that answers need, in half precision; exact for weights that were stored so."""
    weights = {name: tensor for name, tensor in specimen.model.state_dict().items() if not name.startswith(UNUSED)}
    return {name: tensor.half().numpy() for name, tensor in weights.items()}


def size(specimen: Specimen) -> int:
    """Bytes of its file."""
    return sum(weights.nbytes for weights in half_weights(specimen).values())


def export_model(specimen: Specimen, folder: Path) -> dict[str, Any]:
    """Writes the weights of a BERT into one file, little-endian and one after the other; returns what the manifest says
    of it, offsets and shapes counted in numbers."""
    weights, config = half_weights(specimen), specimen.model.config
    content = b"".join(array.astype("<f2").tobytes() for array in weights.values())
    path = folder / f"{model_slug(specimen.name)}.bin"
    path.write_bytes(content)
    ends = np.cumsum([array.size for array in weights.values()]).tolist()
    return {
        "file": path.name,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "layers": specimen.layers,
        "heads": specimen.heads,
        "width": specimen.width,
        "inner": config.intermediate_size,
        "vocabulary": config.vocab_size,
        "epsilon": config.layer_norm_eps,
        "tensors": {
            name: {"shape": array.shape, "offset": end - array.size}
            for (name, array), end in zip(weights.items(), ends, strict=True)
        },
    }


def export(names: Sequence[str], folder: Path) -> None:
    """Writes models of one vocabulary into a folder, and the manifest that a browser reads first."""
    folder.mkdir(parents=True, exist_ok=True)
    models = {name: export_model(_specimen(name), folder) for name in names}
    tokenizer = _specimen(names[0]).tokenizer
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    others = [" ".join(words) for words in references()]
    shown = {"longest": LONGEST, "shown": SHOWN, "nearest": NEAREST}
    manifest = {**shown, "limits": LIMITS, "references": others, "pieces": pieces, "models": models}
    write_text(folder / MANIFEST, json.dumps(manifest, ensure_ascii=False, separators=(",", ":")))


def version(root: Path) -> str:
    """A short hash of the page's scripts: names one edition of them, so that a browser's cache mixes no two."""
    content = b"".join(path.read_bytes() for path in sorted((root / ASSETS).glob("*")))
    return hashlib.sha256(content).hexdigest()[:10]


# --- the first answers ----------------------------------------------------------------------------------------------


def words_of(specimen: Specimen, text: str) -> list[str]:
    """The words of running text as the tokenizer sees them, before it cuts them into pieces."""
    backend = specimen.tokenizer.backend_tokenizer
    parts = [backend.normalizer.normalize_str(part) for part in text.split(cloze.MASK)]
    cut = [[word for word, _ in backend.pre_tokenizer.pre_tokenize_str(part)] for part in parts]
    return [*cut[0], *(word for words in cut[1:] for word in (cloze.MASK, *words))]


def filled(name: str, text: str, own: str = "") -> dict[str, Any]:
    """A model's likeliest words for the blank, and what it gives to words of the reader's."""
    specimen = _specimen(name)
    values = cloze.masked_distributions(specimen, [words_of(specimen, text)])[0].exp()
    best = values.topk(SHOWN)
    words = specimen.tokenizer.convert_ids_to_tokens(best.indices.tolist())
    return {
        "name": name,
        "best": list(zip(words, best.values.tolist(), strict=True)),
        "own": [_own(specimen, values, word.strip()) for word in own.split(",") if word.strip()],
    }


def _own(specimen: Specimen, values: torch.Tensor, word: str) -> tuple[str, int, float] | tuple[str]:
    """A word, its rank from 1 and its probability; the word alone where it is not one piece."""
    piece = cloze.single_piece(specimen, word)
    return (word,) if piece is None else (word, int((values > values[piece]).sum()) + 1, float(values[piece]))


def _fill(root: Path, question: Question) -> str:
    answers = [filled(name, question["text"], question["words"]) for name in (DEFAULT_MODEL, TWIN)]
    return render("ask_fill.html", question=question, answers=answers, sizes=_sizes(root), twin=TWIN)


def scored(name: str, texts: Sequence[str]) -> list[tuple[list[str], list[float]]]:
    """The words of each text, and the pseudo-log-likelihood of each in nats."""
    sentences = [words_of(_specimen(name), text) for text in texts]
    return [
        (words, scores.tolist())
        for words, scores in zip(sentences, cloze.word_scores(_specimen(name), sentences), strict=True)
    ]


def _sentences(root: Path, question: Question) -> str:
    (first, scores), (second, against) = scored(DEFAULT_MODEL, list(question.values()))
    lines = list(zip(first, second, scores, against, strict=True))  # the prepared sentences have one length
    sign = 1 if sum(scores) > sum(against) else -1
    place = max(lines, key=lambda line: sign * (line[2] - line[3]))
    most = max(abs(line[2] - line[3]) for line in lines)
    untrained = np.subtract(*(sum(scores) for _, scores in scored(TWIN, list(question.values()))))
    shown = {"model": DEFAULT_MODEL, "twin": TWIN, "lines": lines, "place": place, "most": most, "untrained": untrained}
    return render("ask_sentences.html", question=question, sizes=_sizes(root), **shown)


@torch.inference_mode()
def attended(name: str, text: str) -> tuple[list[str], np.ndarray]:
    """The pieces of a text, and the attention maps (layers, heads, pieces, pieces) over them."""
    specimen = _specimen(name, "eager")
    inputs = specimen.tokenizer(text, return_tensors="pt")
    maps = torch.cat(specimen.model(**inputs, output_attentions=True).attentions).numpy()
    return specimen.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), maps


def patterns(name: str, text: str) -> list[list[str]]:
    """The pattern of every head's map of a text, [layer][head], by the rule of the chapter on attention."""
    specimen = _specimen(name, "eager")
    (codes,) = relations.map_patterns(specimen, [words_of(specimen, text)])
    return [[relations.PATTERNS[code] for code in layer] for layer in codes]


def chapter_marks(root: Path) -> dict[str, str]:
    """The heads that the executed chapter on attention marks, and with which relations; none where it marks none."""
    cells = (read_json(root / MARKING) or {}).get("cells", [])
    outputs = (output for cell in cells for output in cell.get("outputs", []))
    pages = ("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    data = next((found[1] for page in pages if (found := EXPLORER.search(page))), "{}")
    return json.loads(data).get("marks", {})


def _heads(root: Path, question: Question) -> str:
    (units, maps), (_, untrained) = (attended(name, question["text"]) for name in (DEFAULT_MODEL, TWIN))
    views = {DEFAULT_MODEL: maps, "untrained twin": untrained}
    figure = attention_explorer(units, views, marks=chapter_marks(root))._repr_html_()
    found = {name: patterns(name, question["text"]) for name in (DEFAULT_MODEL, TWIN)}
    shown = {"model": DEFAULT_MODEL, "twin": TWIN, "figure": Markup(figure), "patterns": found, "letters": LETTERS}
    return render("ask_heads.html", question=question, sizes=_sizes(root), **shown)


@torch.inference_mode()
def by_layer(name: str, text: str) -> dict[str, Any]:
    """The final answer, the layer since which it comes first, and of each layer, 0 being the embeddings: the head's
    first word, and the answer's rank and probability."""
    specimen = _specimen(name)
    (query,) = cloze.mask_queries(specimen, [words_of(specimen, text)])
    inputs = model_inputs(specimen, [Encoding(list(query.input_ids), [], list(query.segment_ids))])
    masked = inputs["input_ids"] == specimen.tokenizer.mask_token_id
    values = logits_of_layers(specimen, inputs, masked)[:, 0].softmax(-1)
    first = values.argmax(-1)
    answer = values[:, first[-1]]
    ranks = (values > answer[:, None]).sum(-1) + 1
    words = specimen.tokenizer.convert_ids_to_tokens(first.tolist())
    others = [layer + 1 for layer, word in enumerate(words) if word != words[-1]]
    lines = list(zip(words, ranks.tolist(), answer.tolist(), strict=True))
    return {"answer": words[-1], "since": max(others, default=0), "lines": lines}


def _layers(root: Path, question: Question) -> str:
    found, untrained = (by_layer(name, question["text"]) for name in (DEFAULT_MODEL, TWIN))
    shown = {"model": DEFAULT_MODEL, "twin": TWIN, "untrained": untrained["answer"]} | found
    return render("ask_layers.html", question=question, sizes=_sizes(root), **shown)


def _neighbours(root: Path, question: Question) -> str:
    answers, words = [], words_of(_specimen(DEFAULT_MODEL), question["text"])
    if question["word"] not in words:
        raise BertologyError(f"The sentence {question['text']!r} has no word {question['word']!r}.")
    place = words.index(question["word"])
    for name in (DEFAULT_MODEL, TWIN):
        found = neighbours(_specimen(name), words, references())
        answers.append({"name": name, "lines": [layer[place] for layer in found]})
    return render("ask_neighbours.html", question=question, answers=answers, sizes=_sizes(root), twin=TWIN)


def _learning(root: Path, question: Question) -> str:
    steps = families.known(families.checkpoints, LEARNER, root)
    if not steps:
        return ""
    answers = {step: filled(name, question["text"])["best"] for step, name in steps.items()}
    answer = answers[max(answers)][0][0]
    shares = {step: filled(name, question["text"], answer)["own"][0] for step, name in steps.items()}
    lines = [(step, best, *shares[step][1:]) for step, best in answers.items()]
    return render("ask_learning.html", question=question, answer=answer, lines=lines, names=steps, sizes=_sizes(root))


@cache
def _sizes(root: Path) -> Mapping[str, int]:
    """Bytes to load for each of `models_shown`."""
    return {kind: sum(size(_specimen(name)) for name in names) for kind, names in models_shown(root).items()}


def _notice(root: Path, question: Question) -> str:
    return render("ask_notice.html", sizes=_sizes(root), longest=LONGEST, version=version(root))


PANELS = {
    "notice": _notice,
    "fill": _fill,
    "sentences": _sentences,
    "heads": _heads,
    "layers": _layers,
    "neighbours": _neighbours,
    "learning": _learning,
}


def ask_part(name: str, root: Path, *_: object) -> str:
    """A panel with its prepared question and the answer to it."""
    return PANELS[name](root, QUESTIONS.get(name, {}))


def write_models(root: Path, html: Path) -> None:
    """The models that the page may ask, below the built pages."""
    export([name for names in models_shown(root).values() for name in names], html / TARGET)
