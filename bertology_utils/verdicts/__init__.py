"""From samples to verdicts: predictions, conflicts, the ledger, cards, and records of earlier runs."""
