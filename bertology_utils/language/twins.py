"""The alphabet of twin languages, "Fake-English" of wang2019crosslingual. Depends on nothing."""

SHIFT = 200_000  # far outside every script in use


def shift_word(word: str, offset: int = SHIFT) -> str:
    """The word in letters of another alphabet: chr(ord(c) + offset)."""
    return "".join(chr(ord(letter) + offset) for letter in word)
