"""Experiments of the chapter `attention`, and its claims."""
