"""What every Toolbox promises, local or remote. A test module parametrises over PROMISES and
makes a toolbox of SAMPLE_TOOLS; see test_local_toolbox.py."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import RequestRefused, ToolFailed, UnknownTool
from spade_llm.tools import LLMTool, tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spade_llm.tools import Tool, Toolbox

UNKNOWN = (UnknownTool, RequestRefused)
"""The same refusal, near and far."""


@tool
def repeat(text: str, times: int = 2) -> str:
    """Repeat a text.

    Args:
        text: What to repeat.
        times: How often.
    """
    return text * times


@tool
async def later(text: str) -> str:
    """Answer after the event loop has turned."""
    await asyncio.sleep(0)
    return f"later: {text}"


@tool
def measure(width: float) -> dict[str, float]:
    """Measure something."""
    return {"width": width}


@tool
def broken() -> str:
    """Always fails."""
    raise LookupError("the password is hunter2")


@tool
def unlucky() -> str:
    """Fails, and says why."""
    raise ToolFailed("the bridge is closed on Sundays")


def _add(a: int, b: int) -> int:
    return a + b


SAMPLE_TOOLS: tuple[Tool, ...] = (
    repeat,
    later,
    measure,
    broken,
    unlucky,
    LLMTool(
        name="add",
        description="Add two whole numbers.",
        parameters={
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
        func=_add,
    ),
)


async def every_tool_is_listed_with_its_schema(toolbox: Toolbox) -> None:
    specs = {spec.name: spec for spec in await toolbox.list()}

    assert {"repeat", "later", "measure", "broken", "unlucky", "add"} <= set(specs)
    assert specs["add"].parameters == SAMPLE_TOOLS[-1].spec.parameters
    assert specs["repeat"].description == "Repeat a text."


async def a_call_gives_the_text(toolbox: Toolbox) -> None:
    result = await toolbox.call("repeat", {"text": "ab", "times": 3})

    assert (result.text, result.is_error) == ("ababab", False)


async def coroutine_functions_are_tools_too(toolbox: Toolbox) -> None:
    assert (await toolbox.call("later", {"text": "x"})).text == "later: x"


async def a_value_that_is_no_text_becomes_json(toolbox: Toolbox) -> None:
    assert (await toolbox.call("measure", {"width": 1.5})).text == '{"width":1.5}'
    assert (await toolbox.call("add", {"a": 1, "b": 2})).text == "3"


async def wrong_arguments_are_a_result_that_names_them(toolbox: Toolbox) -> None:
    for name, arguments, named in (
        ("repeat", {"times": 2}, "text"),
        ("repeat", {"text": "a", "times": "many"}, "times"),
        ("repeat", {"text": "a", "loud": True}, "loud"),
        ("add", {"a": 1}, "b"),
        ("add", {"a": 1, "b": "2"}, "$.b"),
    ):
        result = await toolbox.call(name, arguments)
        assert result.is_error
        assert named in result.text
        assert "pydantic.dev" not in result.text


async def a_tool_that_breaks_is_a_result_without_its_secrets(toolbox: Toolbox) -> None:
    result = await toolbox.call("broken", {})

    assert result.is_error
    assert "broken" in result.text
    assert "hunter2" not in result.text
    assert "Traceback" not in result.text


async def a_tool_can_say_why_it_failed(toolbox: Toolbox) -> None:
    result = await toolbox.call("unlucky", {})

    assert result.is_error
    assert "closed on Sundays" in result.text


async def an_unknown_tool_is_refused(toolbox: Toolbox) -> None:
    with pytest.raises(UNKNOWN):
        await toolbox.call("nothing", {})


async def calls_run_side_by_side(toolbox: Toolbox) -> None:
    results = await asyncio.gather(
        *(toolbox.call("repeat", {"text": str(n), "times": 1}) for n in range(40))
    )

    assert [result.text for result in results] == [str(n) for n in range(40)]


PROMISES: tuple[Callable[[Toolbox], Awaitable[None]], ...] = (
    every_tool_is_listed_with_its_schema,
    a_call_gives_the_text,
    coroutine_functions_are_tools_too,
    a_value_that_is_no_text_becomes_json,
    wrong_arguments_are_a_result_that_names_them,
    a_tool_that_breaks_is_a_result_without_its_secrets,
    a_tool_can_say_why_it_failed,
    an_unknown_tool_is_refused,
    calls_run_side_by_side,
)
