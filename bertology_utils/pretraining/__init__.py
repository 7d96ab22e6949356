"""Pre-training of small BERTs from text: corpus, examples, engine. Needs torch, tokenizers and transformers only."""
