"""Instruments for the executable companion to *A Primer in BERTology*."""

import warnings

__version__ = "0.1.0"

# tqdm asks every notebook for ipywidgets. The book leaves them out on purpose: they draw in scripts from outside.
warnings.filterwarnings("ignore", message="IProgress not found")
