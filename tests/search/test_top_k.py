"""Top-k selection: the places of the highest scores, ties included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.search.table import top_k

FEW_VALUES = st.lists(st.integers(0, 3), min_size=1, max_size=20)
"""So few that most examples have several scores equal to the lowest one chosen."""


@given(scores=FEW_VALUES, data=st.data())
def test_the_highest_scores_are_chosen_and_of_equal_ones_the_first(
    scores: list[int], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, len(scores)))
    by_score = sorted(range(len(scores)), key=lambda place: -scores[place])

    chosen = top_k(np.array(scores, np.float32), count)

    assert sorted(chosen.tolist()) == sorted(by_score[:count])
