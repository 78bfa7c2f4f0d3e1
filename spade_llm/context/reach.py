"""How far back the newest part of a history goes: its topic, what its answers refer to. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.notes import SIDE_TURNS, is_break
from spade_llm.context.terms import terms_of

if TYPE_CHECKING:
    from spade_llm.context.notes import Notes

USUAL = 0.75
"""How many of the latest answers that refer back must find what they refer to."""
LATEST_TURNS = 4
HEAVY_SHARE = 0.5
"""Of the latest turns' messages: more are calls and results, and the turns are tool-heavy."""


def topic_start(notes: Notes, question: str) -> int:
    """The turn in which the present topic began: behind the last where the question opens one, the
    first where no other is found."""
    latest = notes.terms_of_turns(notes.turns - SIDE_TURNS, notes.turns)
    if is_break(latest, terms_of(question)):
        return notes.turns
    for turn in range(notes.turns - 1, notes.turns - SIDE_TURNS - 1, -1):
        if notes.opens_topic(turn):
            return turn
    return notes.last_break


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
