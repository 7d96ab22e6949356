"""Readers of what belongs to LAMA: mined prompts, and its negated and misprimed variant. Depends on rows (the formats).

As in `readers`, a reader yields the typed rows of a folder, split and variant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from bertology_utils.errors import BertologyError
from bertology_utils.rows import AlteredFact, RelationTemplate

_KINDS = ("masked_sentences", "masked_negations", "masked_misprimed")


def read_lpaqa(folder: Path, split: str, variant: str = "") -> Iterator[RelationTemplate]:
    """The best mined prompt of each relation (jiang2019how)."""
    for row in _objects(folder / "relation_metainfo" / "LPAQA_relations.jsonl"):
        yield RelationTemplate(row["relation"], row["template"])


def read_lama_altered(folder: Path, split: str, variant: str = "") -> Iterator[AlteredFact]:
    """kassner2020negated's T-REx with random primes; rows without one of the three sentences are left out."""
    for path in sorted((folder / "data" / "TREx" / "random").glob("P*.jsonl")):
        relation = path.stem.partition("_")[0]
        if variant in ("", relation):
            for row in _objects(path):
                if all(row.get(kind) for kind in _KINDS):
                    yield AlteredFact(relation, row["obj_label"], *(row[kind][0] for kind in _KINDS))


def _objects(path: Path) -> Iterator[dict]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    except FileNotFoundError:
        raise BertologyError(f"The data set's folder has no {path.name}: looked for {path}.") from None
