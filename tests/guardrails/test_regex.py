"""Patterns: mean what `re` means by them, end in time, and are never sent in parts."""

from __future__ import annotations

import asyncio
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import ConfigurationError
from spade_llm.guardrails import CompositeGuardrail, GuardrailAction, KeywordGuardrail
from spade_llm.guardrails import RegexGuardrail as Regex
from tests.guardrails.streamed_parts import UNHURRIED, fed, pieces_of

BLOCK, WARNING = GuardrailAction.BLOCK, GuardrailAction.WARNING
BOUNDED = [
    *(r"\d{3}-\d{2}", r"\bab\b", r"a{1,3}b?", r"(?<=a)b{1,2}?", r"^a", r"b$", r"(a)\1", r"[^a]b"),
    *(r"(?i)AB", r"a|ab|abc", r"(?<!b)a{2}", r"(?m)^b", r"-\Z"),
]
UNBOUNDED = [r"\d+", r"[\w.]+@[\w.]+", r"a(?=b)", r"a(?!b)", r"a?", r"(a{500}){3}"]
TEXTS = st.text("ab1- \n@.", max_size=25)


async def test_private_numbers_are_replaced() -> None:
    guardrail = Regex("pii", {r"\b\d{3}-\d{2}-\d{4}\b": "[SSN]", r"(\w+)@(\w+)": r"\1 at \2"})

    result = await guardrail("I am 123-45-6789 and ada@home", {})

    assert result.action is GuardrailAction.MODIFY
    assert result.content == "I am [SSN] and ada at home"


async def test_a_pattern_that_blocks_is_looked_for_in_the_text_as_it_came() -> None:
    guardrail = Regex("r", {r"\d": "#", r"\d{4}": BLOCK}, blocked_message="no")

    result = await guardrail("pin 1234", {})

    assert (result.action, result.custom_message) == (BLOCK, "no")


async def test_a_pattern_may_only_note() -> None:
    assert (await Regex("r", {r"bank": WARNING})("my bank", {})).action is WARNING
    assert (await Regex("r", {r"bank": WARNING})("my cat", {})).action is GuardrailAction.PASS


async def test_a_pattern_that_would_take_for_ever_blocks_soon() -> None:
    guardrail = Regex("slow", {r"^(a|a)*$": "x"})
    began = time.perf_counter()

    result = await guardrail("a" * 60 + "b", {})

    assert result.action is BLOCK
    assert time.perf_counter() - began < 5


async def test_while_a_slow_pattern_is_looked_for_others_are_served() -> None:
    guardrail = Regex("slow", {r"^(a|a)*$": "x"})
    served = 0

    async def serve() -> None:
        nonlocal served
        served += 1

    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(guardrail("a" * 60 + "b", {}))
        while not slow.done():
            await tasks.create_task(serve())

    assert served > 10


def test_a_slow_pattern_ends_the_parts() -> None:
    parts = Regex("slow", {r"(?:a?){30}a{30}x|(?:a|a){30}y": "x"}).part_guard()
    assert parts is not None

    assert parts.feed("a" * 200) + parts.feed("b" * 200) in {"", "a" * 200}


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(", BLOCK),
        ("[[a]b]", BLOCK),
        ("a", r"\2"),
        ("a", r"\q"),
        ("a", GuardrailAction.PASS),
        (r"\p{L}", BLOCK),
    ],
)
def test_what_cannot_work_is_refused_at_once(pattern: str, what: str | GuardrailAction) -> None:
    with pytest.raises(ConfigurationError, match="guardrail 'r': "):
        Regex("r", {pattern: what})


def test_no_pattern_at_all_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="give at least one"):
        Regex("r", {})


async def test_braces_are_themselves() -> None:
    result = await Regex("r", {"ab{e}c": "X"})("abc axc ab{e}c", {})

    assert result.content == "abc axc X"


@UNHURRIED
@given(st.sampled_from([*BOUNDED, *UNBOUNDED]), st.sampled_from(["[X]", "", r"<\g<0>>"]), TEXTS)
async def test_replacing_is_what_re_makes_of_it(pattern: str, put: str, text: str) -> None:
    result = await Regex("r", {pattern: put})(text, {})

    assert result.content == re.sub(pattern, put, text)


@UNHURRIED
@given(
    st.lists(st.sampled_from(BOUNDED), min_size=1, max_size=3, unique=True),
    st.sampled_from(["[X]", "", "a", "b1"]),
    TEXTS,
    st.data(),
)
async def test_parts_are_the_beginning_of_what_replacing_makes_of_the_whole(
    patterns: list[str], put: str, text: str, data: st.DataObject
) -> None:
    guardrail = CompositeGuardrail(
        "all",
        [
            Regex("r", dict.fromkeys(patterns, put)),
            KeywordGuardrail("k", ["ba", "x]"], GuardrailAction.MODIFY, "#"),
        ],
    )
    whole = (await guardrail(text, {})).content or ""
    parts = guardrail.part_guard()
    assert parts is not None

    assert whole.startswith(fed(parts, pieces_of(text, data)))


@UNHURRIED
@given(st.sampled_from(BOUNDED), TEXTS, st.data())
async def test_parts_before_a_match_that_blocks_never_reach_into_it(
    pattern: str, text: str, data: st.DataObject
) -> None:
    parts = Regex("r", {pattern: BLOCK}, early_parts=True).part_guard()
    assert parts is not None
    match = re.search(pattern, text)

    sent = fed(parts, pieces_of(text, data))

    assert text.startswith(sent)
    assert match is None or len(sent) <= match.start()


@pytest.mark.parametrize("pattern", UNBOUNDED)
def test_a_pattern_without_bounds_wants_the_whole_text(pattern: str) -> None:
    assert Regex("r", {pattern: "X"}).part_guard() is None


def test_nothing_of_a_text_that_may_be_blocked_goes_out_in_parts() -> None:
    assert Regex("r", {"ab": "X", "cd": BLOCK}).part_guard() is None
    assert Regex("r", {"ab": "X", "cd": WARNING}).part_guard() is not None
