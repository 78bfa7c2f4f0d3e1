"""Markdown on a terminal: what is shown, and that it does not matter how it arrives."""

from __future__ import annotations

import pytest

from spade_llm.cli.markdown import MarkdownStream, render

ANSWER = """# Plan

Here is **a plan** with `code` and a [link](https://example.org/x).
Second line of it.

1. First
2. Second

| name | size |
|------|-----:|
| ada  | 12   |

```python
def hello() -> str:

    return "<b>"
```

Use the <b> tag.
"""
SHOWN = """\
Plan

Here is a plan with code and a link (https://example.org/x).
Second line of it.

 1 First
 2 Second

 name  size
 ──────────
 ada     12

 def hello() -> str:

     return "<b>"

Use the <b> tag.
"""


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_answer_is_shown_the_same_however_it_arrives(size: int) -> None:
    stream = MarkdownStream(width=80, has_colour=False)

    pieces = [stream.add(ANSWER[at : at + size]) for at in range(0, len(ANSWER), size)]

    assert "".join(pieces) + stream.close() == SHOWN


def test_a_block_is_printed_when_the_next_one_begins() -> None:
    stream = MarkdownStream(width=80, has_colour=False)

    assert stream.add("One *line*\n") == ""
    assert stream.tail(5) == "One line"
    assert stream.add("\nTwo") == "One line\n"
    # With the space that stands between the two when the second is printed.
    assert stream.tail(5) == "\nTwo"
    assert stream.close() == "\nTwo\n"


def test_the_tail_is_bounded() -> None:
    stream = MarkdownStream(width=80, has_colour=False)
    stream.add("```\n" + "\n".join(map(str, range(100))))

    assert [row.strip() for row in stream.tail(3).split("\n")][-1] == "99"
    assert stream.tail(3).count("\n") == 2


def test_styles_are_escape_sequences_where_there_are_colours() -> None:
    assert "\x1b[1m" in render("**bold**", 80, True)
    assert render("**bold**", 80, False) == "bold"


def test_a_link_shows_where_it_leads() -> None:
    assert "\x1b]8" not in render("[your bank](https://evil.example)", 80, True)
    assert "https://evil.example" in render("[your bank](https://evil.example)", 80, False)
