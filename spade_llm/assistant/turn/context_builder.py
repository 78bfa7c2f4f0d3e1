"""Context builder: fits history, memories, documents and tools into a token budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

from spade_llm.assistant.turn.prompt import is_message, quoted_memory, speaker_of
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.context.token_counter import truncate_middle
from spade_llm.core.text import single_line
from spade_llm.memory.sessions import SECTIONS, Language
from spade_llm.providers.quoted_context import validity_in_words
from spade_llm.rag.cited_answers import citation_label

if TYPE_CHECKING:
    from spade_llm.assistant.turn.turn_options import ContextOptions
    from spade_llm.memory.contract import ScoredMemory
    from spade_llm.providers.model import ContextMessage, ToolSpec
    from spade_llm.rag.contract import ScoredChunk

T = TypeVar("T")

SHORTEST_CHARS = 20
"""Minimum length of a truncated text, in characters; anything shorter is meaningless."""
SHORTEST_BESIDE_OTHERS = 200
"""The same, if there are whole entries already."""


class BudgetedList(Generic[T]):
    """List of entries that fit into a token budget, with the least important ones at the end."""

    def __init__(
        self,
        entries: Sequence[T],
        *,
        write: Callable[[T], str],
        shorten: Callable[[T, int], T],
        headings: Mapping[str, str],
        section_of: Callable[[T], str],
        count: Callable[[str], int],
        passes_over: bool = False,
    ) -> None:
        """`write` formats an entry as a line. `shorten` truncates an entry to a number of
        characters. `passes_over`: entries behind one that does not fit may still be kept."""
        self.kept: list[T] = []
        self._lines: dict[int, tuple[T, str]] = {}
        self._waiting = list(reversed(entries))
        self._write = write
        self._shorten = shorten
        self._headings = headings
        self._section_of = section_of
        self._count = count
        self._passes_over = passes_over
        self._sections: set[str] = set()

    def take(self, room: int, *, is_part_taken: bool = False) -> int:
        """Keep entries while there is room; return their cost.

        `is_part_taken`: if the very first does not fit, its beginning is kept.
        """
        left = room
        passed: list[T] = []
        if is_part_taken and not self.kept:
            left -= self.take_part(left)
        while self._waiting:
            if (cost := self._cost(self._waiting[-1])) <= left:
                left -= self._keep(self._waiting.pop(), cost)
            elif self._passes_over:
                passed.append(self._waiting.pop())
            else:
                break
        self._waiting += reversed(passed)
        return room - left

    def take_part(self, room: int) -> int:
        """Keep as much of the next entry as fits, if it does not fit whole; returns its cost."""
        if not self._waiting or self._cost(entry := self._waiting[-1]) <= room:
            return 0
        shortest = SHORTEST_BESIDE_OTHERS if self.kept else SHORTEST_CHARS
        chars = len(self.line(entry))
        while chars >= shortest:
            shorter = self._shorten(entry, chars)
            if (cost := self._cost(shorter)) <= room:
                self._waiting.pop()
                return self._keep(shorter, cost)
            # In proportion to the cost, and at least one character less, so that it ends.
            chars = min(chars - 1, chars * room // cost)
        return 0

    @property
    def is_starved(self) -> bool:
        """True if there are entries, but none has been kept."""
        return bool(self._waiting) and not self.kept

    def line(self, entry: T) -> str:
        """Line of an entry, cached by identity, since entries need not be hashable."""
        known = self._lines.get(id(entry))
        if known is None:
            # The entry is kept with its line, so that no other object gets its id().
            known = self._lines[id(entry)] = (entry, self._write(entry))
        return known[1]

    def drop_last(self) -> None:
        self.kept.pop()

    def keep_only(self, is_wanted: Callable[[T], bool]) -> None:
        self.kept = list(filter(is_wanted, self.kept))

    def _keep(self, entry: T, cost: int) -> int:
        self.kept.append(entry)
        self._sections.add(self._section_of(entry))
        return cost

    def _cost(self, entry: T) -> int:
        """Token cost of an entry with its line end, and with its section's heading if that is not
        written yet."""
        section = self._section_of(entry)
        heading = "" if section in self._sections else f"\n\n{self._headings[section]}\n\n"
        return self._count(f"{self.line(entry)}\n") + (self._count(heading) if heading else 0)


if TYPE_CHECKING:
    Count = Callable[[str], int]
    _Exchange = tuple[ContextMessage, ...]
    _AnyBudgetedList = (
        BudgetedList[_Exchange]
        | BudgetedList[ScoredMemory]
        | BudgetedList[ScoredChunk]
        | BudgetedList[ToolSpec]
    )

HISTORY, DOCUMENTS, TOOLS = "history", "documents", "tools"
HEADINGS: Mapping[str, Mapping[Language, str]] = {
    **{type.value if type else HISTORY: texts for type, _, texts in SECTIONS},
    DOCUMENTS: {"en": "## Relevant Documents (RAG)", "es": "## Documentos Relevantes (RAG)"},
    TOOLS: {"en": "## Tools", "es": "## Herramientas"},
}
"""Section headings, in the order of the sections in the text."""
TOOLS_SHARE = 0.5
MEMORY_SHARE = {"memory": 0.7, "rag": 0.3, "balanced": 0.5}
HISTORY_SHARE = 0.5
"""Share of the memory budget for the conversation's history; the rest is for memories."""
MIN_ROUNDED_EXCHANGES = 8
"""From so many kept exchanges on, the beginning of the history moves in steps."""
MAX_OTHER_MESSAGES = 12
"""Messages of other conversations, the most relevant ones: nine of ten that answer a question are
among them (LoCoMo), and more of them are rather beside the point."""
MAX_DESCRIPTION_CHARS = 300
"""Maximum length of a tool's description in its line, in characters; the tool is sent whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSources:
    """Sources that a turn's context can be built from."""

    history: Sequence[ContextMessage] = ()
    """History of the conversation, without the question."""
    recalled: RecallResult = RecallResult()
    tools: Sequence[ToolSpec] = ()
    named: Collection[str] = ()
    """Names of tools that were asked for: they come before the others."""
    chosen: str = ""
    """Name of the tool that must be called: it is offered in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledContext:
    """Context built within the token budget."""

    text: str = ""
    """All of it in sections; what stands in none is not sent either."""
    tokens: int = 0
    """Token count of the text."""
    history: tuple[ContextMessage, ...] = ()
    recalled: RecallResult = RecallResult()
    tools: tuple[ToolSpec, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Texts that a reply shows: the sections, and each passage."""
        return (self.text, *(found.chunk.text for found in self.recalled.passages))

    def shown_as(self, texts: Sequence[str]) -> AssembledContext:
        """Copy that shows other texts in place of `texts`; the data on what was sent stays."""
        text, *rest = texts
        passages = (
            replace(found, chunk=replace(found.chunk, text=shown))
            for found, shown in zip(self.recalled.passages, rest, strict=True)
        )
        return replace(self, text=text, recalled=replace(self.recalled, passages=tuple(passages)))


