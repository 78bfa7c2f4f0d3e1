"""Holds a model to the tool that it was told to call. Knows no wire and runs no tool.

Not every model's server honours `tool_choice`. One that did not is asked once more, with only what
is wished for; a tool that can be called without arguments is then called anyway.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.conversation.prompt_files import prompt
from spade_llm.conversation.wishes import AUTO, REQUIRED
from spade_llm.providers.messages import ContextMessage
from spade_llm.providers.model import Completion, ToolCall, ToolSpec

if TYPE_CHECKING:
    from spade_llm.providers.messages import SystemMessage

Complete = Callable[[Sequence[ContextMessage], Sequence[ToolSpec], str], Awaitable[Completion]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    completion: Completion
    note: str = ""
    """For the asker, where the model could not be brought to it."""


async def complete_as_chosen(
    complete: Complete,
    prompt: Sequence[ContextMessage],
    tools: Sequence[ToolSpec],
    *,
    tool_choice: str,
) -> Chosen:
    """The model's answer, with a call as `tool_choice` says if that can be had."""
    first = _only_chosen(await complete(prompt, tools, tool_choice), tool_choice)
    if tool_choice == AUTO or first.tool_calls:
        return Chosen(completion=first)
    wanted = [spec for spec in tools if tool_choice in (REQUIRED, spec.name)]
    again = await complete([*prompt, _reminder(wanted)], wanted, tool_choice)
    second = _only_chosen(again, tool_choice)
    second = replace(second, usage=first.usage + second.usage)
    return Chosen(completion=second) if second.tool_calls else _forced(second, wanted)


def _only_chosen(completion: Completion, tool_choice: str) -> Completion:
    """Without calls of other tools than the one that is named."""
    if tool_choice in (AUTO, REQUIRED):
        return completion
    kept = tuple(call for call in completion.tool_calls if call.name == tool_choice)
    return replace(completion, tool_calls=kept)


def _reminder(wanted: Sequence[ToolSpec]) -> SystemMessage:
    names = ", ".join(spec.name for spec in wanted)
    return {"role": "system", "content": prompt("call_first", names=names)}


def _forced(completion: Completion, wanted: Sequence[ToolSpec]) -> Chosen:
    if len(wanted) == 1 and not wanted[0].parameters.get("required"):
        call = ToolCall(id="call_forced", name=wanted[0].name, arguments="{}")
        return Chosen(completion=replace(completion, text="", tool_calls=(call,)))
    named = wanted[0].name if len(wanted) == 1 else "a tool"
    return Chosen(completion=completion, note=f"(The model did not call {named}, as was asked.)")
