"""Commands that report: /usage, /why (sources of the last answer), /documents and /tools."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Protocol

from spade_llm.assistant.commands.memory import NUMBER_CHARS
from spade_llm.assistant.turn.document_tools import DocumentListing, PersonDocumentListing
from spade_llm.assistant.turn.turn_recorder import UsageTotals
from spade_llm.core.errors import NotFound, RequestError, ServiceError, StorageFailed
from spade_llm.core.text import pluralize, single_line
from spade_llm.providers.model import OFFLINE
from spade_llm.rag.names import MAX_SOURCE_CHARS, is_personal_namespace, personal_namespace

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatService, ChatTurnInput
    from spade_llm.assistant.commands.command_registry import CommandRegistry
    from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
    from spade_llm.assistant.middleware.quota import PeerQuota
    from spade_llm.assistant.middleware.usage_ledger import UsageLedger, UsageMiddleware
    from spade_llm.assistant.turn.approval import ApprovalQuestion
    from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
    from spade_llm.assistant.turn.turn_recorder import (
        DailyUsage,
        ModelCallRecord,
        ToolCallRecord,
        TurnRecord,
    )
    from spade_llm.rag.contract import DocumentPage, NamespaceSummary
    from spade_llm.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)

REPORT_DAYS = (("Today", 1), ("Last 7 days", 7), ("Last 30 days", 30))


class UsageCommand:
    """Command /usage: what a peer has spent."""

    def __init__(self, ledger: UsageLedger, limits: PeerQuota) -> None:
        self._ledger = ledger
        self._limits = limits

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add("usage", self._usage, "/usage – the answers and tokens that you have used")

    async def _usage(self, _argument: str, turn_input: ChatTurnInput) -> str:
        try:
            days = await self._ledger.of_peer(turn_input.peer, days=REPORT_DAYS[-1][1])
        except StorageFailed:
            logger.exception("/usage of %s: the ledger could not be read", turn_input.peer)
            return "The record of usage cannot be read right now."
        lines = [self._line(name, days, count) for name, count in REPORT_DAYS]
        if allowed := self._limits.in_words:
            lines.append(f"Allowed: {allowed}. A new day begins at 00:00 UTC.")
        return "\n".join(["Your usage (days in UTC):", *lines])

    def _line(self, name: str, days: Sequence[DailyUsage], count: int) -> str:
        first = self._ledger.today - timedelta(days=count - 1)
        return f"{name} – {usage_text(total_usage(day.spent for day in days if day.day >= first))}"


def total_usage(spent: Iterable[UsageTotals]) -> UsageTotals:
    return reduce(add, spent, UsageTotals())


def usage_text(spent: UsageTotals) -> str:
    if spent.turns and not spent.model_calls:
        return f"answers: {spent.turns}, tool calls: {spent.tool_calls}, no language model was used"
    tokens = f"{spent.prompt_tokens} + {spent.completion_tokens}"
    if spent.estimated_tokens:
        tokens += f" ({spent.estimated_tokens} of them estimated)"
    return (
        f"answers: {spent.turns}, model calls: {spent.model_calls} ({spent.model_seconds:.1f} s),"
        f" tool calls: {spent.tool_calls}, tokens: {tokens}"
    )


MESSAGE = "message"
"""The kind of a quoted memory that is something said."""


def explanation_text(record: TurnRecord, texts: Mapping[str, str]) -> str:
    """A line for each thing; equal lines are counted. `texts`: of memories, by id."""
    lines = Counter(_lines(record, texts))
    return "\n".join(line if count == 1 else f"{line} (×{count})" for line, count in lines.items())


def _lines(record: TurnRecord, texts: Mapping[str, str]) -> Iterator[str]:
    yield f"My last answer here, {record.at:%H:%M:%S} UTC, took {record.seconds:.2f} s."
    yield from map(_model_line, record.models)
    yield from _memory_lines(record, texts)
    yield from (f"Document: {one.place} (score {one.score:.2f})" for one in record.passages)
    yield from map(_tool_line, record.tools)
    if record.history_messages:
        yield f"Conversation: read {record.read_messages} of {record.history_messages} messages."
    yield from (f"Changed by: {change}" for change in record.changes)
    yield from (f"With less than usual: {what}" for what in sorted(record.degraded))
    if record.missing:
        yield f"Not reachable: {', '.join(record.missing)}"
    if record.phases:
        phases = (f"{name} {seconds:.2f} s" for name, seconds in sorted(record.phases))
        yield f"Time: {', '.join(phases)}"


def _model_line(call: ModelCallRecord) -> str:
    if call.error:
        return f"Model: {call.model}, no whole answer ({call.error}), {call.seconds:.2f} s"
    if call.model == OFFLINE:
        return f"Model: none, simple rules answered, {call.seconds:.2f} s"
    note = ", estimated" if call.is_estimated else ""
    tokens = f"{call.prompt_tokens} + {call.completion_tokens} tokens{note}"
    return f"Model: {call.model}, {tokens}, {call.seconds:.2f} s"


def _memory_lines(record: TurnRecord, texts: Mapping[str, str]) -> Iterator[str]:
    for one in record.memories:
        if one.kind != MESSAGE:
            about = f"[{one.kind}] {one.origin}, {one.since.isoformat()}"
            text = texts.get(one.id, "(not there any more, or memory is away)")
            yield f"Memory: {one.id[:NUMBER_CHARS]} {about}: {text}"
    said = Counter(one.since for one in record.memories if one.kind == MESSAGE)
    for since, count in said.items():
        messages = "1 message" if count == 1 else f"{count} messages"
        yield f"Memory: {messages} of {since.isoformat()}"


def _tool_line(tool: ToolCallRecord) -> str:
    outcome = "ok" if tool.is_success else f"failed: {tool.why}" if tool.why else "failed"
    return f"Tool: {tool.name}, {tool.seconds:.2f} s, {outcome}"


PEEK_DEADLINE_S = 2.0
MAX_TEXT_CHARS = 120
"""Maximum length of a memory's text, in characters."""

