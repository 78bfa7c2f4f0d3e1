"""Prompt: templates, quoted context, and the context strategy before and between turns."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.turn_recorder import record_phase
from spade_llm.context import ContextManagement, ContextStats, counter_for
from spade_llm.context.retention import ensure_system_prompt
from spade_llm.context.token_counter import CachedTokenCounter
from spade_llm.core.arguments import check_private
from spade_llm.core.errors import ModelError
from spade_llm.guardrails.guardrail import call_user_code
from spade_llm.memory.learning.episodes import EPISODE_DATES
from spade_llm.providers.model import MAX_NAME_CHARS, safe_name
from spade_llm.providers.quoted_context import (
    CONTEXT_NAME,
    MESSAGE,
    QuotedMemory,
    QuotedPassage,
    quote_context,
    read_earlier,
)
from spade_llm.rag.cited_answers import citation_label
from spade_llm.search.memory_query import Origin
from spade_llm.xmpp.spade_adapters import Behaviour

if TYPE_CHECKING:
    from datetime import date

    from spade_llm.assistant.history.conversation_cache import Conversation
    from spade_llm.assistant.turn.recall import RecallResult
    from spade_llm.memory.contract import MemoryEntry, ScoredMemory
    from spade_llm.providers.model import (
        AssistantMessage,
        Completion,
        ContextMessage,
        ToolCall,
        ToolResultMessage,
        UserMessage,
    )

logger = logging.getLogger(__name__)


@cache
def prompt_template(name: str) -> str:
    """Text of `prompts/NAME.md`; `render_prompt` fills in what stands in braces."""
    path = files("spade_llm.assistant.turn") / "prompts" / f"{name}.md"
    return path.read_text(encoding="utf-8").strip()


def render_prompt(name: str, **values: str) -> str:
    """Fill values into a template; nothing inside a value is filled in again."""
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
                # Servers accept a history only with names of their format, also of a tool that
                # the model made up.
                "function": {
                    "name": safe_name(call.name) or "unnamed",
                    "arguments": _json(call.arguments),
                },
            }
            for call in completion.tool_calls
        ],
    }


def without_text(message: ContextMessage) -> ContextMessage:
    """Message without the model's text if it has tool calls; others are unchanged."""
    if message["role"] == "assistant" and message.get("tool_calls"):
        return {**message, "content": None}
    return message


def _json(arguments: str) -> str:
    """The arguments if they are a JSON object, else `{}`: some servers parse the arguments in a
    history. The result of the call says that they were no JSON."""
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
    today: date | None = None,
) -> list[ContextMessage]:
    """History as the strategy keeps it, with the quoted context right before the last question.
    `today`: None for the date of this machine."""
    kept = list(strategy.apply_context_strategy(list(history), system_prompt))
    quoted = quote_context(
        _quoted_memories(recalled.memories),
        [
            QuotedPassage(
                source=citation_label(found.chunk),
                text=found.chunk.text,
                score=round(found.score, 2),
            )
            for found in recalled.passages
        ],
        recalled.missing,
        recalled.heard,
        recalled.replied_to,
        today=today or datetime.now().astimezone().date(),
        is_always_dated=recalled.is_dated,
    )
    if quoted:
        message: UserMessage = {"role": "user", "content": quoted, "name": CONTEXT_NAME}
        kept.insert(last_question(kept), message)
    return kept


def history_length(prompt: Sequence[ContextMessage]) -> int:
    """Number of messages in a prompt that belong to the conversation itself."""
    return sum(one["role"] != "system" and one.get("name") != CONTEXT_NAME for one in prompt)


def shown_texts(prompt: Sequence[ContextMessage]) -> frozenset[str]:
    """Texts of the messages in a prompt, and of those quoted from earlier in the conversation."""
    quoted = (
        line.partition(": ")[2]
        for one in prompt
        if one.get("name") == CONTEXT_NAME
        for line in read_earlier(one["content"] or "")
    )
    return frozenset([*(one["content"] or "" for one in prompt), *quoted])


def told_texts(prompt: Sequence[ContextMessage]) -> list[str]:
    """Texts of people's messages in a prompt."""
    return [
        one["content"] or ""
        for one in prompt
        if one["role"] == "user" and one.get("name") != CONTEXT_NAME
    ]


def last_question(messages: Sequence[ContextMessage]) -> int:
    questions = (i for i in reversed(range(len(messages))) if messages[i]["role"] == "user")
    return next(questions, len(messages))


def _quoted_memories(memories: Sequence[ScoredMemory]) -> list[QuotedMemory]:
    """Quotations of memories. Dates that several of them have are followed by the time, which tells
    what came first: no more precise than is needed to tell different times apart."""
    instants = [
        (
            one.entry.holds_since.astimezone(),
            at.astimezone() if (at := one.entry.invalid_at) else at,
        )
        for one in memories
    ]
    known = [at for both in instants for at in dict.fromkeys(both) if at]
    dates = Counter(at.date() for at in known)
    distinct = [at.replace(microsecond=0) for at in set(known)]
    minutes, seconds = Counter(at.replace(second=0) for at in distinct), Counter(distinct)

    def time(at: datetime | None) -> str:
        if at is None or dates[at.date()] < 2:
            return ""
        second = at.replace(microsecond=0)
        if minutes[second.replace(second=0)] < 2:
            return at.time().isoformat("minutes")
        return at.time().isoformat("seconds" if seconds[second] < 2 else "milliseconds")

    return [
        replace(quoted_memory(found), time=time(since), until_time=time(until))
        for found, (since, until) in zip(memories, instants, strict=True)
    ]


