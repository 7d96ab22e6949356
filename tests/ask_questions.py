"""Fifty sentences for the page that runs BERT in a browser, and Python's answers to them in files for a script."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from bertology_utils.instruments.cloze import word_scores
from bertology_utils.instruments.relations import PATTERNS, map_patterns
from bertology_utils.language.grammar import generate
from bertology_utils.models import Specimen, load
from bertology_utils.pages.ask import QUESTIONS
from bertology_utils.pages.ask_answers import attended, by_layer, filled, near, patterns, scored, words_of
from bertology_utils.pages.ask_neighbours import neighbours, references

ODD = (
    "What time [MASK] it?",
    "[MASK]",
    "She drank a cup of [MASK], didn't she?",
    "Don't stop-me now: it's 3.14159 o'clock!",
    "  Blanks\tand\nbreaks   are   one.  ",
    "Ångström, naïve façade and Zürich — déjà vu…",
    "İstanbul's ΣΟΦΟΣ met ΟΔΥΣΣΕΥΣ.",
    "The antidisestablishmentarianism of otorhinolaryngologists.",
    "中文 and 日本語 mixed withかな",
    "An emoji 🙂 and a soft\u00adhyphen, a zero\u200bwidth, a\ufeffmark.",
    "$5 + 7% = a^b <c> | ~d` @e #f &g *h \\i /j",
    "“Quoted” ‘words’ «here»",
    "Собаки бегут!",
    "a" * 101 + " is too long, " + "b" * 100 + " is not.",
    "ﬁne ligatures, ½ a cup, x² and № 5",
    "e\u0301 is é, and Ǆ is ǆ",
    "ẞ becomes ß, K is the Kelvin sign",
    "[CLS] is special, [SEP] too, [cls] is not",
    "mr. smith's dog-house wasn't re-opened in '99",
    "The keys to the house are on the table.",
)

ASKED = ("fill", "sentences", "heads", "layers", "neighbours")  # of the page's panels


def sentences(count: int = 50) -> list[str]:
    """Odd ones first, then sentences of the book's grammar."""
    made = generate(count - len(ODD), seed=5)
    return [*ODD, *(" ".join(sentence.words).capitalize() for sentence in made)][:count]


@torch.inference_mode()
def write_expected(folder: Path, texts: Sequence[str], model: str = "pocket-bert") -> None:
    """Pieces, words, scores, patterns and some neighbours as json; logits (pieces, vocabulary) and attention maps as
    float32, end to end."""
    specimen, entries, logits, maps = load(model, attention="eager"), [], [], []
    for text in texts:
        inputs = specimen.tokenizer(text, return_tensors="pt")
        output = specimen.model(**inputs, output_attentions=True)
        values = output["logits"] if "logits" in output else output["prediction_logits"]
        logits.append(values.numpy().ravel())
        maps.append(torch.cat(output.attentions).numpy().ravel())
        entries.append({"text": text, "ids": inputs["input_ids"][0].tolist(), **_scores(specimen, text)})
    np.concatenate(logits).astype("<f4").tofile(folder / "logits.bin")
    np.concatenate(maps).astype("<f4").tofile(folder / "maps.bin")
    near = [
        {"text": text, "lines": neighbours(specimen, words_of(specimen, text), references())} for text in texts[::12]
    ]
    expected = {"model": model, "sentences": entries, "neighbours": near}
    (folder / "expected.json").write_text(json.dumps(expected), encoding="utf-8")


def _scores(specimen: Specimen, text: str) -> dict[str, list]:
    words = words_of(specimen, text)
    patterns = [PATTERNS[code] for code in map_patterns(specimen, [words])[0].ravel()]
    return {"words": words, "scores": word_scores(specimen, [words])[0].tolist(), "patterns": patterns}


def write_step(path: Path, model: str = "ladder-1m@400") -> None:
    """The panels' questions, as messages to the page's worker, and what one step of a training answers."""
    fill, pair, heads, layers, near_to = (QUESTIONS[kind] for kind in ASKED)
    own, texts, (units, maps) = ["water", "##s"], list(pair.values()), attended(model, heads["text"])
    words, lines = near(model, near_to["text"])
    by = by_layer(model, layers["text"])
    found = [pattern for layer in patterns(model, heads["text"]) for pattern in layer]
    answers: list[tuple[dict, object]] = [
        ({"text": fill["text"], "words": own}, filled(model, fill["text"], own)),
        ({"texts": texts}, [{"words": words, "scores": scores} for words, scores in scored(model, texts)]),
        (heads, {"units": units, "maps": maps.ravel().tolist(), "patterns": found}),
        (layers, {"answer": by["answer"], "lines": by["lines"]}),
        ({"text": near_to["text"]}, {"words": words, "lines": lines}),
    ]
    entries = [
        {"question": {"kind": kind, "model": model, **question}, "answer": answer}
        for kind, (question, answer) in zip(ASKED, answers, strict=True)
    ]
    path.write_text(json.dumps(entries), encoding="utf-8")
