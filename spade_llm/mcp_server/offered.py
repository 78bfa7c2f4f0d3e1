"""OfferedTool: what a client may call, what that may change, and what it answers. Knows no MCP."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from spade_llm.errors import (
    ApprovalNeeded,
    InvalidArguments,
    RequestError,
    SpadeLLMError,
    Unauthorised,
)
from spade_llm.memory.entry_tools.answers import error_type
from spade_llm.memory.entry_tools.as_text import as_text
from spade_llm.providers.model import ToolSpec

if TYPE_CHECKING:
    from spade_llm.memory.entry_tools import EntryTool
    from spade_llm.memory.entry_tools.arguments import ToolArguments

A = TypeVar("A", bound="ToolArguments")
Report = Callable[[str], Awaitable[None]]
"""Takes the next piece of an answer that is still being made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What a call may do to what is kept or to the world: by this a client decides whom to ask."""

    reads_only: bool = False
    """Counting an access is no change."""
    destroys: bool = False
    """It may replace or remove what was there; else it only adds."""
    repeatable: bool = False
    """The same call again changes nothing more."""
    reaches_out: bool = False
    """It may act beyond our own stores."""


READS = Effects(reads_only=True, repeatable=True)
ADDS = Effects()
ADDS_ONCE = Effects(repeatable=True)
REPLACES = Effects(destroys=True, repeatable=True)
REMOVES = Effects(destroys=True)
ACTS = Effects(destroys=True, reaches_out=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    text: str
    is_error: bool = False
    answer: Mapping[str, object] | None = None
    """The text's JSON object, if it is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    spec: ToolSpec
    effects: Effects | None
    """None: nobody told us."""
    run: Callable[[Mapping[str, object], Report], Awaitable[Called]]


def answered(answer: Mapping[str, object]) -> Called:
    """An answer that is longer than a model reads has fewer items, in both forms the same."""
    text = as_text(answer)
    return Called(text=text, is_error=answer.get("error") is True, answer=json.loads(text))


def entry_tool(tool: EntryTool, effects: Effects) -> OfferedTool:
    async def run(arguments: Mapping[str, object], _report: Report) -> Called:
        return answered(await tool.answer(arguments))

    return OfferedTool(spec=tool.spec, effects=effects, run=run)


def own_tool(
    name: str,
    description: str,
    model: type[A],
    effects: Effects,
    run: Callable[[A, Report], Awaitable[Mapping[str, object]]],
) -> OfferedTool:
    """A tool that answers with an object, and whose errors have the form of the memory tools'."""

    async def call(arguments: Mapping[str, object], report: Report) -> Called:
        try:
            return answered(await run(model.read(arguments), report))
        except (InvalidArguments, RequestError) as error:
            return refused(error)

    spec = ToolSpec(name=name, description=description, parameters=model.parameters())
    return OfferedTool(spec=spec, effects=effects, run=call)


def refused(error: SpadeLLMError) -> Called:
    """The sentence of a request's error says which agent it was."""
    code = error.wire_code if isinstance(error, RequestError) else error.code
    if code == ApprovalNeeded.code:
        code = Unauthorised.code
    return answered({"error": True, "error_type": error_type(code), "message": str(error)})
