"""Which fits lme4 confirms: a share of them, drawn by the names of LM and model."""

from recency.regression.confirmation import is_confirmed


def test_a_share_is_drawn_by_name():
    names = [(f"lm{n}", model) for n in range(500) for model in ("full", "base")]
    few, more = ({n for n in names if is_confirmed({"confirm": s}, *n)} for s in (0.1, 0.3))
    assert few < more and 60 < len(few) < 140 and 240 < len(more) < 360
    assert few == {n for n in names if is_confirmed({}, *n)}
    assert not any(is_confirmed({"confirm": 0}, *n) for n in names)
    assert all(is_confirmed({"confirm": 1}, *n) for n in names)
    assert is_confirmed({}, "none", "base") and not is_confirmed({"confirm": 0}, "none", "base")
