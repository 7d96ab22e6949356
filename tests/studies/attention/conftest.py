import pytest

from bertology_utils.language.grammar import generate


@pytest.fixture(scope="module")
def sentences():
    return generate(24, split="test")


@pytest.fixture(scope="module")
def words(sentences):
    return [list(s.words) for s in sentences]
