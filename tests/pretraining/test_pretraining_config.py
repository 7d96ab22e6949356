"""Pre-training: the schedule, what a configuration may say and what contradicts itself, and the folder of examples."""

from pathlib import Path

import pytest
import yaml
from pretraining_toys import config, config_file, write_corpus

from bertology_utils import cli
from bertology_utils.errors import BertologyError
from bertology_utils.pretraining.config import Masking, learning_rate_factor, read_config

FOLDER = Path(__file__).parents[2] / "configs" / "pretraining"
LM = {"masked-tokens": 1.0}


def test_the_learning_rate_is_a_trapezoid(tmp_path):
    phases = [{"steps": 10, "length": 8, "mixture": {"toy": 1}}]
    factors = [learning_rate_factor(step, config(tmp_path, warmup=4, cooldown=4, phases=phases)) for step in range(10)]
    assert factors == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25]
    flat = config(tmp_path, warmup=0, cooldown=0, phases=phases)
    assert {learning_rate_factor(step, flat) for step in range(10)} == {1.0}


def test_phases_follow_each_other(tmp_path):
    phases = [{"steps": 2, "length": 8, "mixture": {"toy": 1}}, {"steps": 3, "length": 16, "mixture": {"toy": 1}}]
    chosen = config(tmp_path, phases=phases)
    assert chosen.steps == 5 and [chosen.phase_at(step).length for step in range(6)] == [8, 8, 16, 16, 16, 16]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rte": 1.0}, "no key called 'learning_rte'. Did you mean learning_rate"),
        ({"objectives": {"masked-token": 1.0}}, "masked-tokens, replaced-tokens?\n"),
        ({"study": "nobody2020nothing"}, "no study 'nobody2020nothing'"),
        ({"phases": [{"steps": 5, "mixture": {"toys": 1.0}, "length": 8}]}, "unknown corpus 'toys'"),
        ({"phases": [{"steps": 5, "mixture": {"toy": 0.0}}]}, "weight above zero"),
        ({"evaluation_mixture": {"toy": 0.0}}, "weight above zero"),
        ({"evaluation_mixture": ["toys"]}, "unknown corpus 'toys'"),
        ({"phases": [{"steps": 5, "mixture": {"toy": 1.0}, "length": 4}]}, "length"),
        ({"phases": [{"steps": 5, "mixture": {"toy": 1.0}, "length": 64}]}, "positions"),
        ({"phases": []}, "phases"),
        ({"heads": 3}, "not a multiple"),
        ({"vocabulary_size": 70_000}, "vocabulary_size"),
        ({"layers": "many"}, "layers"),
        ({"corpora": {"toy": "a/x.txt", "other": "b/x.txt"}}, "share a file name"),
        ({"corpora": {"toy": {"path": "a", "hub": {"name": "b"}}}}, "either a path or a hub data set"),
        ({"corpora": {"toy": {"hub": {"name": "b"}, "format": "parallel"}}}, "two tab-separated columns"),
        ({"corpora": {"toy": {"path": "a", "format": "sentences"}}}, "format"),
        ({"smoothing": 0.7}, "'smoothing' changes nothing"),
        ({"stack": "a", "start": "b"}, "not both"),
        ({"body": "modern"}, "fills in blanks: leave 'next-sentence' out"),
        ({"body": "modern", "objectives": LM, "start": "a"}, "trained from nothing"),
        ({"body": "modern", "objectives": LM, "scaled_start": True}, "'scaled_start' is for a BERT"),
        ({"average": 1000}, "'average' is more than"),
        ({"shared_layers": True, "stack": "a"}, "cannot start from another"),
        ({"objectives": {"masked-token": 1.0}}, "Did you mean masked-tokens"),
        ({"objectives": {"masked-tokens": 0.0}}, "objectives.masked-tokens"),
        ({"objectives": {"span-boundary": 1.0}}, "needs masked-tokens"),
        ({"objectives": {**LM, "replaced-tokens": 50.0, "capitals": 1.0}}, "nothing else"),
        ({"objectives": {**LM, "replaced-tokens": 50.0}, "start": "a"}, "from nothing"),
        ({"stream": True}, "no pairs for 'next-sentence'"),
        ({"objectives": LM, "cls_normalisation": True}, "reads [CLS]"),
        ({"batch": 1, "positions": 64, "phases": [{"steps": 1}], "cls_normalisation": True}, "at least two inputs"),
        ({"corpora": {"toy": {"path": "a", "format": "parallel"}}}, "needs running text"),
        ({"masking": {"subsample": True, "unit": "word"}}, "leave 'unit' out"),
        ({"masking": {"phrases": "a"}}, "needs 'unit: phrase'"),
        ({"masking": {"hidden": 0.8, "replaced": 0.3}}, "more than one together"),
        ({"masking": {"unit": "sentence"}}, "masking.unit"),
        ({"name": ".."}, "name"),
        ({"name": "toy", "stack": "toy"}, "stack itself"),
        ({"keep_steps": [10_000]}, "outside of the run"),
        ({"objectives": LM, "stream": True, "single_share": 0.5}, "'single_share' changes nothing"),
    ],
)
def test_a_wrong_configuration_is_one_line(tmp_path, capsys, change, message):
    assert cli.main(["pretrain", str(config_file(tmp_path, **change))]) == 1
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") == 1
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "name: [unclosed", "just words"])
def test_a_file_without_settings_is_told(tmp_path, text):
    (tmp_path / "toy.yaml").write_text(text)
    with pytest.raises(BertologyError, match=r"no settings|not YAML"):
        read_config(tmp_path / "toy.yaml")
    with pytest.raises(BertologyError, match="no configuration file"):
        read_config(tmp_path / "other.yaml")


