"""The system prompt's place: first, once. Knows nothing of what follows it."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from spade_llm.providers.messages import SystemMessage

if TYPE_CHECKING:
    from spade_llm.providers.messages import ContextMessage


def leading_system_messages(messages: list[ContextMessage]) -> int:
    """How many system messages the history opens with."""
    return sum(1 for _ in takewhile(lambda message: message["role"] == "system", messages))


def ensure_system_prompt(
    messages: list[ContextMessage], system_prompt: str | None
) -> list[ContextMessage]:
    """What a strategy kept, behind the system prompt. Strategies of spade_llm 0.3 return messages
    only; one that opens with a system message of its own is left as it is."""
    if leading_system_messages(messages):
        return messages
    return with_system_prompt(messages, system_prompt)


def with_system_prompt(
    messages: list[ContextMessage], system_prompt: str | None
) -> list[ContextMessage]:
    """A new list that opens with the prompt, unless it already does or there is none."""
    if not system_prompt:
        return list(messages)
    prompt = SystemMessage(role="system", content=system_prompt)
    if messages and messages[0] == prompt:
        return list(messages)
    return [prompt, *messages]
