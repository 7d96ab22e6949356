"""The generated language: lexicon, grammar with gold trees, and the items that are built from them."""