def test_a_key_that_stands_twice_is_told(tmp_path, capsys):
    path = config_file(tmp_path)
    path.write_text(path.read_text() + "layers: 2\nwidth: 16\nwidth: 32\n")
    assert cli.main(["pretrain", str(path)]) == 1
    errors = capsys.readouterr().err
    assert "stands twice" in errors and errors.count("\n") == 1


def test_an_empty_masking_is_extended_like_none(tmp_path):
    base = config_file(tmp_path)
    base.write_text(base.read_text() + "masking:\n")
    variant = tmp_path / "variant.yaml"
    variant.write_text(f"extends: {base.name}\nmasking: {{share: 0.3}}\n")
    assert read_config(variant).masking.share == 0.3


def test_a_configuration_extends_another(tmp_path):
    write_corpus(tmp_path / "toy.txt")
    config_file(tmp_path)
    (tmp_path / "wide.yaml").write_text("extends: toy.yaml\nname: wide\nwidth: 32\n")
    (tmp_path / "wider.yaml").write_text("extends: wide.yaml\nwidth: 64\n")
    chosen = read_config(tmp_path / "wider.yaml")
    assert (chosen.name, chosen.width, chosen.layers) == ("wide", 64, 1)
    (tmp_path / "masks.yaml").write_text("extends: wide.yaml\nmasking: {share: 0.3}\n")
    (tmp_path / "words.yaml").write_text("extends: masks.yaml\nmasking: {unit: word}\n")
    assert read_config(tmp_path / "words.yaml").masking == Masking(unit="word", share=0.3)
    (tmp_path / "ring.yaml").write_text("extends: ring.yaml\n")
    with pytest.raises(BertologyError, match="extends itself"):
        read_config(tmp_path / "ring.yaml")


def configurations(path: Path) -> list[Path]:
    """What a file describes: itself and its variants, each as `read_config` takes it."""
    variants = yaml.safe_load(path.read_text(encoding="utf-8")).get("variants") or {}
    return [path, *(Path(f"{path}#{name}") for name in variants)]


FILES = [path for file in sorted(FOLDER.rglob("*.yaml")) for path in configurations(file)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_configuration_of_the_project_is_valid_and_told(path):
    chosen = read_config(path)
    file, _, variant = str(path.relative_to(FOLDER)).partition("#")
    assert chosen.name == variant or not variant, "a run is found by its name"
    assert (FOLDER / file).read_text().startswith("#"), "a comment says what the run is for"
    assert f"`{file}` | `{chosen.study}`" in (FOLDER / "README.md").read_text()


def test_variants_stand_over_their_file_or_over_each_other(tmp_path):
    path = config_file(tmp_path)
    path.write_text(path.read_text() + "variants:\n  more: {batch: 7}\n  most: {of: more, seed: 3}\n")
    found = read_config(Path(f"{path}#most"))
    assert (found.name, found.batch, found.seed) == ("most", 7, 3) and read_config(path).batch != 7
    with pytest.raises(BertologyError, match="Did you mean most"):
        read_config(Path(f"{path}#mots"))


def test_the_nano_runs_differ_in_what_they_say_only():
    """The comparison is fair: same text, seed, batch, steps and learning rates."""
    base = yaml.safe_load((FOLDER / "compare" / "nano.yaml").read_text())
    for path in (FOLDER / "compare").glob("*.yaml"):
        own = yaml.safe_load(path.read_text())
        if path.stem != "nano":
            assert own["extends"] == "nano.yaml" and not {"corpora", "seed", "vocabulary_size", "work"} & set(own)
            steps = [phase["steps"] for phase in own.get("phases", base["phases"])]
            assert sum(steps) == sum(p["steps"] for p in base["phases"]) or "batch" in own
