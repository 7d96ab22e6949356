"""Colours of verdicts, sentences and series differ for colour-blind readers, and read in both themes."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from bertology_utils.figures import explorers
from bertology_utils.figures.style import CONTROL, PALETTE, contrast

ASSETS = Path(__file__).parents[2] / "book" / "assets"
VISION = {  # Machado, Oliveira and Fernandes 2009, severity 1, of linear red, green and blue
    "all": np.eye(3),
    "no long cones": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "no middle cones": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "no short cones": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
CONES = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
OKLAB = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
APART = 0.05  # in Ottosson's OKLab, where 0.02 is just seen side by side


def seen(colour: str, vision: str) -> np.ndarray:
    """Lightness and two hues (3,) of a colour as this vision sees it."""
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return OKLAB @ np.cbrt(CONES @ np.clip(VISION[vision] @ linear, 0, 1))


def closest(colours: list[str], vision: str) -> float:
    return min(float(np.linalg.norm(seen(a, vision) - seen(b, vision))) for a, b in combinations(colours, 2))


def colours(sheet: str, block: str, names: str) -> dict[str, str]:
    text = (ASSETS / sheet).read_text(encoding="utf-8")
    return dict(re.findall(rf"--({names}): (#[0-9a-f]{{6}});", text[text.index(block) :].split("}")[0]))


BLOCKS = [
    ("house.css", 'html[data-theme="light"] {'),
    ("house.css", 'html[data-theme="dark"] {'),
    ("cards.css", ":root {"),
]
BLOCKS += [("cards.css", 'html[data-theme="dark"] {')]
VERDICTS = "verdict-(?:yes|half|no|weaker|undecided|open)"


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize(("sheet", "block"), BLOCKS)
def test_verdicts_differ(sheet, block, vision):
    found = colours(sheet, block, VERDICTS)
    assert len(found) == 6
    assert closest(list(found.values()), vision) > APART


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize(("sheet", "block"), BLOCKS[:2])
def test_two_sentences_differ(sheet, block, vision):
    assert closest(list(colours(sheet, block, "house-accent|house-warm").values()), vision) > APART


@pytest.mark.parametrize("vision", VISION)
def test_series_differ_and_the_first_four_most(vision):
    assert closest([CONTROL, *PALETTE], vision) > APART
    assert closest([CONTROL, *PALETTE[:4]], vision) > 1.5 * APART
    assert closest([CONTROL, *PALETTE[:2]], vision) > 2 * APART


@pytest.mark.parametrize(("sheet", "block"), BLOCKS[:2])
def test_series_read_on_the_page(sheet, block):
    (paper,) = colours(sheet, block, "house-paper").values()
    assert min(contrast(colour, paper) for colour in (CONTROL, *PALETTE)) >= 3


def test_explorers_have_the_colours_of_figures():
    sheet = Path(explorers.__file__).with_suffix(".css").read_text(encoding="utf-8")
    assert set(re.findall(r"--(?:ink|mark): (#[0-9a-f]{6})", sheet)) == set(PALETTE[:2])


def test_a_red_and_an_ochre_that_look_alike_are_found():
    assert closest(["#a3331f", "#7d5a00"], "all") > APART > closest(["#a3331f", "#7d5a00"], "no middle cones")
