"""The pieces that an asker sees are the answer, however the model cuts it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.assistant.turn.tool_loop import PARAGRAPH_BREAK, AnswerBuffer

PARAGRAPHS = st.lists(
    st.lists(st.text(alphabet="ab \n<&é😀\t", max_size=6), max_size=6), max_size=4
)


@given(PARAGRAPHS)
def test_the_pieces_together_are_the_text(paragraphs: list[list[str]]) -> None:
    spoken, shown = AnswerBuffer(), ""
    for pieces in paragraphs:
        spoken.begin_paragraph()
        for piece in pieces:
            shown += spoken.add(piece)
            assert spoken.text == shown

    said = ["".join(pieces).strip() for pieces in paragraphs]
    assert shown == PARAGRAPH_BREAK.join(filter(None, said))
    assert not said or spoken.last_paragraph == said[-1]


@given(PARAGRAPHS, st.integers(0, 40))
def test_an_answer_over_the_limit_is_cut_once(paragraphs: list[list[str]], max_bytes: int) -> None:
    whole, cut = AnswerBuffer(), AnswerBuffer(max_bytes=max_bytes)
    for pieces in paragraphs:
        for spoken in (whole, cut):
            spoken.begin_paragraph()
        for piece in pieces:
            whole.add(piece)
            cut.add(piece)

    assert whole.text.startswith(cut.text)
    assert len(cut.text.encode()) <= max_bytes
    assert cut.is_full or cut.text == whole.text


def test_the_first_word_is_shown_at_once() -> None:
    assert AnswerBuffer().add("Hel") == "Hel"


def test_three_megabytes_in_one_piece_are_bounded() -> None:
    spoken = AnswerBuffer()

    spoken.add("<" * 3_000_000)

    assert spoken.is_full
    assert len(spoken.text) <= 96 * 1024 / 4
