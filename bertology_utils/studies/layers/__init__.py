"""Experiments of the chapter `layers`, and its claims."""
