"""Who helps whom when the model itself is tuned: tags taught in each language, asked in each; recorded.

Depends on `frozen_bottom` (taggers) and `all_pairs` (the map by frozen vectors, and the test that renames languages).
Matrices are (teachers, asked) in the order of the corpus. Every seed draws its sentences, the head, the order and which
half of the words is taught; the tests hold the other.
"""

import numpy as np

from bertology_utils.language.lexicon import SPLITS
from bertology_utils.language.ten_languages import LANGUAGES, parallel_corpus
from bertology_utils.models import Specimen, load, twin
from bertology_utils.recorded_arms import Values, one_by_one
from bertology_utils.runs import Runs
from bertology_utils.studies.mbert import all_pairs, frozen_bottom
from bertology_utils.studies.mbert.parallel_text import MULTILINGUAL, Corpus

TAUGHT, ASKED = 160, 32  # sentences of each language


def leads(specimen: Specimen, taught: Corpus, asked: Corpus, seed: int) -> Values:
    """What `all_pairs.leads` gives, `teacher_asked`, of copies of the specimen that are tuned whole in one language."""
    lessons = {f"taught {code}": frozen_bottom.tagged(specimen, rows) for code, rows in taught.items()}
    tests = {code: frozen_bottom.tagged(specimen, rows, all_pairs.CONTENT) for code, rows in asked.items()}
    narrow, texts = frozen_bottom.narrowed(specimen, lessons | tests)
    found = {}
    for teacher in taught:
        rate = frozen_bottom.RATES["none"]
        tagger = frozen_bottom.tune(narrow, texts[f"taught {teacher}"], "none", rate, seed)
        for code, rows in asked.items():
            right = frozen_bottom.ask(tagger, narrow, texts[code])[0]
            found[f"{teacher}_{code}"] = right - all_pairs.commonest_share(rows)
    return found


def of_seed(seed: int) -> tuple[Values, Values]:
    """`leads` of the model of ten languages and of an untrained one."""
    taught, asked = (
        parallel_corpus(size, SPLITS[(seed + half) % len(SPLITS)], seed) for half, size in enumerate((TAUGHT, ASKED))
    )
    model = load(MULTILINGUAL)
    return tuple(leads(side, taught, asked, seed) for side in (model, twin(model, seed)))


def maps(runs: Runs) -> Runs:
    """The recorded samples as matrices (teachers, asked), the mean over seeds."""
    return runs.map(lambda of: np.array([[of[f"{a}_{b}"].mean() for b in LANGUAGES] for a in LANGUAGES]))


def beside(tuned: Runs, frozen: Runs) -> dict[str, all_pairs.Related]:
    """Spearman's correlation, over pairs of two languages, of the maps of tuned models and of frozen vectors: of the
    `model`, of `untrained` networks (the mean of their maps), and of what the model's maps have beyond theirs, `gain`.
    """
    model, blank = ((tuned.model, frozen.model), (all_pairs.averaged(tuned), all_pairs.averaged(frozen)))
    gain = [own - other for own, other in zip(model, blank, strict=True)]
    return {name: all_pairs.related(*maps) for name, maps in (("model", model), ("untrained", blank), ("gain", gain))}


EXPERIMENTS = {"tags-tuned-in-each-language": one_by_one(of_seed, ASKED)}
