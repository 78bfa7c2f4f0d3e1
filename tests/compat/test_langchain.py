"""Real tools of langchain-core as ours: one argument or several, awaited or not."""

from __future__ import annotations

import threading
from typing import Annotated

import pytest
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, Tool, ToolException
from langchain_core.tools import tool as langchain_tool
from pydantic import BaseModel, Field
from pydantic.v1 import BaseModel as OldModel

from spade_llm.compat.tools import ReadyForStructuredOutputTool
from spade_llm.core.errors import ConfigurationError
from spade_llm.tools import LangChainToolAdapter, LocalToolbox


class Trip(BaseModel):
    start: str = Field(description="Where from")
    end: str
    nights: int = 1


class OldTrip(OldModel):
    start: str
    end: str


@langchain_tool
def multiply(a: int, b: int = 2) -> int:
    """Multiply two numbers."""
    return a * b


@langchain_tool
async def travel(start: str, end: str) -> str:
    """Go there."""
    return f"from {start} to {end}"


@langchain_tool
def forbidden(what: str, who: Annotated[str, InjectedToolArg] = "nobody") -> str:
    """Never works."""
    raise ToolException(f"{who} may {what}")


@langchain_tool
def broken(what: str) -> str:
    """Never works."""
    raise KeyError("sk-secret")


def thread() -> str:
    return threading.current_thread().name


def book(start: str, end: str, nights: int) -> str:
    return f"{start}-{end} {nights}"


async def call(tool: BaseTool, **arguments: object) -> tuple[str, bool]:
    adapter = LangChainToolAdapter(tool)
    result = await LocalToolbox([adapter]).call(adapter.name, arguments)
    return result.text, result.is_error


async def test_a_tool_with_several_arguments_is_called_with_all_of_them() -> None:
    assert await call(multiply, a=6, b=7) == ("42", False)
    assert await call(multiply, a=6) == ("12", False)


async def test_a_tool_that_is_awaited_is_awaited() -> None:
    assert await call(travel, start="Lund", end="Rome") == ("from Lund to Rome", False)


async def test_a_tool_with_one_text_is_given_it() -> None:
    shout = Tool(name="shout it!", description="Louder", func=str.upper)

    adapter = LangChainToolAdapter(shout)

    assert adapter.name == "shout_it_"
    assert adapter.parameters["properties"] == {"tool_input": {"type": "string"}}
    assert await call(shout, tool_input="hey") == ("HEY", False)


async def test_a_plain_function_does_not_hold_the_event_loop() -> None:
    tool = StructuredTool.from_function(thread, name="thread", description="Which one")

    assert (await call(tool))[0] != threading.main_thread().name


@pytest.mark.parametrize("schema", [Trip, OldTrip, Trip.model_json_schema()], ids=repr)
def test_a_schema_of_any_kind_is_what_the_model_reads(schema: type[BaseModel]) -> None:
    tool = StructuredTool(name="book", description="Book", func=book, args_schema=schema)

    parameters = LangChainToolAdapter(tool).parameters

    assert parameters["type"] == "object"
    assert parameters["required"] == ["start", "end"]


async def test_arguments_are_checked_before_the_call() -> None:
    text, is_error = await call(multiply, a="six")

    assert is_error
    assert "Invalid arguments" in text


async def test_injected_arguments_are_hidden_from_the_model() -> None:
    assert "who" not in str(LangChainToolAdapter(forbidden).parameters)


async def test_only_error_messages_meant_for_the_model_reach_it() -> None:
    assert await call(forbidden, what="fly") == ("'forbidden': nobody may fly", True)
    assert await call(broken, what="fly") == ("'broken' failed (KeyError).", True)


class Search:
    """A tool of a kind of its own, with the oldest of the ways to run one."""

    name = "search"
    description = "Find"

    def run(self, tool_input: object) -> str:
        return f"found {tool_input}"


async def test_a_tool_that_is_only_run_is_run_with_its_text() -> None:
    adapter = LangChainToolAdapter(Search())

    assert await adapter.execute(input="x") == "found x"


def test_objects_that_are_not_tools_are_named() -> None:
    with pytest.raises(ConfigurationError, match="no LangChain tool"):
        LangChainToolAdapter(print)  # type: ignore[arg-type]


async def test_a_model_can_say_that_it_is_ready_for_the_object() -> None:
    ready = ReadyForStructuredOutputTool(Trip)

    result = await LocalToolbox([ready]).call(ready.TOOL_NAME, {})

    assert '"status":"ready"' in result.text
    assert "Trip" in result.text
