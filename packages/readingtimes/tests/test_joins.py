"""Damaged tables are joined to the true words, or refused: never a value on another word."""

import pytest

from join_damages import DAMAGES, OF_KEYS, OF_WORDS, VIEWS, check, made_corpus

pytestmark = pytest.mark.merge

WORDS, VALUE = made_corpus()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damage_passes(damage, view):
    if damage in OF_WORDS and "word" not in VIEWS[view]:
        pytest.skip("only words show this")
    if damage in OF_KEYS and VIEWS[view] in (["word"], ["item", "word"]):
        pytest.skip("the words are the only keys")
    kind = None  # half of them know the values, which may not decide, either
    if damage in OF_KEYS or (list(DAMAGES).index(damage) + list(VIEWS).index(view)) % 2:
        kind = "surprisal"
    share = check(WORDS, VALUE, damage, view, kind)
    if damage == "nothing":
        assert share == 1


def test_there_are_enough_damages():
    assert len(DAMAGES) >= 40
