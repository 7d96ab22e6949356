"""The figures: alternative text computed from the data, tables behind them, ids that never clash, colours that read."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex

from bertology_utils import figures
from bertology_utils.errors import BertologyError
from bertology_utils.figures.dots import Dots, dots
from bertology_utils.figures.html import INK, PAPER, Figure
from bertology_utils.figures.regions import Band, regions
from bertology_utils.figures.style import CONTROL, PALETTE, bootstrap_interval
from bertology_utils.statistics import Measurement, mean_interval

RANDOM = np.random.default_rng(0)
LAYERS = {"pocket": [0.2, 0.5, 0.9, 0.4], "random twin": [0.3, 0.2, 0.1, 0.2]}
AXIS = np.linspace(-1, 1, 5)
BOWL = np.add.outer(AXIS**2, AXIS**2) + 0.01
KINDS = {
    "layer_lines": lambda: figures.layer_lines(
        LAYERS, published={"study": 0.8}, baselines={"chance": 0.25}, caption="Layers & all"
    ),
    "curve": lambda: figures.curve([1, 10, 100], {"a": RANDOM.random((3, 9))}, logx=True, bands={"seeds": (0.2, 0.4)}),
    "dots": lambda: dots(
        {"how": ["x", "y"]},
        {"loss": {"x": Dots(np.array([1, 2]), 1.5, 1, 2, True), "y": Dots(np.array([0, 1]), 0.5, -1, 2, False)}},
    ),
    "head_map": lambda: figures.head_map(RANDOM.random((3, 4)), marks=[(2, 3)]),
    "bars": lambda: figures.bars({"model": [1, 0, 1, 1], "twin": 0.5}, published={"model": 0.9}),
    "grouped": lambda: figures.bars({"nsubj": {"model": 0.9, "twin": 0.4}, "obj": {"model": 0.7, "twin": 0.4}}),
    "scatter": lambda: figures.scatter(
        RANDOM.random((6, 2)), list("abcdef"), groups=["x", "x", "x", "y", "y", "y"], identity=True
    ),
    "heat": lambda: figures.heat(RANDOM.normal(size=(2, 3)), ["a", "b"], ["x", "y", "z"], diverging=True),
    "narrow heat": lambda: figures.heat(RANDOM.normal(size=(2, 2)), ["a", "b"], ["a", "b"], narrow=True),
    "surfaces": lambda: figures.surfaces(
        {"flat": BOWL, "steep": 4 * BOWL},
        AXIS,
        AXIS,
        marks={"end": (0, 0)},
        rims={"flat": 0.3, "steep": 0.3},
        label="loss",
        xlabel="along",
        ylabel="aside",
    ),
    "scatters": lambda: figures.scatters(
        {"before": [[0, 0], [0, 1], [9, 0], [9, 1]], "after": [[0, 0], [9, 0], [0, 1], [9, 1]]},
        ["en", "en", "de", "de"],
        groups=["Germanic"] * 4,
    ),
    "arc_tree": lambda: figures.arc_tree(["Owls", "see", "mice"], [1, -1, 1]),
}


def svg_of(figure):
    return re.search(r"<svg.*?</svg>", figure._repr_html_(), re.DOTALL).group(0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_accessible_html(kind):
    figure = KINDS[kind]()
    page = figure._repr_html_()
    root = ElementTree.fromstring(svg_of(figure))
    assert root.get("role") == "img" and root.get("aria-label") == figure.alt and len(figure.alt) > 30
    assert "currentColor" in page and INK not in page and PAPER not in page
    assert "<details" in page and 'scope="col"' in page and 'scope="row"' in page
    assert figure._repr_mimebundle_()["text/plain"].startswith(figure.alt)


def test_ids_of_equal_figures_on_one_page_do_not_clash():
    first, second = (svg_of(KINDS["bars"]()) for _ in range(2))
    ids = [re.findall(r'\bid="([^"]+)"', svg) for svg in (first, second)]
    assert ids[0] and not set(ids[0]) & set(ids[1])
    for svg, known in zip((first, second), ids, strict=True):
        assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg)) <= set(known)


def test_displaying_twice_gives_the_same_page():
    figure = KINDS["layer_lines"]()
    assert figure._repr_html_() == figure._repr_html_()


def test_layer_alt_names_best_layer_and_control():
    alt = KINDS["layer_lines"]().alt
    assert "pocket is highest at layer 2 (0.9)" in alt and "random twin is highest at layer 0 (0.3)" in alt
    assert "chance: 0.25" in alt and "Published (study): 0.8" in alt


def test_a_line_is_told_by_its_run_and_its_lead_over_its_twin():
    low, high = np.array([[0.2, 0.2], [0.3, 0.3], [0.1, 0.1]]), np.array([[0.1, 0.3], [0.8, 0.9], [0.9, 1.0]])
    alt = figures.layer_lines({"model": high, "twin": low}).alt
    assert "model lies above twin at 2 of 3 points, below at 0; intervals are apart at 2." in alt
    assert "lowest at 0 (0.2); it never falls. twin" in alt and "lowest at 2 (0.1); it goes from 0.2 to 0.1." in alt
    assert "b is the highest at 2 of 3 points." in figures.curve([1, 2, 3], {"a": [1, 0, 0], "b": [0, 2, 1]}).alt
    alt = figures.curve([1, 2, 3, 4], {"gap": [np.nan, 2, 2, 1], "flat": [3, 3, 3, 3], "hump": [0, 2, 1, 1]}).alt
    assert "lowest at 4 (1); it never rises. flat is 3 throughout." in alt and "it goes from 0 to 1." in alt


def test_many_bars_are_told_by_name():
    scores = {f"relation {i}": {"model": 0.9 - i / 10, "twin": 0.5 if i else 1.0, "rule": 0} for i in range(4)}
    alt = figures.bars(scores).alt
    assert "model 0.6 (relation 3) to 0.9 (relation 0), highest of its group in 3 of 4; twin 0.5" in alt
    alt = figures.bars({f"bar {i}": i / 10 for i in range(9)}).alt
    assert "9 bars: highest bar 8 0.8, lowest bar 0 0." in alt


def test_rows_of_a_map_are_told_by_their_means():
    matrix = np.array([[np.nan, np.nan], [1, 0], [3, 0]])
    alt = figures.heat(matrix, ["a", "b", "c"], ["x", "y"], ylabel="task").alt
    assert "Means by task: highest c (1.5), lowest b (0.5)." in alt


def test_values_between_two_regions_are_told_by_their_place():
    bands = (Band("Lin: weak", "< 0.2", -np.inf, 0.2), Band("Clark: good", "> 0.8", 0.8, np.inf))
    found = {row: Measurement(value, value - 0.1, value + 0.1, 9) for row, value in {"a": 0.5, "b": 0.85}.items()}
    alt = regions(bands, found, found | {"b": Measurement(0.0, -0.1, 0.1, 9)}).alt
    assert "This run, a: 0.50 (0.40 to 0.60) lies in neither region." in alt
    assert "This run, b: 0.85 (0.75 to 0.95) lies in “Clark: good” with part of its interval." in alt
    assert "twin, b: 0.00 (-0.10 to 0.10) lies in “Lin: weak” with its whole interval." in alt
    overlapping = (bands[0], Band("Clark: any", "> 0.1", 0.1, np.inf))
    assert (
        "a: 0.15 (0.05 to 0.25) lies in both regions with part"
        in regions(overlapping, {"a": Measurement(0.15, 0.05, 0.25, 9)}, {"a": found["a"]}).alt
    )


def test_intervals_reach_the_table_and_match_the_plain_bootstrap():
    samples = RANDOM.random((3, 60))
    table = figures.layer_lines({"model": samples}).table
    assert np.allclose(table["model"], samples.mean(1))
    assert (table["model, low"] < table["model"]).all() and (table["model"] < table["model, high"]).all()
    draws = [samples[:, RANDOM.integers(0, 60, 60)].mean(1) for _ in range(2000)]
    assert np.allclose(bootstrap_interval(samples), np.quantile(draws, [0.025, 0.975], axis=0), atol=0.015)


def test_a_published_model_of_another_depth_is_said_to_be_at_relative_depth():
    assert "at relative depth" in figures.layer_lines(LAYERS, published={"BERT": np.linspace(0, 1, 13)}).alt
    assert "at relative depth" not in figures.layer_lines(LAYERS, published={"BERT": np.linspace(0, 1, 4)}).alt


def test_head_map_prints_heads_from_one():
    matrix = np.zeros((3, 4))
    matrix[1, 2] = 1
    alt = figures.head_map(matrix, marks=[(2, 3)], control=np.full((3, 4), 0.5)).alt
    assert "best head is 2-3" in alt and "Framed heads: 2-3" in alt and "control's best head reaches 0.5" in alt


def test_control_is_dashed_grey_and_model_is_not():
    lines = {line.get_label(): line for line in KINDS["layer_lines"]().figure.axes[0].lines}
    assert (lines["random twin"].get_color(), lines["random twin"].get_linestyle()) == (CONTROL, "--")
    assert (lines["pocket"].get_color(), lines["pocket"].get_linestyle()) == (PALETTE[0], "-")
    assert lines["published: study"].get_markerfacecolor() == "none"


def test_no_two_of_eighteen_lines_look_the_same():
    lines = figures.curve([1, 2], {f"series {i}": [i, i + 1] for i in range(18)}).figure.axes[0].lines
    looks = {(line.get_color(), line._dash_pattern[1] and tuple(line._dash_pattern[1])) for line in lines}
    assert len(looks) == 18
    assert [line.get_markerfacecolor() == "none" for line in lines] == [False] * 6 + [True] * 12


def test_a_narrow_dot_plot_has_room_for_words_above_its_rows():
    groups = {"how far trees are found": ["x" * 70, "y"], "what": ["z"]}
    panel = {name: Dots(np.array([0.5]), 1.0, 0.5, 1.5, True) for names in groups.values() for name in names}
    drawn = dots(groups, {"effect": panel}, bands=[1.0], narrow=True)
    words = {text.get_text(): text.get_position()[1] for text in drawn.figure.axes[0].texts}
    assert list(words.values()) == [2.5, 5.5, 9.5, 0.5, 7.5] and "\n" in next(iter(words))  # marks at 3, 6 and 10
    assert drawn.figure.get_figwidth() * 96 < 360 and not drawn.figure.axes[0].get_yticks().size


def test_a_twin_bears_its_models_marker_and_takes_no_colour():
    pairs = {f"{task}{of}": [i, i + 1] for i, task in enumerate(("tags", "trees")) for of in ("", ", twin")}
    lines = figures.curve([1, 2], pairs).figure.axes[0].lines
    assert [line.get_color() for line in lines] == [PALETTE[0], CONTROL, PALETTE[1], CONTROL]
    assert [line.get_marker() for line in lines] == ["o", "o", "s", "s"]
    patches = figures.bars({"group": dict.fromkeys(pairs, 0.5)}).figure.axes[0].patches
    assert [to_hex(patch.get_edgecolor()) for patch in patches] == [PALETTE[0], CONTROL, PALETTE[1], CONTROL]


def test_ink_on_a_bar_has_a_halo_of_the_pages_colour():
    page = figures.bars({"model": np.array([0.0, 1.0, 1.0])}, published={"model": 0.5})._repr_html_()
    assert page.count("stroke: var(--pst-color-background") >= 2


def test_hatchings_are_clipped_to_their_bars():
    drawn = figures.bars({"group": {"model": 0.9, "twin": 0.5}}).figure
    for patches in (drawn.axes[0].patches, drawn.legends[0].get_patches()):
        hatched = patches[1]
        assert np.allclose(
            hatched.get_clip_box().extents, hatched.get_path().get_extents(hatched.get_transform()).extents
        )


def test_arc_tree_names_heads():
    figure = KINDS["arc_tree"]()
    assert "the root is “see”, and from it hang “Owls”, “mice”. The longest of 2 arcs leads from" in figure.alt
    assert list(figure.table["head"]) == ["see", "(root)", "see"]


def test_scatter_tells_the_finding():
    line = np.column_stack([np.arange(5), np.arange(5) ** 2])
    assert "correlation 1.00. x runs from 0 to 4. y runs from 0 to 16." in figures.scatter(line).alt
    assert (
        "y runs from 0 (a) to 16 (e). 3 points lie above the diagonal."
        in figures.scatter(line, list("abcde"), identity=True).alt
    )


def test_panels_tell_how_often_a_neighbour_bears_the_label_and_fit_a_phone():
    drawn = KINDS["scatters"]()
    assert "before: the nearest neighbour of 100% of the points has their label." in drawn.alt
    assert "after: the nearest neighbour of 0%" in drawn.alt and "4 points with 2 labels in 1 groups" in drawn.alt
    assert drawn.figure.get_figwidth() * 96 < 360 and len(drawn.figure.axes) == 2
    assert list(drawn.table["before, x"]) == [0, 0, 9, 9]


def test_surfaces_tell_the_share_of_each_plane_below_its_rim():
    drawn = KINDS["surfaces"]()
    assert f"flat: {np.mean(BOWL < 0.3):.0%}" in drawn.alt and f"steep: {np.mean(4 * BOWL < 0.3):.0%}" in drawn.alt
    assert "end at (0, 0)" in drawn.alt and len(drawn.table) == 2 * BOWL.size


def test_a_rim_that_a_surface_never_reaches_is_not_drawn(recwarn):
    options = {"marks": {}, "label": "loss", "xlabel": "along", "ylabel": "aside"}
    assert "100% of the plane" in figures.surfaces({"low": BOWL}, AXIS, AXIS, rims={"low": 9.0}, **options).alt
    assert not recwarn.list


def test_a_narrow_map_fits_a_phone_and_its_framed_diagonal_is_told_as_one():
    matrix = np.array([[30.0, -0.2], [-20, 40]])
    drawn = figures.heat(matrix, ["de", "fr"], ["de", "fr"], marks=[(0, 0), (1, 1)], narrow=True, diverging=True)
    assert drawn.figure.get_figwidth() * 96 < 360 and drawn.alt.endswith("Framed: the diagonal.")
    assert {text.get_text() for text in drawn.figure.axes[0].texts} == {"30", "0", "-20", "40"}
    assert "Framed: de, fr." in figures.heat(matrix, ["de", "fr"], ["de", "fr"], marks=[(0, 1)]).alt


def test_table_escapes_and_rounds():
    page = figures.table([{"model": "<b>", "score": 0.61234, "count": 1200}], caption="Scores")._repr_html_()
    assert "&lt;b&gt;" in page and "<td>0.612</td>" in page and "<td>1200</td>" in page
    page = figures.table([{"model": "a", "low": -1e-9, "high": np.inf}])._repr_html_()
    assert "<td>0.000</td><td>–</td>" in page
    page = figures.table([{"model": "a", "per cent": 48.5}, {"model": "b", "per cent": 9.0}])._repr_html_()
    assert "<td>48.5</td>" in page and "<td>9.0</td>" in page


def test_a_table_shows_its_caption_and_sets_words_apart():
    page = figures.table([{"model": "a", "guess": "money", "score": 0.5}], caption="What <it> expects")._repr_html_()
    assert "<figcaption>What &lt;it&gt; expects</figcaption>" in page
    assert '<td class="words">money</td><td>0.5</td>' in page


def test_many_bars_fit_a_screen():
    few, many = ({f"group {g}": dict.fromkeys(map(str, range(4)), 0.5) for g in range(n)} for n in (2, 9))
    few, many = (figures.bars(values).figure.get_size_inches()[1] for values in (few, many))
    assert few < many < 7


def test_wrong_shapes_are_refused():
    for wrong in (
        lambda: figures.layer_lines({"a": [1, 2], "b": [1]}),
        lambda: figures.heat(np.zeros((2, 2)), ["a"], ["b"]),
        lambda: figures.scatter([1, 2, 3]),
        lambda: figures.arc_tree(["a"], []),
    ):
        with pytest.raises(BertologyError):
            wrong()


def test_caption_is_escaped():
    assert "<figcaption>Layers &amp; all</figcaption>" in KINDS["layer_lines"]()._repr_html_()
    assert isinstance(KINDS["bars"](), Figure)


def test_two_controls_of_a_group_are_told_apart_without_colour():
    scores = {"model": 0.9, "twin": 0.5, "majority": 0.4}
    figure = figures.bars({"first": scores, "second": scores}, controls=["twin", "majority"])
    hatches = [patch.get_hatch() for patch in figure.figure.axes[0].patches]
    assert hatches[0] is None and hatches[1] != hatches[2] and hatches[:3] == hatches[3:6]


def test_where_a_line_is_highest_is_told_in_words():
    assert figures.highest([0.1, 0.9, 0.3]) == "layer 1 of 2"
    assert figures.highest(np.array([[0.1, 0.2], [0.0, 0.1]]), first_layer=1) == "layer 1 of 2"
    assert figures.highest([0.1, 0.9, 0.3], x=range(0, 9, 4)) == "layer 4 of 8"


def test_a_bar_has_the_interval_that_a_verdict_gives_its_samples():
    rng = np.random.default_rng(0)
    apart = (rng.random((6, 400)) < np.array([[0.3, 0.9, 0.4, 0.8, 0.35, 0.85]]).T).astype(float)
    alike = (rng.random((6, 400)) < apart.mean()).astype(float)
    rows = figures.bars({"seeds apart": apart, "seeds alike": alike, "one item": np.array([0.5])}).table
    for row, samples in zip(rows.itertuples(), (apart, alike), strict=False):
        expected = mean_interval(samples)
        assert (row.low, row.high) == pytest.approx((expected.low, expected.high))
    widths = rows["high"] - rows["low"]
    assert widths[0] > 4 * widths[1] and widths[2] == 0


def test_the_interval_of_a_share_is_drawn_between_none_and_all():
    row = figures.bars({"model": np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])}).table.iloc[0]
    assert (row["low"], row["high"]) == (0, 1)
