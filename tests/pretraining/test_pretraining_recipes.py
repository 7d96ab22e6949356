"""What a recipe may change beside BERT's own: the body, its start, the mean of late weights, a small denominator."""

import inspect

import pytest
import torch
from pretraining_toys import STORIES, config, config_file, write_corpus

from bertology_utils.instruments.cloze import pseudo_log_likelihood
from bertology_utils.models import load
from bertology_utils.pretraining.compare import at_budget, recipe_digest
from bertology_utils.pretraining.config import PretrainingConfig
from bertology_utils.pretraining.engine import Pretraining, pretrain
from bertology_utils.pretraining.passes import Pass

LM = {"masked-tokens": 1.0}
BODIES = {
    "norms-first": "RobertaPreLayerNormForMaskedLM", "rotary": "RoFormerForMaskedLM",
    "gated": "NomicBertForMaskedLM", "modern": "ModernBertForMaskedLM",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    write_corpus(tmp_path / "toy.txt")
    return tmp_path


@pytest.mark.parametrize("body", BODIES)
def test_another_body_is_saved_as_a_class_that_others_load(folder, body):
    final = pretrain(config_file(folder, body=body, objectives=LM))
    specimen = load(str(final))
    assert specimen.model.config.architectures == [BODIES[body]]
    assert pseudo_log_likelihood(specimen, [["The", "cook", "slept", "."]])[0] < 0
    run = Pretraining(config(folder, body=body, objectives=LM))
    run.resume()
    batch = next(run.batches.held_out_batches(1))
    known = inspect.signature(specimen.model.forward).parameters
    logits = specimen.model(**{key: batch[key] for key in batch if key in known and key != "labels"}).logits
    saved = torch.nn.functional.cross_entropy(logits.flatten(0, 1)[batch["masked"]], batch["labels"])
    assert saved.item() == pytest.approx(run.network.eval().masked_loss(batch).item(), abs=5e-3)  # half precision


@pytest.mark.parametrize("body", BODIES)
def test_the_blocks_of_every_body_have_as_many_weights(folder, body):
    sizes = (config(folder, body=name, objectives=LM, width=48) for name in ("bert", body))
    bert, other = (sum(p.numel() for p in Pretraining(one).network.matrices) for one in sizes)
    assert other == bert


def test_the_mean_is_that_of_the_weights_after_each_of_the_last_steps(folder):
    run = Pretraining(config(folder, average=3))
    seen = []
    for _ in range(run.config.steps):
        run.train_step()
        seen.append({name: weight.clone() for name, weight in run.network.state_dict().items()})
    final = Pretraining(config(folder, average=3))
    final.run()
    for name, weight in final.network.state_dict().items():
        if weight.is_floating_point():
            assert torch.allclose(weight, torch.stack([s[name] for s in seen[-3:]]).mean(0), atol=1e-6), name
    again = Pretraining(config(folder, average=3))
    again.resume()
    again.run()  # a finished run that is gone on with stays what it is
    assert all(
        torch.equal(a, b)
        for a, b in zip(final.network.state_dict().values(), again.network.state_dict().values(), strict=True)
    )


def test_scaled_starts_touch_what_blocks_add_and_nothing_else(folder):
    plain, scaled = (Pretraining(config(folder, scaled_start=on)).network.state_dict() for on in (False, True))
    layers = config(folder).layers
    for name, weight in plain.items():
        writes = name.endswith("output.dense.weight")
        assert torch.allclose(scaled[name], weight / (2 * layers) ** 0.5 if writes else weight), name
    assert sum(name.endswith("output.dense.weight") for name in plain) == 2 * layers


def test_z_loss_is_the_squared_logarithm_of_the_denominator(folder):
    run = Pretraining(config(folder, objectives={**LM, "z-loss": 1e-4}))
    seen = Pass(run.network, run.batches[0])
    plain = [float(row.exp().sum().log()) ** 2 for row in seen.scores.detach().double()]
    assert run.batches.objectives["z-loss"].loss(seen).item() == pytest.approx(sum(plain) / len(plain), rel=1e-4)


def test_runs_on_unlike_texts_are_measured_on_the_same(folder):
    corpora = {name: str(write_corpus(folder / f"{name}.txt", STORIES[i : i + 1] * 40)) for i, name in enumerate("abc")}
    alike = {"a": 0.5, "b": 0.25, "c": 0.25}
    read = [{"a": 1.0}, ["b", "c"]]
    phases = [[{"steps": 6, "length": 32, "mixture": mixture}] for mixture in read]

    def measured(**changes):
        runs = (Pretraining(config(folder, corpora=corpora, objectives=LM, phases=own, **changes)) for own in phases)
        return [next(run.batches.held_out_batches(1))["input_ids"] for run in runs]

    first, second = measured(evaluation_mixture=alike)
    assert torch.equal(first, second)
    first, second = measured()
    assert first.shape != second.shape or not torch.equal(first, second)
    assert recipe_digest(config(folder)) == recipe_digest(config(folder, evaluation_mixture={"toy": 1.0}))


def test_new_keys_leave_the_names_of_old_recipes_alone(folder):
    old = config(folder)
    dumped = {key: value for key, value in old.model_dump().items() if key not in ("body", "scaled_start", "average")}
    assert recipe_digest(PretrainingConfig(**dumped)) == recipe_digest(old)
    assert len({recipe_digest(config(folder, **c)) for c in ({}, {"average": 2}, {"scaled_start": True})}) == 3


def test_the_averaged_steps_stretch_with_the_budget(folder):
    short = config(folder, average=3, cooldown=0)
    stretched = at_budget(short, 4000)
    assert stretched.average / stretched.steps == pytest.approx(3 / short.steps, rel=0.1)
