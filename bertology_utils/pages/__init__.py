"""The static book: generated pages, the build, and teaching material."""
