"""What others say does not steer a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.cli.terminal import sanitize_line, sanitize_text


def test_escapes_that_would_hide_or_move_text_are_left_out() -> None:
    assert sanitize_text("run\x1b[8m rm\x1b]52;c;eA==\x07\r\n\tok \u0645\u200d\u0644 \x9b2J") == (
        "run[8m rm]52;c;eA==\n\tok \u0645\u200d\u0644 2J"
    )


@pytest.mark.thorough
@given(st.text())
def test_one_line_stays_one_and_shows_every_character(text: str) -> None:
    line = sanitize_line(text)

    assert len(line.splitlines()) <= 1
    assert len(line) == len(text)
