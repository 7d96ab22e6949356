"""Experiments of the chapter `semantics`, and its claims."""
