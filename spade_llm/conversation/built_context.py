"""What a turn tells its model beside the question, within a budget of tokens (specs/4 §3.2). Pure.

Tools first, up to half; what they leave is shared between memory (the conversation and what is
remembered) and documents, and what one leaves the other gets. The oldest of what was said and
remembered is left out first, and the passages that say least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.conversation.chosen import is_message
from spade_llm.conversation.context_pile import Pile
from spade_llm.conversation.prompt import citation, speaker_of
from spade_llm.conversation.recall import Recalled
from spade_llm.memory.one_line import one_line
from spade_llm.memory.session_context import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from spade_llm.conversation.wishes import ContextWishes
    from spade_llm.memory.session_context import Language
    from spade_llm.memory.store import ScoredMemory
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import ToolSpec
    from spade_llm.rag.retriever import ScoredChunk

    Count = Callable[[str], int]
    _AnyPile = Pile[ContextMessage] | Pile[ScoredMemory] | Pile[ScoredChunk] | Pile[ToolSpec]

HISTORY, DOCUMENTS, TOOLS = "history", "documents", "tools"
HEADINGS: Mapping[str, Mapping[Language, str]] = {
    **{type.value if type else HISTORY: texts for type, _, texts in SECTIONS},
    DOCUMENTS: {"en": "## Relevant Documents (RAG)", "es": "## Documentos Relevantes (RAG)"},
    TOOLS: {"en": "## Tools", "es": "## Herramientas"},
}
"""In the order in which they are written."""
TOOLS_SHARE = 0.5
MEMORY_SHARE = {"memory": 0.7, "rag": 0.3, "balanced": 0.5}
HISTORY_SHARE = 0.5
"""Of memory's part; the rest is for what is remembered."""
MAX_DESCRIPTION_CHARS = 300
"""Of a tool, in its line; the model gets it whole, as a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Available:
    """What a turn could tell its model."""

    history: Sequence[ContextMessage] = ()
    """Of the conversation, without the question."""
    recalled: Recalled = Recalled()
    tools: Sequence[ToolSpec] = ()
    named: Collection[str] = ()
    """Names of tools that were asked for: they come before the others."""
    chosen: str = ""
    """Name of the tool that must be called: it is offered in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What it tells."""

    text: str = ""
    """All of it in sections; what stands in none is not sent either."""
    tokens: int = 0
    """Of the text."""
    history: tuple[ContextMessage, ...] = ()
    recalled: Recalled = Recalled()
    tools: tuple[ToolSpec, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All that a reply shows of it: the sections, and each passage."""
        return (self.text, *(found.chunk.text for found in self.recalled.passages))

    def shown_as(self, texts: Sequence[str]) -> Built:
        """With other texts in the place of `texts`; what was sent is what it was."""
        text, *rest = texts
        passages = (
            replace(found, chunk=replace(found.chunk, text=shown))
            for found, shown in zip(self.recalled.passages, rest, strict=True)
        )
        return replace(self, text=text, recalled=replace(self.recalled, passages=tuple(passages)))


def build_context(wishes: ContextWishes, there: Available, *, count: Count) -> Built:
    """`count` tells how many tokens a text has. Never more than `wishes.max_tokens`."""
    piles = _Piles(wishes, there, count)
    piles.fill(wishes.max_tokens)
    return piles.built(wishes.max_tokens)


