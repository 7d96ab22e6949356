"""Experiments of the chapters, composed of instruments and items."""
