"""Experiments of the chapter `training`, and its claims."""