ReactionLine = Callable[["ChatTurnInput"], Awaitable[str]]
"""Callback for the line about the sender's reaction to the answer; empty if there is none."""

NO_ANSWER_YET = "I have answered nothing in this conversation since I was started."


class WhyCommand:
    """Command /why: what the latest answer was made from."""

    def __init__(
        self,
        usage: UsageMiddleware,
        memory: MemoryBehaviour,
        *,
        reaction: ReactionLine | None = None,
    ) -> None:
        self._usage = usage
        self._memory = memory
        self._reaction = reaction

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add("why", self._why, "/why – sources and tools of my last answer")

    async def texts(self, record: TurnRecord) -> Mapping[str, str]:
        """Texts of the memories that still exist, by id; empty if memory is unavailable."""
        ids = [one.id for one in record.memories if one.kind != MESSAGE]
        if not ids or self._memory.memory is None:
            return {}
        try:
            async with asyncio.timeout(PEEK_DEADLINE_S):
                # peek() counts as no access, and does not show what was forgotten since.
                entries = await self._memory.memory.peek(ids)
        except (RequestError, ServiceError, TimeoutError) as error:
            logger.info("memories of an answer cannot be shown: %s", error)
            return {}
        return {entry.id: single_line(entry.content, MAX_TEXT_CHARS) for entry in entries}

    async def _why(self, _argument: str, turn_input: ChatTurnInput) -> str:
        record = self._usage.last(turn_input.conversation)
        if record is None:
            return NO_ANSWER_YET
        text = explanation_text(record, await self.texts(record))
        reaction = await self._reaction(turn_input) if self._reaction else ""
        return "\n".join(filter(None, [text, reaction]))


LISTED_NAMESPACES = 20
LISTED_DOCUMENTS = 20
"""Maximum number of documents listed for each collection."""
MAX_NAME_CHARS = 120
NO_DOCUMENTS = "I have no documents agent."
EMPTY_LISTING = (
    "No documents yet. Share a file with me in your chat app, or add some in the console or with"
    " `spade-llm rag add PATH`."
)
DOCUMENTS_UNAVAILABLE = "The documents cannot be reached right now. Please try again in a moment."


class DeletableListing(DocumentListing, Protocol):
    """The part of a Catalogue (rag/contract.py) that lists and deletes."""

    async def delete(self, *, namespace: str, source: str | None = None) -> int: ...