def quoted_memory(found: ScoredMemory) -> QuotedMemory:
    """Quotation of a memory: entries by category or type, messages by speaker; dated by the time of
    validity, as the date of today is: in the time zone of this machine."""
    entry = found.entry
    date = entry.holds_since.astimezone().date().isoformat()
    until = entry.invalid_at.astimezone().date().isoformat() if entry.invalid_at else ""
    if is_message(found):
        said = f"{speaker_of(entry)}: {entry.content}"
        return QuotedMemory(kind=MESSAGE, text=said, date=date, until=until)
    text = entry.content
    if entry.origin is Origin.EPISODE:
        # Its text begins with its dates; the quotation has the first one already.
        text = EPISODE_DATES.sub("", text, count=1)
    return QuotedMemory(kind=entry.category or entry.type, text=text, date=date, until=until)


def is_message(memory: ScoredMemory) -> bool:
    return memory.entry.origin is Origin.MESSAGE


def speaker_of(entry: MemoryEntry) -> str:
    """Name of a message's speaker, else the role, in one line."""
    name = entry.metadata.get("speaker") or entry.metadata.get("role") or "somebody"
    return " ".join(str(name).split())[:MAX_NAME_CHARS]


class CachedContext(ContextManagement):
    """Strategy that holds its latest context; a history that has grown since gets another one."""

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
            check_private(
                kept,
                list,
                of=f"result of {type(self._strategy).__name__}.apply_context_strategy",
                fix="return a list of messages",
            )
            self._kept = ensure_system_prompt(kept, system_prompt)
            self._asked = asked
        # A copy: build_prompt() inserts the quoted context into it.
        return list(self._kept)

    def get_stats(self, total_messages: int) -> ContextStats:
        return self._strategy.get_stats(total_messages)


PREPARE_DEADLINE_S = 0.5
AHEAD_DEADLINE_S = 120.0
"""Deadline for the work on one conversation between its turns, in seconds; it may call a model."""
GRACE_S = 2.0
"""Grace period after a deadline, in seconds; code that does not end when cancelled is abandoned
then."""
MAX_WAITING = 1000
"""Conversations; the one that waited longest is given up, and comes again with its next turn."""
IDLE_S = 30.0

BillingScope = Callable[[str], AbstractContextManager[None]]
"""Around work for the peer with this bare JID: what models cost inside is theirs."""


class ContextPreparationBehaviour(Behaviour):
    """Background preparation of contexts, one conversation at a time, outside turns."""

    def __init__(self, billing: BillingScope | None = None) -> None:
        super().__init__()
        self._billing = billing
        self._waiting: dict[str, tuple[ContextManagement, Conversation]] = {}
        self._has_work = asyncio.Event()

    async def prepare(
        self, strategy: ContextManagement, key: str, messages: Sequence[ContextMessage]
    ) -> None:
        """Prepare a turn's context, within a deadline; unfinished work continues in `run`. An
        exception of a custom strategy does not prevent the answer."""
        with record_phase("prepare"):
            if not strategy.has_preparations:
                return  # A timer over nothing: among hundreds of turns it runs out all the same.
            await call_user_code(
                partial(_prepared, strategy, key, messages),
                timeout_s=PREPARE_DEADLINE_S + GRACE_S,
                what=f"conversation {key}: preparing its context",
            )

    def work_ahead(self, strategy: ContextManagement, conversation: Conversation) -> None:
        """Schedule work on a conversation after a turn; several turns before it runs cause one
        run."""
        if not strategy.has_preparations:
            return
        self._waiting[conversation.key] = (strategy, conversation)
        if len(self._waiting) > MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._has_work.set()

    def cancel(self, key: str) -> None:
        """Drop scheduled work on a conversation that has ended."""
        self._waiting.pop(key, None)

    async def run(self) -> None:
        if not self._waiting:
            self._has_work.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_S):
                    await self._has_work.wait()
        if not self._waiting:
            return
        key = next(iter(self._waiting))
        strategy, conversation = self._waiting.pop(key)
        billed = self._billing(conversation.peer) if self._billing else nullcontext()
        with billed:
            await call_user_code(
                partial(_worked_ahead, strategy, conversation),
                timeout_s=AHEAD_DEADLINE_S + GRACE_S,
                what=f"conversation {key}: working ahead",
            )


async def _prepared(
    strategy: ContextManagement, key: str, messages: Sequence[ContextMessage]
) -> None:
    try:
        async with asyncio.timeout(PREPARE_DEADLINE_S):
            await strategy.prepare(messages)
    except TimeoutError:
        logger.info("conversation %s: preparing its context takes too long", key)


async def _worked_ahead(strategy: ContextManagement, conversation: Conversation) -> None:
    try:
        async with asyncio.timeout(AHEAD_DEADLINE_S):
            # A copy: a turn may extend the deque meanwhile.
            await strategy.work_ahead(tuple(conversation.messages))
    except (ModelError, TimeoutError) as error:
        key = conversation.key
        logger.warning("conversation %s: preparing its next context failed: %s", key, error)


class TokenCounterCache:
    """Token counter of an assistant, created for its first model and kept if a fallback changes the
    model's name."""

    def __init__(self) -> None:
        self._first: asyncio.Future[Callable[[str], int]] | None = None

    async def count_for(self, model: str) -> Callable[[str], int]:
        """Exact where the table is at hand; else an estimate on the large side."""
        if self._first is None:
            self._first = asyncio.ensure_future(asyncio.to_thread(_count_for, model))
        # Shielded: other turns need the counter when this one is stopped.
        return await asyncio.shield(self._first)


def _count_for(model: str) -> Callable[[str], int]:
    """Most lines of a turn stood in the one before."""
    return CachedTokenCounter(counter_for(model)).text
