"""A long text is cut where a reader would cut it, and nothing of it is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.xmpp.stanzas.message_codec import split_text

LINES = st.lists(
    st.sampled_from(["a line of text", "", "```python", "```", "x = 1", "w" * 90, "    deep"]),
    max_size=60,
)


def test_a_text_that_fits_is_one_piece() -> None:
    assert list(split_text("short\n\ntext")) == ["short\n\ntext"]
    assert list(split_text("")) == [""]


def test_it_is_cut_between_paragraphs_if_there_are_some() -> None:
    paragraphs = [f"{letter * 30}\n{letter * 30}" for letter in "abc"]

    assert list(split_text("\n\n".join(paragraphs), max_chars=100)) == paragraphs


def test_code_that_is_cut_is_closed_and_opened_again() -> None:
    code = [f"line_{number}()" for number in range(20)]
    text = "\n".join(["Look:", "```python", *code, "```", "That is all."])

    pieces = list(split_text(text, max_chars=100))

    assert all(piece.count("```") % 2 == 0 for piece in pieces)
    assert all(piece.startswith("```python\n") for piece in pieces[1:])
    shown = [line for piece in pieces for line in piece.split("\n")]
    assert [line for line in shown if line.startswith("line_")] == code


@given(LINES, st.integers(100, 300))
def test_no_piece_is_too_long_and_no_character_is_lost(lines: list[str], room: int) -> None:
    text = "\n".join(lines)

    pieces = list(split_text(text, max_chars=room))

    assert all(len(piece) <= room for piece in pieces)
    assert characters_of("\n".join(pieces)) == characters_of(text)


def characters_of(text: str) -> str:
    return "".join(word for word in text.split() if not word.startswith("```"))
