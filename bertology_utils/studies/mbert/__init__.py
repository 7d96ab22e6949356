"""Experiments of the chapter `mbert`, and its claims."""
