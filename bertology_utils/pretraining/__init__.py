"""Pre-training of small BERTs from text: sources, inputs, objectives, engine. Needs torch, tokenizers, transformers."""
