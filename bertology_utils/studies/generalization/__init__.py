"""Experiments of the chapter `generalization`, and its claims."""
