"""What a notebook uses: one `Chapter` object that loads, measures, tests, tells and records. Depends on all before it.

The control runs through the same code as the model: `measure` calls one closure on both, and `test` applies the
prediction of the claims file to both.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from IPython.display import HTML, Markdown, display
from transformers.utils import logging as transformers_logging

from bertology_utils import figures
from bertology_utils.absent import Absent, absent_in, asked
from bertology_utils.data.material import EMBEDDED, sources
from bertology_utils.data.registry import identity as data_identity
from bertology_utils.errors import BertologyError, unknown
from bertology_utils.figures.dots import Dots, dots
from bertology_utils.figures.regions import Band, regions
from bertology_utils.files import write_json
from bertology_utils.models import Specimen, load, twin, with_attention
from bertology_utils.project import CHAPTERS, PROFILES
from bertology_utils.runs import Runs, filled
from bertology_utils.samples import item_count, packed
from bertology_utils.tuning.changes import blocks_have_own_weights
from bertology_utils.verdicts import cards
from bertology_utils.verdicts.claims import Claim, claim_by_id
from bertology_utils.verdicts.conclusions import Answer, answer, conclusions, read_themes
from bertology_utils.verdicts.conflicts import Axis, axis_by_name, samples_to_keep, settled
from bertology_utils.verdicts.judging import Tested, judge_claim, needed
from bertology_utils.verdicts.predictions import NOT_TESTABLE, Judgement

SHOWN = (-2.0, 5.0)  # of multiples of the smallest effect that would matter
SMALL = 20_000_000  # parameters of a model whose untrained twins are all kept: to make one again costs a second
PARTS: dict[str, Callable[[Specimen], bool]] = {  # what a claim may require of a model
    "masked-LM head": lambda specimen: specimen.has_mlm_head,
    "attention maps": lambda specimen: specimen.has_attention_maps,
    "block with weights of its own": lambda specimen: blocks_have_own_weights(specimen.encoder),
    "second head in a layer": lambda specimen: specimen.heads > 1,
    "next-sentence head": lambda specimen: specimen.has_next_sentence_head,
    "parameters named as BERT's": lambda specimen: specimen.model.config.model_type == "bert",
    "training": lambda specimen: not specimen.is_random,
}


class Chapter:
    """The state of one chapter's run; see `open_chapter`."""

    def __init__(self, name: str, model: str, profile: str, seed: int, record: str | None):
        if name not in CHAPTERS:
            raise unknown("chapter", name, CHAPTERS)
        if profile not in PROFILES:
            raise unknown("profile", profile, PROFILES)
        self.name, self.model_name, self.profile, self.seed = name, model, profile, seed
        self.record_path = Path(record) if record else None
        self.results: list[dict[str, Any]] = []
        self.axes: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self._twins_kept: dict[int, Specimen] = {}
        self._clock = time.perf_counter()

    @cached_property
    def specimen(self) -> Specimen:
        return load(self.model_name)

    @cached_property
    def twin(self) -> Specimen:
        return twin(self.specimen)

    @cached_property
    def eager(self) -> Specimen:
        """The specimen with eager attention, which alone returns attention maps."""
        return with_attention(self.specimen, "eager")

    @cached_property
    def eager_twin(self) -> Specimen:
        return with_attention(self.twin, "eager")

    def scale(self, *, smoke: Any, live: Any, full: Any) -> Any:
        """The size of an experiment under the current profile."""
        return {"smoke": smoke, "live": live, "full": full}[self.profile]

    def source(self, full: str) -> str:
        """Where an experiment reads: the book's own material, or under the profile `full` the named data set."""
        return full if self.profile == "full" else EMBEDDED

    def measure(
        self,
        evaluate: Callable[..., Any],
        *claims: str,
        eager: bool = False,
        twins: int | None = None,
        seeds: Sequence[int] | None = None,
        after: Runs | Absent | None = None,
    ) -> Runs | Absent:
        """Runs one closure on the specimen and on its untrained twin; where it is absent for one, all is.

        Args:
            claims: what the measurement is for; where the model lacks what one of them requires, nothing is measured.
            eager: whether it reads attention maps; claims that require these say so themselves.
            twins: how many untrained twins, each with other weights: five where a measurement is cheap. A smoke run
                has one. By default one, or as many as `seeds`.
            seeds: of the closure, which gets them as `seeds`: all for the model, and one for each twin, so that several
                untrained networks cost no more than one. `Runs.pooled` makes them one control again.
            after: an earlier measurement, of which the closure gets the same side as a second argument.
        """
        if absent := self.absent(*claims) or absent_in(after):
            return absent
        eager = eager or any("attention maps" in claim_by_id(claim).requires for claim in claims)
        pair = (self.eager, self.eager_twin) if eager else (self.specimen, self.twin)
        count = len(seeds[:twins]) if seeds else 1 if self.profile == "smoke" else twins or 1
        specimens = chain(pair, self._other_twins(count, eager))  # one after the other: they need not all be in memory
        earlier = [] if after is None else [(after.model, after.twin, *after.others)]
        if seeds is None:
            return Runs.of(*map(asked(evaluate), specimens, *earlier))
        one_each = [list(seeds), *([seed] for seed in seeds[:twins])]
        return Runs.of(*map(asked(lambda *sides: evaluate(*sides[1:], seeds=sides[0])), one_each, specimens, *earlier))

    def _other_twins(self, count: int, eager: bool) -> Iterator[Specimen]:
        for seed in range(self.twin.seed + 1, self.twin.seed + count):
            other = self._twins_kept.get(seed) or twin(self.specimen, seed)
            if other.model.num_parameters() <= SMALL:  # what is known of it is kept as well
                self._twins_kept[seed] = other
            yield with_attention(other, "eager") if eager else other

    def absent(self, *claims: str) -> Absent | None:
        """Why the specimen does not allow to test one of the claims; None where it allows all."""
        for claim in map(claim_by_id, claims):
            for part in claim.requires:
                if not PARTS[part](self.specimen):
                    return Absent(f"{self.model_name} has no {part}")
        return None

    def test(
        self,
        identity: str,
        runs: Any,
        control: Mapping[str, Any] | None = None,
        specimen: Specimen | None = None,
        *,
        data: str = EMBEDDED,
        **options: Any,
    ) -> Any:
        """Judges a claim on named samples, shows the verdict card, records the result, and gives a `Runs` back.

        Args:
            runs: a `Runs` of sample mappings, or the model's samples with `control` beside them; or a closure to be
                measured first, with the `options` of `measure`.
            specimen: the model that the samples are of, where it is not the chapter's; the record names it.
            data: the source that the samples came from, or several joined by " + ".
        """
        claim = self._claim(identity)
        if callable(runs) and not isinstance(runs, Absent):
            runs = self.measure(runs, identity, **options)
        if absent := absent_in([runs, control]) or self.absent(identity):
            self.not_testable(identity, absent.reason)
            return absent
        samples = runs.model if isinstance(runs, Runs) else runs
        twins = runs.controls if isinstance(runs, Runs) else [control]
        if None in twins:
            raise BertologyError(f"The claim '{identity}' is tested without a control.")
        used = asked(lambda: [needed(claim, own) for own in (samples, *twins)])()
        if isinstance(used, Absent):
            self.not_testable(identity, used.reason)
            return used
        tested = judge_claim(claim, used[0], used[1:])
        kept, *twins_kept = [{name: packed(array) for name, array in own.items()} for own in used]
        size = _size(claim, tested, used[0])
        self._add(claim, tested, size, specimen, data, {"samples": kept, "control_samples": twins_kept})
        return runs if isinstance(runs, Runs) else None

    def not_testable(self, identity: str, reason: str) -> None:
        """Records that a claim cannot be tested here, with the reason."""
        self._add(self._claim(identity), Tested(NOT_TESTABLE, Judgement(reason=reason), Judgement()))

    def settle(
        self,
        name: str,
        runs: Runs | Absent,
        *,
        points: Mapping[str, Sequence[float]] | None = None,
        published: Mapping[str, float] | None = None,
    ) -> None:
        """Draws both sides of a conflict and this run on one axis, and says which side the run supports.

        Args:
            name: of the conflict's axis in verdicts/conflicts.yaml.
            runs: the named samples of its rows, of the model and of its twin.
            points: single layers, heads or tasks, on the axis' scale.
            published: the studies' own values, on the same scale.
        """
        axis = axis_by_name(name)
        if absent_in([runs, points or {}]) or absent_in([runs.model, runs.twin]):
            return
        twins = [control for control in runs.controls if axis.names <= set(control)]
        found = settled(axis, runs.model, twins, published)
        self.axes[name] = samples_to_keep(axis, [runs.model, *twins], published)
        bands = tuple(Band(s.label, s.region.text, s.region.low, s.region.high) for s in axis.sides)
        figure = regions(
            bands,
            found.model.rows,
            found.twins.rows,
            points=points,
            published=published,
            scale=axis.scale,
            caption=_reasons(axis),
        )
        display(HTML(cards.conflict_card(name, figure._repr_html_(), found.sentence, axis.differ)))

    def say(self, text: str, *runs: Runs | Absent, **values: Any) -> None:
        """Prose whose numbers come from this run: see `runs.filled`; without runs and values the text as it is."""
        if absent_in([*runs, values]) is None:
            display(Markdown(filled(text, *runs, **values) if runs or values else text))

    def table(self, rows: Any, *, claim: str = "", here: str = "", caption: str = "") -> figures.Figure | None:
        """A table; as with `Runs.bars`, the caption tells what the `claim`'s study showed, then what is seen `here`."""
        study = claim_by_id(claim).figure if claim else None
        return figures.table(rows, caption=" ".join(filter(None, (caption, study, here))))

    def conclude(self) -> None:
        """The chapter's synthesis by its themes: what replicates, what does not and why it might not; `conclusions`."""
        themes = read_themes(self.name)
        statements = {result["id"]: claim_by_id(result["id"]).statement for result in self.results}
        display(HTML(conclusions(self.results, themes, statements)))
        about = {result["id"] for result in self.results if claim_by_id(result["id"]).about_training}
        display(HTML(_answer(answer(self.results, themes, about))))

    def close(self) -> None:
        """Writes the record, once, when the chapter has run to its end."""
        if self.record_path is None:
            return
        said = {"results": self.results, "axes": self.axes, "data_sets": self._data_sets(), "seconds": self.seconds}
        write_json(self.record_path, {"chapter": self.name} | said)

    def _data_sets(self) -> dict[str, dict[str, str]]:
        """Licence and sha256 of every real set that a result rests on."""
        named = {name for result in self.results for name in result["data"].split(" + ")} - {EMBEDDED}
        return {name: data_identity(name) for name in sorted(named)}

    def _claim(self, identity: str) -> Claim:
        claim = claim_by_id(identity)
        if any(result["id"] == identity for result in self.results):
            raise BertologyError(f"The claim '{identity}' is tested twice in the chapter '{self.name}'.")
        return claim

    def _add(
        self,
        claim: Claim,
        tested: Tested,
        size: Mapping[str, int] | None = None,
        specimen: Specimen | None = None,
        data: str = EMBEDDED,
        kept: Mapping[str, Any] | None = None,
    ) -> None:
        result = {
            "id": claim.id,
            "prediction": claim.full_prediction,
            "sealed": claim.version,
            "model": specimen.name if specimen else self.model_name,
            "model_sha256": (specimen or self.specimen).sha256,
            "profile": self.profile,
            "data": " + ".join(sources(data)),
            "anchor": f"notebooks/{self.name}.html#claim-{claim.id}",
            **{"n": 0, "units": 0, "seeds": 0, **(size or {})},
            **tested.fields,
            **(kept or {}),
        }
        self.results.append(result)
        self.seconds[claim.id], self._clock = time.perf_counter() - self._clock, time.perf_counter()
        display(HTML(cards.verdict_card(claim, result, tested.model, tested.twins)))


