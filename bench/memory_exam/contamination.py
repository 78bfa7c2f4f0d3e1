"""Contamination: does a statement change a fact that has nothing to do with it?

    python -m bench.memory_exam.contamination            # how many statements do, of the dev half
    python -m bench.memory_exam.contamination --list     # … and each with what it changed
    python -m bench.memory_exam.contamination FOLDER …   # of cases of your own

Each statement of a case is read beside facts that were drawn with a fixed seed from the cases of
other people, as if one person had said them all. What it changes in them, or takes from them, is
mostly a fault, and sometimes right (`the rent went up to 910` beside another person's rent).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from bench.memory_exam.cases import Case, Half, Kind, load
from spade_llm.understanding.replacement import replaces
from spade_llm.understanding.statements import read_history, read_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.understanding.features import Statement

FACTS = 12
"""Facts of others beside each statement: as many as a message is compared with in an assistant."""
ROUNDS = 5
"""Times that each statement is read, each time beside other facts."""
STATED = frozenset({Kind.SAID, Kind.TOLD, Kind.CHANGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Contamination:
    """A message that was read otherwise because of the facts of others."""

    message: str
    statement: Statement
    ended: tuple[str, ...]
    """Facts of others that the statement would end; empty if it only took words from them."""


def facts_of(cases: Sequence[Case]) -> dict[str, list[tuple[str, str]]]:
    """By language: the facts that are told in the cases, each with the id of its case."""
    found: dict[str, list[tuple[str, str]]] = {}
    for case in cases:
        told = [line.text for line in case.lines if line.kind is Kind.TOLD]
        facts = read_history(told).current
        found.setdefault(case.language, []).extend((case.id, fact) for fact in facts)
    return found


def contaminations(
    cases: Sequence[Case], *, rounds: int = ROUNDS, seed: int = 5
) -> Iterator[Contamination]:
    """The messages of the cases that facts of other cases change, or that change such facts."""
    facts, random = facts_of(cases), Random(seed)
    for _ in range(rounds):
        for case in cases:
            others = [fact for of, fact in facts.get(case.language, ()) if of != case.id]
            for line in case.lines:
                if line.kind in STATED:
                    beside = random.sample(others, min(FACTS, len(others)))
                    yield from _contaminations_of(line.text, beside)


def _contaminations_of(message: str, others: Sequence[str]) -> Iterator[Contamination]:
    alone = {one.text for one in read_message(message).statements}
    for statement in read_message(message, (), others).statements:
        ended = tuple(fact for fact in others if replaces(statement, fact))
        if ended or statement.text not in alone:
            yield Contamination(message=message, statement=statement, ended=ended)


def main() -> None:
    parser = argparse.ArgumentParser(description="Statements that change facts of other people.")
    parser.add_argument("folders", nargs="*", type=Path, help="cases of your own")
    parser.add_argument("--list", action="store_true", help="print each of them")
    arguments = parser.parse_args()
    cases = [case for source in arguments.folders or [Half.DEV] for case in load(source)]
    stated = ROUNDS * sum(line.kind in STATED for case in cases for line in case.lines)
    found = list(contaminations(cases))
    ending = sum(bool(one.ended) for one in found)
    print(f"{stated} messages: {ending} ended a fact of another person,")
    print(f"{len(found) - ending} more took words from one")
    shown = (f"{one.message} => {one.statement.text} | {'; '.join(one.ended)}" for one in found)
    for line in dict.fromkeys(shown) if arguments.list else ():
        print(line)


if __name__ == "__main__":
    main()
