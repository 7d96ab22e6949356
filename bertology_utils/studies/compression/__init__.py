"""Experiments of the chapter `compression`, and its claims."""