def assemble_context(
    options: ContextOptions, sources: ContextSources, *, count: Count
) -> AssembledContext:
    """`count` tells how many tokens a text has. Never more than `options.max_tokens`."""
    allocator = _BudgetAllocator(options, sources, count)
    allocator.fill(options.max_tokens)
    return allocator.built(options.max_tokens)


class _BudgetAllocator:
    """Token budget allocation between tools, history, memories and documents; in each list, the
    least important entries are at the end."""

    def __init__(self, options: ContextOptions, sources: ContextSources, count: Count) -> None:
        headings = {name: texts[options.language] for name, texts in HEADINGS.items()}
        self._sources = sources
        self._count = count
        self._headings = headings
        self._memory_share = MEMORY_SHARE[options.priority]
        self._tools = BudgetedList(
            sorted(
                sources.tools,
                key=lambda spec: (spec.name != sources.chosen, spec.name not in sources.named),
            ),
            write=_tool_line,
            shorten=lambda spec, chars: replace(
                spec, description=_truncated(spec.description, chars)
            ),
            headings=headings,
            section_of=lambda _spec: TOOLS,
            count=count,
            passes_over=True,
        )
        self._exchanges = _exchanges(sources.history)
        self._history = BudgetedList(
            self._exchanges,
            write=lambda exchange: "\n".join(
                _line(f"{message['role']}: {message['content']}") for message in exchange
            ),
            shorten=_shorter_exchange,
            headings=headings,
            section_of=lambda _exchange: HISTORY,
            count=count,
        )
        self._memories = BudgetedList(
            # The newest first; all that was learned before what was only said, which is newer.
            sorted(
                _without_excess(sources),
                key=lambda found: (
                    is_message(found),
                    -(found.entry.valid_at or found.entry.created_at).timestamp(),
                ),
            ),
            write=_memory_line,
            shorten=lambda found, chars: replace(
                found, entry=replace(found.entry, content=_truncated(found.entry.content, chars))
            ),
            headings=headings,
            section_of=lambda found: found.entry.type.value,
            count=count,
            passes_over=True,
        )
        self._documents = BudgetedList(
            sorted(sources.recalled.passages, key=lambda found: -found.score),
            write=lambda found: _line(f"[{citation_label(found.chunk)}] {found.chunk.text}"),
            shorten=lambda found, chars: replace(
                found, chunk=replace(found.chunk, text=_truncated(found.chunk.text, chars))
            ),
            headings=headings,
            section_of=lambda _found: DOCUMENTS,
            count=count,
        )

    def fill(self, room: int) -> None:
        # Tools first: one without its line in the text is not offered.
        room -= self._tools.take(int(room * TOOLS_SHARE), is_part_taken=True)
        memory = int(room * self._memory_share)
        memories = memory - int(memory * HISTORY_SHARE)
        shares = ((self._memories, memories), (self._documents, room - memory))
        for entries, share in shares:
            room -= entries.take(share)
        # A part whose first entry outgrows its share keeps the share, for that entry shortened.
        kept_back = sum(share for entries, share in shares if entries.is_starved)
        history = self._history.take(room - kept_back)
        history += self._history.take_part(room - kept_back - history)
        room -= history
        for entries, share in shares:
            if entries.is_starved:
                room -= entries.take(room) or entries.take(min(share, room), is_part_taken=True)
        room -= self._memories.take(min(room, max(memory - memories - history, 0)))
        room -= self._documents.take(room)
        self._memories.take(room)

    def built(self, max_tokens: int) -> AssembledContext:
        """Assemble the kept entries within `max_tokens`."""
        self._round_history()
        self._drop_repeated()
        in_order_of_loss: tuple[_AnyBudgetedList, ...] = (
            *(self._memories, self._documents),
            *(self._history, self._tools),
        )
        # Texts may have some tokens more together than each alone: then the last one goes.
        while (tokens := self._count(text := self._text())) > max_tokens:
            next(one for one in in_order_of_loss if one.kept).drop_last()
        # Complete and in their original order, even if a tool's line was shortened.
        offered = {self._sources.chosen, *(spec.name for spec in self._tools.kept)}
        recalled = replace(
            self._sources.recalled,
            memories=tuple(sorted(self._memories.kept, key=lambda found: -found.score)),
            passages=tuple(self._documents.kept),
        )
        return AssembledContext(
            text=text,
            tokens=tokens,
            history=tuple(chain.from_iterable(reversed(self._history.kept))),
            recalled=recalled,
            tools=tuple(spec for spec in self._sources.tools if spec.name in offered),
        )

    def _round_history(self) -> None:
        """Drop the oldest kept exchanges up to a multiple of a step of at most a quarter of them:
        the history begins with the same message for several turns, and a model's server reuses
        what it has computed for the beginning of the prompt."""
        kept = self._history.kept
        if not MIN_ROUNDED_EXCHANGES <= len(kept) < len(self._exchanges):
            return
        if kept[-1] is not self._exchanges[len(kept) - 1]:
            self._history.drop_last()  # It was shortened, each time in another way.
        step = 1 << (len(kept) // 4).bit_length() - 1
        for _ in range(-(len(self._exchanges) - len(kept)) % step):
            self._history.drop_last()

    def _drop_repeated(self) -> None:
        """Drop what is in the kept history anyway; both may have been shortened."""
        kept = self._exchanges[: len(self._history.kept)]
        said = {str(message["content"]) for message in chain.from_iterable(kept)}
        repeated = {
            found.entry.id
            for found in self._sources.recalled.memories
            if is_message(found) and found.entry.content in said
        }
        self._memories.keep_only(lambda found: found.entry.id not in repeated)

    def _text(self) -> str:
        lines: dict[str, list[str]] = {name: [] for name in HEADINGS}
        lines[HISTORY] += map(self._history.line, reversed(self._history.kept))
        for found in sorted(self._memories.kept, key=lambda one: -one.score):
            lines[found.entry.type.value].append(self._memories.line(found))
        lines[DOCUMENTS] += map(self._documents.line, self._documents.kept)
        lines[TOOLS] += map(self._tools.line, self._tools.kept)
        shown = {name: entries for name, entries in lines.items() if entries}
        return "\n\n".join(
            "\n".join([self._headings[name], "", *entries]) for name, entries in shown.items()
        )


def _line(text: str) -> str:
    """Format a text as one list line: it can pass neither for a heading nor for another entry."""
    return f"- {single_line(text, len(text) + 1)}"


def _exchanges(history: Sequence[ContextMessage]) -> list[_Exchange]:
    """Each question with what was answered to it, the newest first.

    What precedes the first question is left out: some servers take no history that begins with
    the assistant.
    """
    found: list[_Exchange] = []
    for message in history:
        if not message["content"]:
            continue
        if message["role"] == "user":
            found.append((message,))
        # Without tool calls and their results: memory does not store them either.
        elif found and message["role"] == "assistant" and not message.get("tool_calls"):
            found[-1] = (*found[-1], message)
    return found[::-1]


def _shorter_exchange(exchange: _Exchange, chars: int) -> _Exchange:
    """Exchange with at most `chars` characters of text; long messages are truncated to equal
    length, short ones stay whole."""
    sizes = sorted(len(message["content"] or "") for message in exchange)
    longest = sizes[-1]
    for index, size in enumerate(sizes):
        if size > (share := chars // (len(sizes) - index)):
            longest = share
            break
        chars -= size
    return tuple(_shorter_message(message, longest) for message in exchange)


def _shorter_message(message: ContextMessage, chars: int) -> ContextMessage:
    """Message truncated in the middle, since a request can stand at its beginning or its end."""
    text = message["content"] or ""
    if len(text) <= chars:
        return message
    shorter = message.copy()
    shorter["content"] = truncate_middle(text, chars)
    return shorter


def _without_excess(sources: ContextSources) -> list[ScoredMemory]:
    """Memories with MAX_OTHER_MESSAGES messages beside those of this conversation."""
    said = {message["content"] for message in sources.history}
    others = [
        found
        for found in sources.recalled.memories
        if is_message(found) and found.entry.content not in said
    ]
    others.sort(key=lambda found: -found.score)
    excess = {found.entry.id for found in others[MAX_OTHER_MESSAGES:]}
    return [found for found in sources.recalled.memories if found.entry.id not in excess]


def _memory_line(found: ScoredMemory) -> str:
    entry = found.entry
    said = f"{speaker_of(entry)}: {entry.content}" if is_message(found) else entry.content
    return _line(f"{said} ({validity_in_words(quoted_memory(found))})")


def _tool_line(spec: ToolSpec) -> str:
    return _line(f"{spec.name}: {single_line(spec.description or '-', MAX_DESCRIPTION_CHARS)}")


def _truncated(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars].rstrip()} …"
