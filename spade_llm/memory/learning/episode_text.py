"""What an episode says of its messages: readable, dated, with who said it. Pure; cuts nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spade_llm.memory.one_line import one_line
from spade_llm.memory.store import MemoryDraft, MemoryType, Origin
from spade_llm.memory.summary import extractive_summary
from spade_llm.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spade_llm.memory.store import ObservedMessage, Stretch

MAX_SUMMARY_CHARS = 1000
"""About what an embedder reads of a text."""
MAX_NAME_CHARS = 60

_MARK = re.compile(r":|[.!?…؟۔।॥։።]+(?=\s|$)|[。！？｡．]")

Said = tuple["ObservedMessage", str]
"""A message, and what is new of its text."""


def episode_draft(
    stretch: Stretch, messages: Sequence[ObservedMessage], *, content: str
) -> MemoryDraft:
    return MemoryDraft(
        content=content,
        type=MemoryType.EPISODIC,
        origin=Origin.EPISODE,
        subject=stretch.subject,
        session=stretch.conversation,
        valid_at=min(message.at for message in messages),
        metadata={"messages": len(messages)},
    )


def episode_content(said: Sequence[Said]) -> str:
    """`2026-03-01, 14:05–14:32: …`, then who said what; the sentences that say most, if long."""
    header = _dates([message for message, _ in said])
    lines = list(_lines(said))
    text = "\n".join(lines)
    if len(text) > MAX_SUMMARY_CHARS:
        text = extractive_summary(lines, MAX_SUMMARY_CHARS)
    return f"{header}: {_by_speaker(text.splitlines(), _names(said)) or _who(said)}"


def name_of(message: ObservedMessage) -> str:
    """What others call the speaker; else the role. It ends no sentence, and holds no colon."""
    return one_line(_MARK.sub(" ", message.speaker or ""), MAX_NAME_CHARS) or message.role


def _dates(messages: Sequence[ObservedMessage]) -> str:
    """UTC, as all times."""
    first = min(message.at for message in messages)
    last = max(message.at for message in messages)
    begin = f"{first:%Y-%m-%d, %H:%M}"
    if first.date() != last.date():
        return f"{begin} – {last:%Y-%m-%d, %H:%M}"
    return begin if f"{first:%H:%M}" == f"{last:%H:%M}" else f"{begin}–{last:%H:%M}"


def _lines(said: Iterable[Said]) -> Iterable[str]:
    """One sentence each, with its speaker: whichever are chosen, it is clear whose they are."""
    for message, text in said:
        for sentence in sentences(text):
            yield f"{name_of(message)}: {' '.join(sentence.split())}"


def _names(said: Sequence[Said]) -> frozenset[str]:
    return frozenset(name_of(message) for message, _ in said)


def _by_speaker(lines: Iterable[str], names: frozenset[str]) -> str:
    """Each speaker's sentences in a row on one line, behind the name once."""
    turns: list[tuple[str, list[str]]] = []
    for line in lines:
        name, _, text = line.partition(": ")
        if name not in names:
            name, text = turns[-1][0] if turns else "", line
        if turns and turns[-1][0] == name:
            turns[-1][1].append(text)
        else:
            turns.append((name, [text]))
    return "\n".join(f"{name}: {' '.join(texts)}" for name, texts in turns)


def _who(said: Sequence[Said]) -> str:
    """All they said was known before."""
    names = dict.fromkeys(name_of(message) for message, _ in said)
    return f"{', '.join(names)}: …"