class DocumentsCommand:
    """Command /documents: lists and deletes a person's documents."""

    def __init__(self, documents: DeletableListing | None, shared: Sequence[str] = ()) -> None:
        """`shared`: what others let the assistant read, as it is configured."""
        self._documents = documents
        self._shared = shared

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add(
            "documents",
            self._list,
            "/documents [collection] – the documents that I answer from, including your own files",
            "/documents delete NAME – delete one of the files that you shared with me",
        )

    async def _list(self, argument: str, turn_input: ChatTurnInput) -> str:
        if self._documents is None:
            return NO_DOCUMENTS
        verb, _, name = argument.partition(" ")
        if verb.lower() == "delete" and name.strip():
            return await self._delete(self._documents, name.strip(), turn_input)
        listing = PersonDocumentListing(
            self._documents, person=turn_input.peer, shared=self._shared
        )
        try:
            names = [one for one in await listing.namespaces() if argument in ("", _name(one))]
            pages = [
                await listing.documents(namespace=one.name, limit=LISTED_DOCUMENTS)
                for one in names[:LISTED_NAMESPACES]
            ]
        except RequestError:
            return DOCUMENTS_UNAVAILABLE
        return self._shown(argument, names, pages)

    async def _delete(
        self, documents: DeletableListing, name: str, turn_input: ChatTurnInput
    ) -> str:
        """Delete a file of the person's own namespace, the only one that can be deleted from."""
        try:
            count = await documents.delete(
                namespace=personal_namespace(turn_input.peer), source=name[:MAX_SOURCE_CHARS]
            )
        except RequestError as error:
            # Who has shared nothing has no namespace.
            if error.wire_code != NotFound.code:
                return DOCUMENTS_UNAVAILABLE
            count = 0
        shown = _short(name)
        return f"Deleted: {shown}." if count else f"You have shared no file {shown!r} with me."

    def _shown(
        self, argument: str, names: Sequence[NamespaceSummary], pages: Sequence[DocumentPage]
    ) -> str:
        lines: list[str] = []
        # Not strict: pages were fetched for the first LISTED_NAMESPACES names only.
        for namespace, page in zip(names, pages, strict=False):
            lines.append(f"{_name(namespace)}, {pluralize(namespace.documents, 'document')}:")
            lines += [
                f"- {_short(one.source)} ({one.updated_at:%Y-%m-%d})" for one in page.documents
            ]
            if page.total > len(page.documents):
                lines.append(f"- … and {page.total - len(page.documents)} more")
        if more := len(names) - len(pages):
            lines.append(f"… and {more} more collections: /documents NAME shows one.")
        if self._shared and not argument:
            lines.append(f"Shared with me by others: {', '.join(map(_short, self._shared))}.")
        if not lines:
            return f"I have no collection {_short(argument)!r}." if argument else EMPTY_LISTING
        return "\n".join(lines)


def _name(namespace: NamespaceSummary) -> str:
    return "your files" if is_personal_namespace(namespace.name) else _short(namespace.name)


def _short(text: str) -> str:
    return single_line(text, MAX_NAME_CHARS)


MAX_TOOLS = 100
MAX_DESCRIPTION_CHARS = 160
"""Maximum length of a tool's description in the list, in characters."""


class ToolsCommand:
    """Command /tools: the tools that a person's turns may use."""

    def __init__(
        self,
        toolbox_for: Callable[[str], Toolbox],
        questions_of: Callable[[str], Sequence[ApprovalQuestion]],
    ) -> None:
        """`toolbox_for` and `questions_of` take a bare JID: the tools of its turns, and its pending
        approval questions."""
        self._toolbox_for = toolbox_for
        self._questions_of = questions_of

    def add_to(self, commands: CommandRegistry) -> None:
        commands.add(
            "tools", self._list, "/tools – tools of my model, and which of them need your approval"
        )

    async def _list(self, _argument: str, turn_input: ChatTurnInput) -> str:
        tools = await self._toolbox_for(turn_input.peer).list()
        lines = []
        for tool in tools[:MAX_TOOLS]:
            about = single_line(tool.description.strip().partition("\n")[0], MAX_DESCRIPTION_CHARS)
            asks = " I ask you before each call." if tool.needs_approval else ""
            lines.append(f"- {tool.name}: {about}{asks}")
        if more := len(tools) - len(lines):
            lines.append(f"… and {more} more.")
        head = "What my model can call:" if lines else "My model has no tools."
        questions = self._questions_of(turn_input.peer)
        waiting = [f"Waiting for your yes or no: {one.tool}." for one in questions]
        return "\n".join([head, *lines, *waiting])


def add_resource_commands(
    behaviour: LLMBehaviour,
    chat: ChatService,
    documents: DeletableListing | None,
    *,
    shared: Sequence[str],
) -> None:
    DocumentsCommand(documents, shared).add_to(behaviour.commands)
    ToolsCommand(behaviour.toolbox_of, chat.questions_of).add_to(behaviour.commands)
