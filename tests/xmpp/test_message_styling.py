"""What a model writes as Markdown is shown by chat clients, and says the same there."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.xmpp.stanzas.message_styling import stable_prefix, to_message_styling

SPANS = {
    "**bold** and __bold__": "*bold* and *bold*",
    "*it* and _it_": "_it_ and _it_",
    "***both***": "_*both*_",
    "~~gone~~": "~gone~",
    "**a *b* c**": "*a _b_ c*",
    "**bold *it***": "*bold _it_*",
    "`a*b*c` and ``x``": "`a*b*c` and `x`",
    "``a`b``": "``a`b``",
    "[docs](https://x.y/a_(b))": "docs (https://x.y/a_(b))",
    "[https://x.y](https://x.y) <https://x.y/a_b_c>": "https://x.y https://x.y/a_b_c",
    "**https://x.y/__init__.py** (_https://x.y_).": "*https://x.y/__init__.py* (_https://x.y_).",
    "![a cat](http://x/c.png)": "a cat (http://x/c.png)",
    "snake_case_name, 2*3*4, 5 * 3, 2**8": "snake_case_name, 2*3*4, 5 * 3, 2**8",
    r"\*no\* \_no\_": "*no* _no_",
    "f[0](x) and [1]": "f[0](x) and [1]",
    "这是**重点**内容": "这是*重点*内容",
    "open **bold, and `code": "open **bold, and `code",
    "~~~~ ~ a~b": "```~ a~b\n```",
    "**bold\nover** two": "*bold*\n*over* two",
    "> **a\n> b** c": "> *a*\n> *b* c",
    "* *a\n  b* and `c\n  d` e": "- _a_\n  _b_ and `c d` e",
    "**重点。**内容": "*重点。*内容",
    "**a **b** c**": "*a b c*",
    '[a](http://x "T")': 'a (http://x "T")',
    "[docs][d] and [d]\n\n[d]: https://x.y": "docs (https://x.y) and d (https://x.y)\n\n[d]: https://x.y",
    "Title\n=====\ntext": "*Title*\ntext",
    "> A *long*\n> title\n> ---": "> *A long*\n> *title*",
    "`` `a` ``": "`` `a` ``",
    "*one*\r\n*two*": "_one_\n_two_",
    "<a@b.c>, a < b > c, <b>": "a@b.c, a < b > c, <b>",
}


@pytest.mark.parametrize(("markdown", "shown"), SPANS.items())
def test_spans(markdown: str, shown: str) -> None:
    assert to_message_styling(markdown) == shown


def test_headings_lists_and_quotations() -> None:
    markdown = (
        "## The **first** `x` ##\n* one\n+ **two**: 2\n  - three\n1. four\n> said **so**\n***\n#"
    )

    assert to_message_styling(markdown).split("\n") == [
        "*The first `x`*",
        "- one",
        "- *two*: 2",
        "  - three",
        "1. four",
        "> said *so*",
        "---",
        "#",
    ]


def test_code_is_left_untouched_also_within_lists_and_quotations() -> None:
    markdown = "1. so:\n   ```js\n   a **b** [c](http://d)\n   ```\n> ~~~\n> # no\nend"

    assert to_message_styling(markdown).split("\n") == [
        "1. so:",
        "```js",
        "   a **b** [c](http://d)",
        "```",
        "> ```",
        "> # no",
        "> ```",
        "end",
    ]


def test_code_that_is_not_closed_is_closed() -> None:
    assert to_message_styling("```py\nx = 1") == "```py\nx = 1\n```"
    assert to_message_styling("```\nx\n") == "```\nx\n\n```"


def test_fences_within_code_do_not_end_it() -> None:
    assert (
        to_message_styling("````md\n```py\nx\n```\n````\n*b*") == "```md\n ```py\nx\n ```\n```\n_b_"
    )
    assert to_message_styling("> ~~~\n> ```\n> ~~~") == "> ```\n>  ```\n> ```"


def test_code_in_the_line_of_a_bullet() -> None:
    assert to_message_styling("* ```py\n  x\n  ```\n* *b*") == "-\n```py\n  x\n```\n- _b_"


def test_a_narrow_table_is_shown_in_columns() -> None:
    markdown = "| Town | **km** |\n|:--|--:|\n| `Jaén` | 12 |\n| a\\|b | |\nend"

    assert to_message_styling(markdown).split("\n") == [
        "```",
        "Town  km",
        "----  --",
        "Jaén  12",
        "a|b",
        "```",
        "end",
    ]


def test_a_wide_table_is_shown_as_a_list() -> None:
    markdown = (
        "What is done | By whom it is done\n--- | ---\nThe **long** story of a table | everybody\n"
    )

    assert to_message_styling(markdown).split("\n") == [
        "*What is done | By whom it is done*",
        "- What is done: The *long* story of a table; By whom it is done: everybody",
        "",
    ]


MARKUP = st.lists(
    st.sampled_from(
        ["**", "*", "_", "__", "~~", "`", "```", "~~~", "[", "](http://x/", ")", "|", "|-|\n", "\n"]
        + [
            "===\n",
            '[7]: http://y "t"\n',
            "````",
            "    ",
            "1. ",
            "\t",
            "\xa0",
            "\r\n",
            "&",
            "www.a/b",
        ]
        + ["# ", "> ", "- ", "* ", "\\", "<", ">", "!", " ", "word", "other", "Ünï", "重点", "7"]
    ),
    max_size=60,
).map("".join)


def test_a_table_in_a_quotation_and_rows_of_other_lengths() -> None:
    markdown = "> |a|b|\n> |-|-|\n> |1|\n> |1|2|**3**|"

    assert to_message_styling(markdown).split("\n") == [
        "> ```",
        "> a  b",
        "> -  -  -",
        "> 1",
        "> 1  2  3",
        "> ```",
    ]


def test_deeply_nested_markup_is_left_unchanged() -> None:
    assert to_message_styling("> " * 30 + "*a*") == "> " * 30 + "*a*"
    assert to_message_styling("> " * 5 + "*a*") == "> " * 5 + "_a_"


@given(MARKUP)
def test_no_word_is_lost(markdown: str) -> None:
    assert words_lost(markdown, to_message_styling(markdown)) == []


@given(st.text(max_size=200))
def test_any_text_has_a_styled_form(text: str) -> None:
    assert words_lost(text, to_message_styling(text)) == []


@given(st.lists(MARKUP.filter(lambda line: "```" not in line), max_size=5))
def test_code_between_fences_stays_as_it_is(lines: list[str]) -> None:
    code = "\n".join(lines).replace("\r\n", "\n")

    assert to_message_styling(f"say\n```\n{code}\n```\n**b**") == f"say\n```\n{code}\n```\n*b*"


HOSTILE = [
    "http://**",
    "*a ",
    "[",
    "](a:",
    "[x](a:",
    "`",
    "` `` ",
    "> ",
    "|",
    "**a* ",
    "<a:",
    "\\",
    "_*~~",
]


@pytest.mark.thorough
@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_more_time_than_its_length(piece: str) -> None:
    text = piece * (96_000 // len(piece)) + ")\n|-|"

    began = time.process_time()
    to_message_styling(text)

    assert time.process_time() - began < 10  # Quadratic, it would be minutes.


def words_lost(text: str, shown: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", text) if word not in shown]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Once upon", "Once upon"),
        ("Once\n\n", "Once"),
        ("So:\n``", "So:"),
        ("So:\n```py", "So:"),
        ("So:\n```python\nprint(", "So:"),
        ("So:\n```python\nprint(1)\nprint(", "So:\n```python\nprint(1)"),
        ("So:\n```\na\n``", "So:\n```\na"),
        ("So:\n```\na\n```\nand", "So:\n```\na\n```\nand"),
        ("> ~~~\n> a\n> b", "> ~~~\n> a"),
        ("`code` is", "`code` is"),
        ("~5 minutes", "~5 minutes"),
        ("So:\n| a", "So:"),
        ("So:\n| a | b |\n", "So:"),
        ("So:\n| a | b |\n|--", "So:"),
        ("So:\n| a | b |\n|---|---|\n", "So:"),
        ("So:\n| a | b |\n|---|---|\n| 1", "So:"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nand", "| a | b |\n|---|---|\n| 1 | 2 |\n\nand"),
        ("either a|b or c|d\nand", "either a|b or c|d\nand"),
    ],
)
def test_growing_text_is_shown_without_an_incomplete_block(written: str, shown: str) -> None:
    assert stable_prefix(written) == shown


@given(st.text(alphabet="ab|-`~\n> "))
def test_shown_growing_text_is_a_prefix(text: str) -> None:
    assert text.startswith(stable_prefix(text))
