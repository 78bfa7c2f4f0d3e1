"""What others say does not steer a terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.cli import terminal
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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("after_s", "shown"), [(0.0, "50%  "), (60.0, "")])
def test_a_progress_bar_appears_only_if_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, after_s: float, shown: str
) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(terminal, "PROGRESS_AFTER_S", after_s)

    with terminal.progress_bar("imported", is_bytes=True) as progress:
        progress(5_000_000, 10_000_000)

    assert shown in screen.getvalue()
    assert ("MB/s" in screen.getvalue(), "s left" in screen.getvalue()) == (bool(shown),) * 2
    assert bool(screen.getvalue()) is bool(shown)
    assert not screen.getvalue().rpartition("\r")[2]
