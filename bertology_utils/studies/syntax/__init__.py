"""Experiments of the chapter `syntax`, and its claims."""
