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
from bertology_utils.pages.ask import words_of
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
