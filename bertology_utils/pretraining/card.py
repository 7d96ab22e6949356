"""The model card and the checksums of a finished run. Depends on nothing but what the run measured."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CARD = """---
license: cc-by-sa-4.0
language: en
library_name: transformers
tags: [fill-mask, bert, bertology]
---

# {name}

{about}

| | |
| --- | --- |
| Architecture | BertForPreTraining, {layers} layers × {width} × {heads} heads, {parameters:.1f} million parameters |
| Vocabulary | {vocabulary:,} WordPieces, uncased, trained on the same text |
| Longest input | {positions} pieces |
| Objectives | masked language modelling (15 %; 80/10/10, drawn anew at every step) and next sentence prediction |
| Training | {history} |
| Optimiser | AdamW for embeddings, norms and heads; Muon for the matrices of the blocks; bf16 autocast, no dropout |
| Held-out loss | {mlm_loss:.3f} nats a masked piece (perplexity {perplexity:.1f}); next sentence {nsp_loss:.3f} nats |
| Weights | half precision, safetensors; the checksum in `checksums.json` is verified at load |

## Data

{data}

The last two per cent of the documents of each file were held out; the loss above is measured on them, in the mixture
of the last phase.

## Intended use

An object of study: small enough for a laptop without a network, trained by BERT's recipe, so that claims about BERT
can be put to a test in seconds. It is no model for applications. It saw a small fraction of what BERT saw, knows few
facts, and repeats the biases of encyclopaedic text and of books that are a century old.

## Licence

The training text includes Wikipedia (CC BY-SA). The weights are offered under CC BY-SA 4.0, naming the sources above.
"""


def write_card(folder: Path, facts: Mapping[str, Any]) -> None:
    """Writes `README.md` and `checksums.json` beside the weights in `folder`."""
    (folder / "README.md").write_text(CARD.format(**facts), encoding="utf-8")
    files = ("model.safetensors", "tokenizer.json")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    (folder / "checksums.json").write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")
