"""How far back the newest part of a history goes: its topic, what its answers refer to. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.terms import terms_of

if TYPE_CHECKING:
    from spade_llm.context.notes import Notes

SIDE_TURNS = 2
"""What is compared before and behind a turn's beginning."""
NOT_SHARED = 0.04
"""Less of the smaller side's words in common: the topic has changed."""
MOST_TURNS = 40
"""So far back a topic's beginning is looked for."""
USUAL = 0.75
"""How many of the latest answers that refer back must find what they refer to."""
LATEST_TURNS = 4
HEAVY_SHARE = 0.5
"""Of the latest turns' messages: more are calls and results, and the turns are tool-heavy."""


def topic_start(notes: Notes, question: str) -> int:
    """The turn in which the present topic began: behind the last where the question opens one, the
    first where no other is found."""
    behind = terms_of(question)
    for turn in range(notes.turns, max(notes.turns - MOST_TURNS, 0), -1):
        before = _terms(notes, turn - SIDE_TURNS, turn)
        if behind and before and _shared(before, behind) < NOT_SHARED:
            return turn
        behind = _terms(notes, turn - 1, turn - 1 + SIDE_TURNS)
    return 0


def usual_reach(notes: Notes) -> int:
    """How many turns back the latest answers referred, the farthest quarter left out."""
    distances = sorted(notes.distances)
    return distances[int((len(distances) - 1) * USUAL)] if distances else 0


def is_tool_heavy(notes: Notes) -> bool:
    first = notes.turn_starts[-LATEST_TURNS:][:1]
    latest = notes.blocks[first[0] :] if first else []
    total = sum(len(block.place) for block in latest)
    tools = sum(len(block.place) for block in latest if len(block.place) > 1)
    return total > 0 and tools > HEAVY_SHARE * total


def start_of_turn(notes: Notes, turn: int) -> int:
    """Its first message, among the noted ones; behind the last for a turn that is yet to come."""
    if turn >= notes.turns:
        return len(notes.messages)
    return notes.blocks[notes.turn_starts[max(turn, 0)]].place.start


def _terms(notes: Notes, start: int, stop: int) -> frozenset[int]:
    start, stop = max(start, 0), min(stop, notes.turns)
    if start >= stop:
        return frozenset()
    first = notes.turn_starts[start]
    last = notes.turn_starts[stop] if stop < notes.turns else len(notes.blocks)
    return frozenset[int]().union(*(block.terms for block in notes.blocks[first:last]))


def _shared(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / min(len(one), len(other))
