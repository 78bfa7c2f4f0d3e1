"""Long results come in pages, to whoever asked for them and to nobody else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.messaging import Body
from spade_llm.tools import ToolResult
from spade_llm.tools.pages import (
    MAX_BYTES_OF_CALLER,
    MAX_RESULTS,
    MAX_RESULTS_OF_CALLER,
    RESULT_TTL_S,
    ResultPages,
)

ADA, BOB = "ada@example.org", "bob@example.org"
NOTE = re.compile(r'\n\[page (\d+) of (\d+)(?:, the last|; .* "(\w+)" and page \d+)\]$')


class Clock:
    time = 0.0

    def __call__(self) -> float:
        return self.time


class OnePage(Body):
    result: ToolResult


def whole(pages: ResultPages, caller: str, text: str, *, page_chars: int) -> str:
    """Put together again, as a model could."""
    page = pages.first(caller, ToolResult(text=text), page_chars=page_chars).text
    note = NOTE.search(page)
    if note is None:
        return page
    parts = [page[: note.start()]]
    for number in range(2, int(note[2]) + 1):
        page = pages.call(caller, {"result": note[3], "page": number}).text
        parts.append(page[: page.rindex("\n[page ")])
    return "".join(parts)


def id_in(text: str) -> str:
    found = re.search(r'result "(\w+)"', text)
    assert found
    return found[1]


@given(st.text(max_size=3000) | st.text('\x01&\n<\\"', max_size=3000), st.integers(500, 2000))
def test_all_pages_together_are_the_result(text: str, page_chars: int) -> None:
    assert whole(ResultPages(), ADA, text, page_chars=page_chars) == text


@pytest.mark.parametrize("letter", ["x", "&", "\x01", "\U0001f600", '"', "<", "€"])
def test_every_page_fits_into_one_message(letter: str) -> None:
    pages = ResultPages()
    page = pages.first(ADA, ToolResult(text=letter * 200_000), page_chars=50_000)

    assert OnePage(result=page).fits_one_message
    assert len(page.text) <= 50_000


def test_a_page_ends_at_the_end_of_a_line_if_one_is_near() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))

    page = ResultPages().first(ADA, ToolResult(text=text), page_chars=1000).text

    assert re.search(r"line \d+\n\n\[page 1 of", page)


def test_short_results_are_not_paged() -> None:
    result = ToolResult(text="x" * 500, is_error=True)

    assert ResultPages().first(ADA, result, page_chars=500) is result


def test_an_error_stays_one_on_every_page() -> None:
    pages = ResultPages()
    first = pages.first(ADA, ToolResult(text="x" * 2000, is_error=True), page_chars=500)

    assert first.is_error
    assert pages.call(ADA, {"result": id_in(first.text), "page": 2}).is_error


def test_pages_are_readable_by_their_caller_only() -> None:
    pages = ResultPages()
    id = id_in(pages.first(ADA, ToolResult(text="secret " * 1000), page_chars=500).text)

    answer = pages.call(BOB, {"result": id, "page": 2})

    assert answer.is_error
    assert "secret" not in answer.text


def test_it_is_gone_after_the_stated_time() -> None:
    clock = Clock()
    pages = ResultPages(now=clock)
    id = id_in(pages.first(ADA, ToolResult(text="x" * 1000), page_chars=500).text)

    clock.time = RESULT_TTL_S - 1
    assert not pages.call(ADA, {"result": id, "page": 2}).is_error
    clock.time = RESULT_TTL_S
    assert "call its tool again" in pages.call(ADA, {"result": id, "page": 2}).text


def test_one_caller_drops_its_own_results_only() -> None:
    pages = ResultPages()
    bobs = id_in(pages.first(BOB, ToolResult(text="b" * 1000), page_chars=500).text)
    ids = [
        id_in(pages.first(ADA, ToolResult(text="a" * 1000), page_chars=500).text)
        for _ in range(MAX_RESULTS_OF_CALLER + 1)
    ]

    assert pages.call(ADA, {"result": ids[0], "page": 1}).is_error
    assert not pages.call(ADA, {"result": ids[1], "page": 1}).is_error
    assert not pages.call(BOB, {"result": bobs, "page": 1}).is_error


def test_one_caller_keeps_no_more_bytes_than_stated() -> None:
    pages = ResultPages()
    large = ToolResult(text="x" * (MAX_BYTES_OF_CALLER // 2 + 1))

    first = id_in(pages.first(ADA, large, page_chars=50_000).text)
    second = id_in(pages.first(ADA, large, page_chars=50_000).text)

    assert pages.call(ADA, {"result": first, "page": 1}).is_error
    assert not pages.call(ADA, {"result": second, "page": 1}).is_error


def test_there_are_never_more_than_stated() -> None:
    pages = ResultPages()
    ids = [
        id_in(pages.first(f"{n}@x", ToolResult(text="a" * 1000), page_chars=500).text)
        for n in range(MAX_RESULTS + 1)
    ]

    assert pages.call("0@x", {"result": ids[0], "page": 1}).is_error
    assert not pages.call("1@x", {"result": ids[1], "page": 1}).is_error


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "'result' is a required property"),
        ({"result": "x", "page": 0}, "less than the minimum"),
        ({"result": "x", "page": "2"}, "not of type 'integer'"),
        ({"result": "x", "page": 1}, "call its tool again"),
    ],
)
def test_wrong_arguments_are_a_result_that_says_so(
    arguments: dict[str, object], fault: str
) -> None:
    answer = ResultPages().call(ADA, arguments)

    assert answer.is_error
    assert fault in answer.text


def test_a_page_beyond_the_last_is_an_error_that_says_how_many_there_are() -> None:
    pages = ResultPages()
    id = id_in(pages.first(ADA, ToolResult(text="x" * 1000), page_chars=500).text)

    assert "has 4 pages" in pages.call(ADA, {"result": id, "page": 9}).text


def test_a_page_number_may_be_written_as_a_float() -> None:
    pages = ResultPages()
    note = NOTE.search(pages.first(ADA, ToolResult(text="word " * 500), page_chars=1000).text)
    assert note is not None

    found = pages.call(ADA, {"result": note[3], "page": 2.0})

    assert found.text == pages.call(ADA, {"result": note[3], "page": 2}).text
