"""Holds a model to the tool that it was told to call. Knows no wire and runs no tool.

Not every model's server honours `tool_choice`. One that did not is asked once more, with only what
is wished for. A tool that was named is then called in any case: with the arguments that the model
wrote as its answer, else with those that the question tells.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.conversation.answer_form import FORM_NAME
from spade_llm.conversation.prompt import last_question
from spade_llm.conversation.prompt_files import prompt
from spade_llm.conversation.wishes import AUTO, REQUIRED
from spade_llm.conversation.worked_out import WorkedOut, arguments_in, worked_out
from spade_llm.providers.messages import ContextMessage
from spade_llm.providers.model import Completion, ToolCall, ToolSpec

if TYPE_CHECKING:
    from spade_llm.providers.messages import SystemMessage, UserMessage

Complete = Callable[[Sequence[ContextMessage], Sequence[ToolSpec], str], Awaitable[Completion]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    completion: Completion
    note: str = ""
    """For the asker, where the model could not be brought to it."""
    refused: str = ""
    """Why the call cannot be made, though it is in the completion; empty: it can."""


async def complete_as_chosen(
    complete: Complete,
    messages: Sequence[ContextMessage],
    tools: Sequence[ToolSpec],
    *,
    tool_choice: str,
) -> Chosen:
    """The model's answer, with a call as `tool_choice` says if that can be had."""
    first = _only_chosen(await complete(messages, tools, tool_choice), tool_choice)
    if tool_choice == AUTO or first.tool_calls:
        return Chosen(completion=first)
    wanted = [spec for spec in tools if tool_choice in (REQUIRED, spec.name)]
    again = await complete(_reminded(messages, wanted, tool_choice), wanted, tool_choice)
    second = _only_chosen(again, tool_choice)
    second = replace(second, usage=first.usage + second.usage)
    if second.tool_calls:
        return Chosen(completion=second)
    if tool_choice == REQUIRED and len(wanted) > 1:
        return Chosen(completion=second, note="(The model did not call a tool, as was asked.)")
    asked = messages[last_question(messages) :][:1]
    return _forced(second, wanted[0], "".join(str(one["content"]) for one in asked))


def _only_chosen(completion: Completion, tool_choice: str) -> Completion:
    """Without calls of other tools than the one that is named."""
    if tool_choice in (AUTO, REQUIRED):
        return completion
    kept = tuple(call for call in completion.tool_calls if call.name == tool_choice)
    return replace(completion, tool_calls=kept)


def _reminded(
    messages: Sequence[ContextMessage], wanted: Sequence[ToolSpec], tool_choice: str
) -> list[ContextMessage]:
    """The schema is of no more trust than the question: a tool may be somebody else's."""
    names = ", ".join(spec.name for spec in wanted)
    reminded = [*messages, _system(prompt("call_first", names=names))]
    if tool_choice != REQUIRED:
        schema = json.dumps(wanted[0].parameters, ensure_ascii=False)
        asked = prompt("call_arguments", tool=names, schema=schema)
        how: UserMessage = {"role": "user", "content": asked, "name": FORM_NAME}
        reminded.insert(last_question(messages), how)
    return reminded


def _system(text: str) -> SystemMessage:
    return {"role": "system", "content": text}


def _forced(completion: Completion, spec: ToolSpec, question: str) -> Chosen:
    arguments = arguments_in(completion.text, spec)
    found = worked_out(question, spec) if arguments is None else WorkedOut(arguments=arguments)
    call = ToolCall(
        id="call_forced",
        name=spec.name,
        arguments=json.dumps(found.arguments, ensure_ascii=False),
    )
    refused = f"{spec.name} was not called: {found.why_not}." if found.why_not else ""
    return Chosen(completion=replace(completion, text="", tool_calls=(call,)), refused=refused)
