"""LazyPattern: a regular expression that is compiled when it is first used."""

from __future__ import annotations

import re

import pytest

from spade_llm.core.text import LazyPattern

pytestmark = pytest.mark.quick


def test_it_matches_like_a_compiled_pattern() -> None:
    lazy, compiled = LazyPattern(r"(?P<word>b\w+)", re.I), re.compile(r"(?P<word>b\w+)", re.I)
    text = "Big bad wolf"

    assert lazy.match(text, 4)["word"] == compiled.match(text, 4)["word"] == "bad"  # type: ignore[index]
    assert lazy.search("a Bee")[0] == "Bee"  # type: ignore[index]
    assert [one[0] for one in lazy.finditer(text)] == compiled.findall(text)
    assert lazy.sub("x", text, count=1) == compiled.sub("x", text, count=1)
    assert lazy.split("a b1 c") == compiled.split("a b1 c")


def test_it_is_compiled_at_first_use() -> None:
    wrong = LazyPattern("(")

    with pytest.raises(re.error):
        wrong.match("a")
