"""Prompt: system prompt, history, quoted memories and documents, question; prompt templates."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from spade_llm.context import ContextManagement
from spade_llm.context.strategy import ensure_system_prompt
from spade_llm.providers.messages import MAX_NAME_CHARS, safe_name
from spade_llm.providers.quoted_context import (
    CONTEXT_NAME,
    MESSAGE,
    QuotedMemory,
    QuotedPassage,
    quote_context,
)
from spade_llm.rag.answers import citation_label
from spade_llm.search.memory_query import Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.assistant.turn.recall import RecallResult
    from spade_llm.context import ContextStats
    from spade_llm.memory.contract import MemoryEntry, ScoredMemory
    from spade_llm.providers.messages import (
        AssistantMessage,
        ContextMessage,
        ToolResultMessage,
        UserMessage,
    )
    from spade_llm.providers.model import Completion, ToolCall
    from spade_llm.rag.contract import ScoredChunk


@cache
def prompt_template(name: str) -> str:
    """The whole of `prompts/NAME.md`. What stands in braces there is filled in by `prompt`."""
    path = files("spade_llm.assistant.turn") / "prompts" / f"{name}.md"
    return path.read_text(encoding="utf-8").strip()


def render_prompt(name: str, **values: str) -> str:
    """The text with its values. Nothing in a value is filled in again."""
    return prompt_template(name).format_map(values)


DEFAULT_SYSTEM_PROMPT = prompt_template("assistant")


def user_message(text: str, *, peer: str) -> UserMessage:
    """`name` is the bare JID with unsafe characters as `_` (as spade_llm 0.3 writes it)."""
    return {"role": "user", "content": text, "name": safe_name(peer)}


def call_message(completion: Completion) -> AssistantMessage:
    """The assistant message that carries a completion's tool calls."""
    return {
        "role": "assistant",
        "content": completion.text or None,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": _safe_name(call.name), "arguments": _json(call.arguments)},
            }
            for call in completion.tool_calls
        ],
    }


def without_text(message: ContextMessage) -> ContextMessage:
    """Message without the model's text if it has tool calls; others are unchanged."""
    if message["role"] == "assistant" and message.get("tool_calls"):
        return {**message, "content": None}
    return message


def _safe_name(name: str) -> str:
    """Valid name for a tool that may not exist: servers accept a history only with names of their
    format."""
    return safe_name(name) or "unnamed"


def _json(arguments: str) -> str:
    """Some servers parse the arguments of a history: its result says that they were no JSON."""
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        is_object = False
    return arguments if is_object else "{}"


def result_message(call: ToolCall, text: str) -> ToolResultMessage:
    return {"role": "tool", "content": text, "tool_call_id": call.id}


def build_prompt(
    strategy: ContextManagement,
    history: Sequence[ContextMessage],
    *,
    system_prompt: str,
    recalled: RecallResult,
) -> list[ContextMessage]:
    """History as the strategy keeps it, with the quoted context right before the last question."""
    kept = list(strategy.apply_context_strategy(list(history), system_prompt))
    quoted = quote_context(
        [_quoted_memory(found) for found in recalled.memories],
        [_quoted_passage(found) for found in recalled.passages],
        recalled.missing,
        recalled.heard,
        recalled.replied_to,
    )
    if quoted:
        message: UserMessage = {"role": "user", "content": quoted, "name": CONTEXT_NAME}
        kept.insert(last_question(kept), message)
    return kept


def history_length(prompt: Sequence[ContextMessage]) -> int:
    """Number of messages in a prompt that belong to the conversation itself."""
    return sum(one["role"] != "system" and one.get("name") != CONTEXT_NAME for one in prompt)


def last_question(messages: Sequence[ContextMessage]) -> int:
    questions = (i for i in reversed(range(len(messages))) if messages[i]["role"] == "user")
    return next(questions, len(messages))


def _quoted_memory(found: ScoredMemory) -> QuotedMemory:
    """Quotation of a memory: entries by category or type, messages by speaker; dated by the time of
    validity."""
    entry = found.entry
    date = (entry.valid_at or entry.created_at).date().isoformat()
    if is_message(found):
        said = f"{speaker_of(entry)}: {entry.content}"
        return QuotedMemory(kind=MESSAGE, text=said, date=date)
    return QuotedMemory(kind=entry.category or entry.type, text=entry.content, date=date)


def is_message(memory: ScoredMemory) -> bool:
    return memory.entry.origin is Origin.MESSAGE


def speaker_of(entry: MemoryEntry) -> str:
    """The name that others call them by, else the role, in one line."""
    name = entry.metadata.get("speaker") or entry.metadata.get("role") or "somebody"
    return " ".join(str(name).split())[:MAX_NAME_CHARS]


def _quoted_passage(found: ScoredChunk) -> QuotedPassage:
    return QuotedPassage(source=citation(found), text=found.chunk.text, score=round(found.score, 2))


def citation(found: ScoredChunk) -> str:
    """Name of a passage, as people and models are told it everywhere."""
    return citation_label(found.chunk)


class CachedContext(ContextManagement):
    """Holds the latest context; a history that has grown since gets another one."""

    def __init__(self, strategy: ContextManagement) -> None:
        self._strategy = strategy
        self._asked: tuple[list[ContextMessage], str | None] | None = None
        self._kept: list[ContextMessage] = []

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        # A copy: the caller's own list would grow, and still be equal to itself.
        asked = (list(messages), system_prompt)
        if self._asked != asked:
            kept = self._strategy.apply_context_strategy(messages, system_prompt)
            self._kept = ensure_system_prompt(kept, system_prompt)
            self._asked = asked
        # A copy: build_prompt() inserts the quoted context into it.
        return list(self._kept)

    def get_stats(self, total_messages: int) -> ContextStats:
        return self._strategy.get_stats(total_messages)