class _Piles:
    """One for each kind of thing; what must go first is at its end."""

    def __init__(self, wishes: ContextWishes, there: Available, count: Count) -> None:
        headings = {name: texts[wishes.language] for name, texts in HEADINGS.items()}
        self._there = there
        self._count = count
        self._headings = headings
        self._memory_share = MEMORY_SHARE[wishes.priority]
        self._tools = Pile(
            sorted(there.tools, key=lambda spec: _precedence(spec, there)),
            write=_tool_line,
            shorten=_with_less_description,
            headings=headings,
            section_of=lambda _spec: TOOLS,
            count=count,
            passes_over=True,
        )
        self._history = Pile(
            list(filter(_is_talk, reversed(there.history))),
            write=_message_line,
            shorten=_shorter_message,
            headings=headings,
            section_of=lambda _message: HISTORY,
            count=count,
        )
        self._memories = Pile(
            sorted(there.recalled.memories, key=_precedence_of_memory),
            write=_memory_line,
            shorten=_shorter_memory,
            headings=headings,
            section_of=lambda found: found.entry.type.value,
            count=count,
            passes_over=True,
        )
        self._documents = Pile(
            sorted(there.recalled.passages, key=lambda found: -found.score),
            write=_passage_line,
            shorten=_shorter_passage,
            headings=headings,
            section_of=lambda _found: DOCUMENTS,
            count=count,
        )

    def fill(self, room: int) -> None:
        room -= self._tools.take(int(room * TOOLS_SHARE), is_part_taken=True)
        memory = int(room * self._memory_share)
        history = int(memory * HISTORY_SHARE)
        shares: tuple[tuple[_AnyPile, int], ...] = (
            (self._history, history),
            (self._memories, memory - history),
            (self._documents, room - memory),
        )
        room -= self._take_memory(memory, history) + self._documents.take(room - memory)
        # A first entry that outgrows its share gets what the others leave, or is shortened.
        for pile, share in shares:
            if not pile.kept:
                room -= pile.take(room) or pile.take(min(share, room), is_part_taken=True)
        for pile, _ in reversed(shares):
            room -= pile.take(room)

    def _take_memory(self, room: int, history: int) -> int:
        """Within memory, too, one gets what the other leaves."""
        left = room - self._history.take(history)
        left -= self._memories.take(left)
        left -= self._history.take(left)
        return room - left

    def built(self, max_tokens: int) -> Built:
        """Texts may have some tokens more together than each alone: then the last one goes."""
        self._drop_repeated()
        self._drop_answer_without_question()
        while (tokens := self._count(text := self._text())) > max_tokens:
            next(pile for pile in self._in_order_of_loss() if pile.kept).drop_last()
        recalled = replace(
            self._there.recalled,
            memories=tuple(sorted(self._memories.kept, key=lambda found: -found.score)),
            passages=tuple(self._documents.kept),
        )
        return Built(
            text=text,
            tokens=tokens,
            history=tuple(reversed(self._history.kept)),
            recalled=recalled,
            tools=self._offered(),
        )

    def _in_order_of_loss(self) -> tuple[_AnyPile, ...]:
        return (self._memories, self._documents, self._history, self._tools)

    def _offered(self) -> tuple[ToolSpec, ...]:
        """Whole, and in the order in which they were; one whose line was shortened, too."""
        kept = {spec.name for spec in self._tools.kept}
        kept.add(self._there.chosen)
        return tuple(spec for spec in self._there.tools if spec.name in kept)

    def _drop_repeated(self) -> None:
        """What was said and is in the kept history anyway."""
        said = {str(message["content"]) for message in self._history.kept}
        self._memories.keep_only(
            lambda found: not (is_message(found) and found.entry.content in said)
        )

    def _drop_answer_without_question(self) -> None:
        """Some servers take no history that begins with the assistant."""
        while self._history.kept and self._history.kept[-1]["role"] == "assistant":
            self._history.drop_last()

    def _text(self) -> str:
        lines: dict[str, list[str]] = {name: [] for name in HEADINGS}
        for message in reversed(self._history.kept):
            lines[HISTORY].append(self._history.line(message))
        for found in sorted(self._memories.kept, key=lambda one: -one.score):
            lines[found.entry.type.value].append(self._memories.line(found))
        lines[DOCUMENTS] += map(self._documents.line, self._documents.kept)
        lines[TOOLS] += map(self._tools.line, self._tools.kept)
        shown = {name: entries for name, entries in lines.items() if entries}
        return "\n\n".join(
            "\n".join([self._headings[name], "", *entries]) for name, entries in shown.items()
        )


def _precedence(spec: ToolSpec, there: Available) -> int:
    return 0 if spec.name == there.chosen else 1 if spec.name in there.named else 2


def _line(text: str) -> str:
    """Whole, whatever stands in it: it can pass neither for a heading nor for another entry."""
    return f"- {one_line(text, len(text) + 1)}"


def _is_talk(message: ContextMessage) -> bool:
    """Not calls and their results, which memory does not keep either."""
    is_said = message["role"] == "user" or (
        message["role"] == "assistant" and not message.get("tool_calls")
    )
    return is_said and bool(message["content"])


def _message_line(message: ContextMessage) -> str:
    return _line(f"{message['role']}: {message['content']}")


def _shorter_message(message: ContextMessage, chars: int) -> ContextMessage:
    if message["role"] == "user":
        return {**message, "content": _cut(message["content"], chars)}
    if message["role"] == "assistant":
        return {**message, "content": _cut(message["content"] or "", chars)}
    return message


def _precedence_of_memory(found: ScoredMemory) -> tuple[bool, float]:
    """The newest first; all that was learned before what was only said, which is always newer."""
    return is_message(found), -(found.entry.valid_at or found.entry.created_at).timestamp()


def _memory_line(found: ScoredMemory) -> str:
    entry = found.entry
    said = f"{speaker_of(entry)}: {entry.content}" if is_message(found) else entry.content
    date = (entry.valid_at or entry.created_at).date().isoformat()
    return _line(f"{said} ({date})")


def _shorter_memory(found: ScoredMemory, chars: int) -> ScoredMemory:
    entry = replace(found.entry, content=_cut(found.entry.content, chars))
    return replace(found, entry=entry)


def _passage_line(found: ScoredChunk) -> str:
    return _line(f"[{citation(found)}] {found.chunk.text}")


def _shorter_passage(found: ScoredChunk, chars: int) -> ScoredChunk:
    chunk = replace(found.chunk, text=_cut(found.chunk.text, chars))
    return replace(found, chunk=chunk)


def _tool_line(spec: ToolSpec) -> str:
    return _line(f"{spec.name}: {one_line(spec.description or '-', MAX_DESCRIPTION_CHARS)}")


def _with_less_description(spec: ToolSpec, chars: int) -> ToolSpec:
    return replace(spec, description=_cut(spec.description, chars))


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars].rstrip()} …"