def _answer(found: Answer) -> str:
    """The chapter's answer, which the page shows before its first experiment."""
    panel = {
        text: Dots(
            np.clip([] if np.isnan(twin) else [twin], *SHOWN),
            *np.clip([value, low, high], *SHOWN),
            text in found.replicated,
        )
        for rows in found.rows.values()
        for text, (value, low, high, twin) in rows.items()
    }
    label = "effect ÷ smallest that would matter"
    caption = (
        "Each claim's effect with its 95 % interval; filled: replicates. Beyond the grey band it is as large as would "
        f"matter. Small dots: untrained twins. Cut at {SHOWN[0]:.0f} and {SHOWN[1]:.0f}."
    )
    groups = {heading: list(rows) for heading, rows in found.rows.items()}
    figure = dots(groups, {label: panel}, bands=[1.0], caption=caption, narrow=True)._repr_html_() if panel else ""
    return cards.answer_card(found.sentences, figure)


def _size(claim: Claim, tested: Tested, samples: Mapping[str, Any]) -> dict[str, int]:
    """Items, units and seeds behind the clause that decides a claim."""
    place = tested.model.deciding
    names = samples if place is None else claim.parsed_prediction.clauses[place].names
    drawn = [samples[name] for name in names if samples[name].ndim]
    return {
        "n": min(map(item_count, drawn), default=1),
        "units": min((array.shape[-1] for array in drawn), default=1),
        "seeds": max((len(array) for array in drawn if array.ndim == 2), default=1),
    }


def _reasons(axis: Axis) -> str:
    """The caption of a conflict's figure: why each region is where it is."""
    said = ". ".join(f"{side.label}: {side.region.text}, because {side.because}" for side in axis.sides)
    two = " The studies measure different things; one scale holds both." if len(axis.rows) > 1 else ""
    return f"{said}. Bars: 95 % intervals.{two}"


def open_chapter(
    name: str, model: str = "pocket-bert", profile: str = "live", seed: int = 0, record: str | None = None
) -> Chapter:
    """Opens a chapter: fixes seeds and threads, says what runs on what, and returns its `Chapter`."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    torch.manual_seed(seed)
    np.random.seed(seed)
    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    chapter = Chapter(name, model, profile, seed, record)
    s = chapter.specimen
    gc.freeze()  # what is loaded by now stays: half a million objects that each full collection would go through
    head = "" if s.has_mlm_head else ", without a masked-LM head"
    chapter.say(
        f"Specimen `{s.name}`: {s.layers} layers × {s.width} wide × {s.heads} heads, "
        f"{s.vocabulary_size:,} pieces{head}. Control: its untrained twin. Profile `{profile}`, seed {seed}."
    )
    return chapter
