"""The page *Ask BERT*: models as files that a browser reads, and the answers that stand there until a reader asks.

Depends on `ask_answers` and `ask_learnt` for the answers, on models and figures; the extension writes the models beside
the built pages, where only a click fetches them.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from bertology_utils import families
from bertology_utils.errors import BertologyError
from bertology_utils.figures import attention_explorer
from bertology_utils.files import read_json, write_text
from bertology_utils.instruments import relations
from bertology_utils.models import Specimen
from bertology_utils.pages.ask_answers import (
    SHOWN,
    attended,
    by_layer,
    filled,
    near,
    patterns,
    scored,
    specimen_of,
    words_of,
)
from bertology_utils.pages.ask_learnt import LEARNER, LEARNT, LETTERS, Question, learnt_part
from bertology_utils.pages.ask_neighbours import NEAREST, references
from bertology_utils.project import DEFAULT_MODEL, RANDOM_PREFIX, model_slug
from bertology_utils.templates import render

PAGE = "book/ask"
ASSETS = Path("book") / "assets" / "ask"
TARGET = Path("_static") / "ask" / "models"  # below the built pages
MANIFEST = "manifest.json"
TWIN = RANDOM_PREFIX + DEFAULT_MODEL
MARKING = Path("_executed") / "live" / DEFAULT_MODEL / "attention.ipynb"
EXPLORER = re.compile(r'data-kind="attention".*?<script type="application/json">(.*?)</script>', re.DOTALL)
UNUSED = ("bert.pooler.", "cls.seq_relationship.", "cls.predictions.decoder.")  # the last is tied to the embeddings
LONGEST = 30  # words that a reader may type; a browser answers in a few seconds then
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


# --- models as files ------------------------------------------------------------------------------------------------


def models_shown(root: Path) -> dict[str, list[str]]:
    """The names that `load` takes, by what the page calls them together; the learner's by step."""
    return {"model": [DEFAULT_MODEL], "twin": [TWIN], "learning": list(_steps(root).values())}


def _steps(root: Path) -> dict[int, str]:
    """The learner's stored steps by number; none where a project has no such family."""
    return families.known(families.checkpoints, LEARNER, root) or {}


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
    models = {name: export_model(specimen_of(name), folder) for name in names}
    tokenizer = specimen_of(names[0]).tokenizer
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    others = [" ".join(words) for words in references()]
    shown = {"longest": LONGEST, "shown": SHOWN, "nearest": NEAREST}
    manifest = {**shown, "limits": LIMITS, "references": others, "pieces": pieces, "models": models}
    write_text(folder / MANIFEST, json.dumps(manifest, ensure_ascii=False, separators=(",", ":")))


def version(root: Path) -> str:
    """A short hash of the page's scripts: names one edition of them, so that a browser's cache mixes no two."""
    content = b"".join(path.read_bytes() for path in sorted((root / ASSETS).glob("*")))
    return hashlib.sha256(content).hexdigest()[:10]


# --- the panels -----------------------------------------------------------------------------------------------------


def _fill(root: Path, question: Question) -> dict[str, Any]:
    own = [word.strip() for word in question["words"].split(",") if word.strip()]
    return {"answers": {name: filled(name, question["text"], own) for name in (DEFAULT_MODEL, TWIN)}}


def _sentences(root: Path, question: Question) -> dict[str, Any]:
    (first, scores), (second, against) = scored(DEFAULT_MODEL, list(question.values()))
    lines = list(zip(first, second, scores, against, strict=True))  # the prepared sentences have one length
    sign = 1 if sum(scores) > sum(against) else -1
    place = max(lines, key=lambda line: sign * (line[2] - line[3]))
    most = max(abs(line[2] - line[3]) for line in lines)
    untrained = np.subtract(*(sum(scores) for _, scores in scored(TWIN, list(question.values()))))
    return {"lines": lines, "place": place, "most": most, "untrained": untrained}


def chapter_marks(root: Path) -> dict[str, str]:
    """The heads that the executed chapter on attention marks, and with which relations; none where it marks none."""
    cells = (read_json(root / MARKING) or {}).get("cells", [])
    outputs = (output for cell in cells for output in cell.get("outputs", []))
    pages = ("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    data = next((found[1] for page in pages if (found := EXPLORER.search(page))), "{}")
    return json.loads(data).get("marks", {})


def _heads(root: Path, question: Question) -> dict[str, Any]:
    (units, maps), (_, untrained) = (attended(name, question["text"]) for name in (DEFAULT_MODEL, TWIN))
    views = {DEFAULT_MODEL: maps, "untrained twin": untrained}
    figure = attention_explorer(units, views, marks=chapter_marks(root))._repr_html_()
    found = {name: patterns(name, question["text"]) for name in (DEFAULT_MODEL, TWIN)}
    return {"figure": Markup(figure), "patterns": found, "letters": LETTERS}


def _layers(root: Path, question: Question) -> dict[str, Any]:
    found, untrained = (by_layer(name, question["text"]) for name in (DEFAULT_MODEL, TWIN))
    return {"untrained": untrained["answer"]} | found


def _neighbours(root: Path, question: Question) -> dict[str, Any]:
    words = words_of(specimen_of(DEFAULT_MODEL), question["text"])
    if question["word"] not in words:
        raise BertologyError(f"The sentence {question['text']!r} has no word {question['word']!r}.")
    place, models = words.index(question["word"]), (DEFAULT_MODEL, TWIN)
    return {"answers": {name: [layer[place] for layer in near(name, question["text"])[1]] for name in models}}


PANELS = {
    "notice": ("ask_notice.html", lambda root, _: {"longest": LONGEST, "version": version(root)}),
    "fill": ("ask_fill.html", _fill),
    "sentences": ("ask_sentences.html", _sentences),
    "heads": ("ask_heads.html", _heads),
    "layers": ("ask_layers.html", _layers),
    "neighbours": ("ask_neighbours.html", _neighbours),
    "learning": ("ask_learning.html", lambda *_: {}),  # it shows the steps of training alone
}


@cache
def _sizes(root: Path) -> Mapping[str, int]:
    """Bytes to load for each of `models_shown`."""
    return {kind: sum(size(specimen_of(name)) for name in names) for kind, names in models_shown(root).items()}


def panel(name: str, root: Path, question: Question) -> str:
    """A panel with a question, the answers to it, and how they were learnt."""
    template, answers = PANELS[name]
    sizes, steps = _sizes(root), _steps(root)
    learnt = learnt_part(name, steps, question, sizes["learning"]) if name in LEARNT else ""
    shown = {"model": DEFAULT_MODEL, "twin": TWIN, "steps": steps.values(), "question": question, "sizes": sizes}
    return render(template, learnt=learnt, **shown, **answers(root, question))


def ask_part(name: str, root: Path, *_: object) -> str:
    """A panel with its prepared question and the answer to it."""
    return panel(name, root, QUESTIONS.get(name, {}))


def write_models(root: Path, html: Path) -> None:
    """The models that the page may ask, below the built pages."""
    export([name for names in models_shown(root).values() for name in names], html / TARGET)
