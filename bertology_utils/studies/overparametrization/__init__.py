"""Experiments of the chapter `overparametrization`, and its claims."""
