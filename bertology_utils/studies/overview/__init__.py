"""Experiments of the chapter `overview`, and its claims."""
