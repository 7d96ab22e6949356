"""The words in which each chapter sums up its claims: they belong to claims that exist, and fit on a page."""

import pytest

from bertology_utils.project import CHAPTERS
from bertology_utils.verdicts.claims import claims_file, read_claims
from bertology_utils.verdicts.conclusions import Themes, read_themes

MOST_WORDS = 14


@pytest.fixture(params=CHAPTERS)
def chapter(request) -> str:
    return request.param


@pytest.fixture
def themes(chapter) -> Themes:
    return read_themes(chapter)


def test_every_claim_is_one_of_the_chapter_and_is_named_once(chapter, themes):
    named = [identity for claims in themes.values() for identity in claims]
    assert set(named) - {claim.id for claim in read_claims(claims_file(chapter))} == set()
    assert len(named) == len(set(named))


def test_words_are_few_and_say_which_claim_is_meant(themes):
    words = [text for claims in themes.values() for text in claims.values()]
    assert [text for text in words if len(text.split()) > MOST_WORDS or text.endswith(".")] == []
    assert len(words) == len(set(words)), "an answer's figure finds its rows by these words"
