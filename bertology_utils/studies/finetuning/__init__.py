"""Experiments of the chapter `finetuning`, and its claims."""
