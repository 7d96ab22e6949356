"""Data sets: the registry, readers of their formats, and their items in the form of the generated ones."""
