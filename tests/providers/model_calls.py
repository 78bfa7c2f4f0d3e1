"""Short ways to ask a model in these tests."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from spade_llm.providers.model import Completion, TextDelta, ToolSpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from spade_llm.providers import LLMProvider
    from spade_llm.providers.model import ContextMessage, UserMessage

CLOCK = ToolSpec(
    name="get_current_datetime",
    description="The time in a time zone.",
    parameters={"type": "object", "properties": {"timezone": {"type": "string"}}},
)


def user(text: str) -> UserMessage:
    return {"role": "user", "content": text}


HELLO: list[ContextMessage] = [{"role": "system", "content": "Be brief."}, user("hello")]


def open_stream(
    provider: LLMProvider, tools: tuple[ToolSpec, ...] = ()
) -> aclosing[AsyncGenerator[TextDelta | Completion]]:
    return aclosing(provider.stream(HELLO, tools))


async def read_stream(
    provider: LLMProvider, tools: tuple[ToolSpec, ...] = ()
) -> tuple[list[str], Completion]:
    """The deltas, and the one completion, which comes last."""
    async with open_stream(provider, tools) as parts:
        *deltas, last = [part async for part in parts]
    assert isinstance(last, Completion)
    return [delta.text for delta in deltas if isinstance(delta, TextDelta)], last
