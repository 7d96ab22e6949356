"""Experiments of the chapter `world_knowledge`, and its claims."""
