"""Experiments of the chapter `embeddings`, and its claims."""
