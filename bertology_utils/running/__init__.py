"""Runs chapters in kernels of their own, in parallel, and keeps what is fresh."""
