"""The recorded rows of real sets, as the chapter shows them; sets of fewer than five seeds are left out.

Depends on `recorded` for the lines and on `real_tasks` for the names of sets.
"""

import numpy as np

from bertology_utils.errors import NotAskable
from bertology_utils.samples import per_seed
from bertology_utils.statistics import mean_interval
from bertology_utils.studies.finetuning.real_tasks import REAL
from bertology_utils.studies.finetuning.recorded import Recorded
from bertology_utils.studies.finetuning.study_file import BAG, MAJORITY, PRETRAINED, RANDOM
from bertology_utils.verdicts.published import published_rows

SEEDS = 5
PUBLISHED_AS = {"MNLI": "MNLI-m"}
TUNED, SCRATCH, WORDS = "pre-trained, tuned", "random, tuned", "bag of words"
ARMS = {
    TUNED: (PRETRAINED, "tuned"),
    SCRATCH: (RANDOM[0], "tuned"),
    "pre-trained, frozen": (PRETRAINED, "frozen"),
    WORDS: ("", BAG),
    "one answer": ("", MAJORITY),
}


class Real(Recorded):
    """What the file says of real sets."""

    def by_set(self) -> dict[str, dict[str, np.ndarray | float]]:
        """{set: {condition in words: scores, (seeds, 1), or the one score of all seeds}}.

        Raises NotAskable where no set has five seeds.
        """
        scores = {
            name: {words: self._scores(self.named, row, *place) for words, place in ARMS.items()}
            for row, name in REAL.items()
        }
        found = {
            name: {words: per_seed(values) if np.ptp(values) else values.iloc[0] for words, values in own.items()}
            for name, own in scores.items()
            if min(map(len, own.values())) >= SEEDS
        }
        if not found:
            raise NotAskable(f"No real set has {SEEDS} recorded seeds of {self.named.rpartition(' ')[0]}.")
        return found

    def told(self) -> dict[str, str]:
        """Sets on which tuned pre-trained weights lead random ones and a bag of words (`both`), one of them, `neither`.

        Both leads in hundredths of the score, each interval by itself. Raises NotAskable as `by_set`.
        """
        found = {"neither": [], "one": [], "both": []}
        for name, own in self.by_set().items():
            leads = [mean_interval(100 * (own[TUNED] - own[rival])) for rival in (SCRATCH, WORDS)]
            clear = sum(lead.low > 0 for lead in leads)
            list(found.values())[clear].append(f"{name} {leads[0]} and {leads[1]}")
        return {word: ", ".join(names) or "none" for word, names in found.items()}

    def published(self) -> dict[str, float]:
        """BERT-base tuned on whole sets, of those shown: shares, accuracy rather than F1 (kovaleva2019revealing)."""
        scores = published_rows("kovaleva2019revealing").set_index("item")["value"]
        items = {name: f"{PUBLISHED_AS.get(name, name)} pretrained fine-tuned" for name in self.by_set()}
        return {name: float(scores[item].split("/")[-1]) / 100 for name, item in items.items() if item in scores}
