"""What is kept of many things: the latest, and never more than was said."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.latest import keep_latest


@given(st.lists(st.integers(0, 9)), st.integers(1, 6))
def test_those_kept_last_are_there_in_order(keys: list[int], most: int) -> None:
    known: OrderedDict[int, int] = OrderedDict()

    for number, key in enumerate(keys):
        keep_latest(known, key, number, most=most)

    latest = list(dict.fromkeys(reversed(keys)))[:most]
    assert list(reversed(known)) == latest
    assert all(known[key] == max(n for n, one in enumerate(keys) if one == key) for key in latest)
