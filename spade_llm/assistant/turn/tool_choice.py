"""Forced tool choice: makes the model call the chosen tool, or infers the arguments itself."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from spade_llm.assistant.turn.prompt import last_question, render_prompt
from spade_llm.assistant.turn.structured_output import SCHEMA_MESSAGE_NAME
from spade_llm.assistant.turn.turn_options import AUTO, REQUIRED
from spade_llm.core.errors import InvalidArguments
from spade_llm.core.text import strip_code_fence
from spade_llm.providers.model import (
    Completion,
    ContextMessage,
    SystemMessage,
    ToolCall,
    ToolSpec,
    UserMessage,
)
from spade_llm.providers.offline.intents import CalculateIntent, recognise_intent
from spade_llm.tools.llm_tool import ArgumentValidator

EXPRESSIONS = frozenset({"expression", "formula", "equation"})
"""Names of arguments that are arithmetic."""
MAX_SCANNED_CHARS = 4000
"""Maximum length of the part of a question that is searched, in characters."""
_ARITHMETIC = re.compile(r"[-(\d][\d\s.+*/%()^-]*[\d)]")
_OPERATOR = re.compile(r"\d[\s)]*[+*/%^-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredArguments:
    arguments: Mapping[str, object] = field(default_factory=dict)
    why_not: str = ""
    """Reason why a call with these arguments is impossible; empty: it is possible."""


def parse_arguments(answer: str, spec: ToolSpec) -> Mapping[str, object] | None:
    """Parse an answer that consists of a tool's arguments only; None if it has no valid ones."""
    try:
        arguments = json.loads(strip_code_fence(answer))
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict) or _fault(spec, arguments):
        return None
    return arguments


def infer_arguments(question: str, spec: ToolSpec) -> InferredArguments:
    """Infer the required arguments from the question; optional ones are left out."""
    properties = spec.parameters.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = spec.parameters.get("required")
    names = [str(name) for name in required] if isinstance(required, list) else []
    found = {
        name: value for name in names for value in _only_value(name, known.get(name), question)
    }
    missing = [name for name in names if name not in found]
    if len(missing) == 1 and _is_free_text(known.get(missing[0])):
        found[missing.pop()] = question
    if missing:
        listed = ", ".join(map(repr, missing))
        why_not = f"the model gave no arguments, and the question does not tell {listed}"
    else:
        why_not = _fault(spec, found)
    return InferredArguments(arguments=found, why_not=why_not)


def _only_value(name: str, schema: object, question: str) -> Sequence[object]:
    """The one value that it can only be; else nothing."""
    if not isinstance(schema, dict):
        return ()
    for key in ("const", "default"):
        if key in schema:
            return (schema[key],)
    if isinstance(values := schema.get("enum"), list):
        said = question.casefold()
        named = [one for one in values if str(one).casefold() in said]
        return values if len(values) == 1 else named if len(named) == 1 else ()
    if name in EXPRESSIONS and (expression := _expression(question)):
        return (expression,)
    return ()


def _expression(question: str) -> str:
    """Arithmetic expression in a question; empty if there is none."""
    question = question[:MAX_SCANNED_CHARS]
    wish = recognise_intent(question)
    if isinstance(wish, CalculateIntent):
        return wish.expression
    found = (one.group().strip() for one in _ARITHMETIC.finditer(question))
    # People write powers with ^, which is XOR in Python.
    return max(filter(_OPERATOR.search, found), key=len, default="").replace("^", "**")


def _is_free_text(schema: object) -> bool:
    if not isinstance(schema, dict):
        return False
    is_bound = {"enum", "format", "pattern"} & set(schema)
    return schema.get("type") == "string" and not is_bound


def _fault(spec: ToolSpec, arguments: Mapping[str, object]) -> str:
    try:
        # Foreign: a tool of another agent may bring a hostile regular expression.
        ArgumentValidator(spec.name, spec.parameters, is_foreign=True).check(arguments)
    except InvalidArguments as error:
        return str(error)
    return ""


Complete = Callable[[Sequence[ContextMessage], Sequence[ToolSpec], str], Awaitable[Completion]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoiceResult:
    """Completion with the chosen tool's call, or the reason why there is none."""

    completion: Completion
    note: str = ""
    """Note to the sender if the model did not follow the tool choice."""
    refused: str = ""
    """Reason why the call in the completion cannot be made; empty: it can."""


async def complete_with_tool_choice(
    complete: Complete,
    messages: Sequence[ContextMessage],
    tools: Sequence[ToolSpec],
    *,
    tool_choice: str,
) -> ToolChoiceResult:
    """The model's answer, with a call as `tool_choice` says if that can be had."""
    first = _only_chosen(await complete(messages, tools, tool_choice), tool_choice)
    if tool_choice == AUTO or first.tool_calls:
        return ToolChoiceResult(completion=first)
    wanted = [spec for spec in tools if tool_choice in (REQUIRED, spec.name)]
    again = await complete(_reminder_prompt(messages, wanted, tool_choice), wanted, tool_choice)
    second = _only_chosen(again, tool_choice)
    second = replace(second, usage=first.usage + second.usage)
    if second.tool_calls:
        return ToolChoiceResult(completion=second)
    if tool_choice == REQUIRED and len(wanted) > 1:
        return ToolChoiceResult(
            completion=second, note="(The model did not call a tool, as was asked.)"
        )
    asked = messages[last_question(messages) :][:1]
    return _forced(second, wanted[0], "".join(str(one["content"]) for one in asked))


def _only_chosen(completion: Completion, tool_choice: str) -> Completion:
    """Completion with only the calls of the chosen tool."""
    if tool_choice in (AUTO, REQUIRED):
        return completion
    kept = tuple(call for call in completion.tool_calls if call.name == tool_choice)
    return replace(completion, tool_calls=kept)


def _reminder_prompt(
    messages: Sequence[ContextMessage], wanted: Sequence[ToolSpec], tool_choice: str
) -> list[ContextMessage]:
    """Prompt that repeats the request for a call. The schema is in a user message, trusted no more
    than the question, since the tool may come from another party."""
    names = ", ".join(spec.name for spec in wanted)
    reminder: SystemMessage = {
        "role": "system",
        "content": render_prompt("call_first", names=names),
    }
    reminded = [*messages, reminder]
    if tool_choice != REQUIRED:
        schema = json.dumps(wanted[0].parameters, ensure_ascii=False)
        asked = render_prompt("call_arguments", tool=names, schema=schema)
        how: UserMessage = {"role": "user", "content": asked, "name": SCHEMA_MESSAGE_NAME}
        reminded.insert(last_question(messages), how)
    return reminded


def _forced(completion: Completion, spec: ToolSpec, question: str) -> ToolChoiceResult:
    arguments = parse_arguments(completion.text, spec)
    found = (
        infer_arguments(question, spec)
        if arguments is None
        else InferredArguments(arguments=arguments)
    )
    call = ToolCall(
        id="call_forced",
        name=spec.name,
        arguments=json.dumps(found.arguments, ensure_ascii=False),
    )
    refused = f"{spec.name} was not called: {found.why_not}." if found.why_not else ""
    return ToolChoiceResult(
        completion=replace(completion, text="", tool_calls=(call,)), refused=refused
    )
