"""Where texts of each kind have their headings."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.rag.loading import chunking
from spade_llm.rag.loading.chunking import HeadingMarkup, find_headings, heading_markup


def _found(text: str, markup: HeadingMarkup) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in find_headings(text, markup)]


def test_underlined_titles_are_headings_in_markdown() -> None:
    text = "One\n===\n\nText\nof lines\n---\n\nTwo two\n---\n\n- item\n---\n\n```\nNo\n==\n```\n"

    assert _found(text, HeadingMarkup.MARKDOWN) == [(1, "One"), (2, "Two two")]


def test_front_matter_is_no_heading() -> None:
    assert _found("---\n\ntitle: x\n---\n\n# Real\n", HeadingMarkup.MARKDOWN) == [(1, "Real")]


def test_levels_of_rst_come_in_the_order_of_their_underlines() -> None:
    text = (
        "====\nBook\n====\n\nPart\n====\n\nText.\n\nChapter\n-------\n\n"
        ".. code::\n\n   x\n   ---\n\nPart 2\n======\n\nText\nof lines\n--------\n\n-----\n"
    )

    assert _found(text, HeadingMarkup.RST) == [
        (1, "Book"),
        (2, "Part"),
        (3, "Chapter"),
        (2, "Part 2"),
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("def answer(x: int) -> int:", "answer"),
        ("async def answer():", "answer"),
        ("class Answer(Protocol):", "Answer"),
        ("export default function answer(x) {", "answer"),
        ("pub(crate) fn answer<T>(x: T) -> T {", "answer"),
        ("func (s *Server) Answer(x int) error {", "Answer"),
        ("public final class Answer", "Answer"),
        ("interface Answer {", "Answer"),
        ("class Answer", "Answer"),
    ],
)
def test_a_definition_in_the_first_column_is_a_heading(line: str, name: str) -> None:
    assert _found(f"import x\n\n{line}\n    def inner():\n        pass\n", HeadingMarkup.CODE) == [
        (1, name)
    ]


def test_comments_above_a_definition_belong_to_it() -> None:
    text = "import os\n\n# About it.\n@cache\ndef answer():\n    return 42\n"

    (heading,) = find_headings(text, HeadingMarkup.CODE)

    assert text[heading.start :].startswith("# About it.")


def test_a_sentence_is_no_definition() -> None:
    assert (
        _found(
            '"""Notes:\n\nclass of things that\ntype the words we like.\n"""\n', HeadingMarkup.CODE
        )
        == []
    )


@pytest.mark.parametrize(
    ("source", "markup"),
    [
        ("a.md", HeadingMarkup.MARKDOWN),
        ("README", HeadingMarkup.MARKDOWN),
        ("src/Makefile", HeadingMarkup.PLAIN),
        ("A title of something", HeadingMarkup.MARKDOWN),
        ("v1.2 of it", HeadingMarkup.MARKDOWN),
        ("a.rst", HeadingMarkup.RST),
        ("x/a.py", HeadingMarkup.CODE),
        ("a.txt", HeadingMarkup.PLAIN),
        ("a.yaml", HeadingMarkup.PLAIN),
    ],
)
def test_the_ending_of_a_source_says_how_headings_are_marked(
    source: str, markup: HeadingMarkup
) -> None:
    assert heading_markup(source) is markup
    assert heading_markup(source, True) is HeadingMarkup.MARKDOWN
    assert heading_markup(source, False) is HeadingMarkup.PLAIN


_PIECES = st.sampled_from(["Title", "\n", "\n\n", "===", "---", "# ", "def f():", "@x", " ", "```"])


@given(st.lists(_PIECES, max_size=60).map("".join), st.sampled_from(HeadingMarkup))
def test_headings_come_in_order_and_do_not_overlap(text: str, markup: HeadingMarkup) -> None:
    reached = 0
    for heading in find_headings(text, markup):
        assert reached <= heading.start <= heading.end <= len(text)
        reached = heading.end


@pytest.mark.thorough
@pytest.mark.parametrize("markup", [HeadingMarkup.RST, HeadingMarkup.CODE, HeadingMarkup.MARKDOWN])
@pytest.mark.parametrize(
    "unit", ["=", "=\n", "a\n===\n", "# \n", "def ", "class a ", "pub ", "---\n"]
)
def test_a_megabyte_of_anything_takes_linear_time(unit: str, markup: HeadingMarkup) -> None:
    def seconds(size: int) -> float:
        began = time.process_time()
        for _ in find_headings(unit * (size // len(unit)), markup):
            pass
        return time.process_time() - began

    small = seconds(100_000)
    assert seconds(1_000_000) < 40 * small + 0.5


LINES = [
    "# One",
    "Two\n===",
    "Title\n-----",
    "***\nOver\n***",
    "def f():",
    "class A(B):",
    "",
    "x y",
]


@given(st.lists(st.sampled_from(LINES), max_size=40), st.sampled_from(HeadingMarkup))
def test_the_windows_of_a_text_do_not_change_its_headings(
    lines: list[str], markup: HeadingMarkup
) -> None:
    text = "\n".join(lines)
    whole = list(find_headings(text, markup))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunking, "WINDOW", 10)
        patch.setattr(chunking, "_MAX_HEADING_CHARS", 30)
        windowed = list(find_headings(text, markup))

    assert windowed == whole


def test_looking_for_headings_leaves_other_threads_their_share() -> None:
    text = "a" + "\n" * 4_000_000 + "b"
    thread = threading.Thread(target=lambda: list(find_headings(text, HeadingMarkup.MARKDOWN)))
    longest_s, began = 0.0, time.monotonic()
    thread.start()
    now = began
    while thread.is_alive():
        before, now = now, time.monotonic()
        longest_s = max(longest_s, now - before)

    assert longest_s < (now - began) / 2
