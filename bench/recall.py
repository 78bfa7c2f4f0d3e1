"""How well what was said is found again, beside naive vectors and FTS5 on the same turns.

On LoCoMo's folders and LongMemEval's files that SPADE_LLM_BENCH_LOCOMO and
SPADE_LLM_BENCH_LONGMEMEVAL name (several: as in PATH), and without either on conversations of our
own with planted facts. No model but the embedder. A turn of another owner that is found is a wrong
answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from bench import longmemeval_data
from bench.embedder import local_embedder
from bench.locomo_baselines import by_fts5, by_vectors
from bench.locomo_data import read_folder
from bench.locomo_score import BUDGETS, TOP, Answered, Quality, quality, recall
from bench.planted import planted
from bench.recalling import (
    DEEP,
    AskedAt,
    answers_of,
    have_vectors,
    leaks_of,
    local_memories,
    observe,
    remote_memories,
)
from bench.row import Goal, Row, Scale, check
from bench.talk import ADVERSARIAL
from bench.timing import Samples
from spade_llm.search import memory_search

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.stage import Stage
    from bench.talk import Conversation
    from spade_llm.memory import OwnedMemory
    from spade_llm.providers import MiniLmEmbedder

LOCOMO, LONGMEMEVAL = "SPADE_LLM_BENCH_LOCOMO", "SPADE_LLM_BENCH_LONGMEMEVAL"
QUESTIONS = "SPADE_LLM_BENCH_QUESTIONS"
"""Of each LongMemEval file: a haystack of 115 000 tokens takes seconds to embed."""
DEFAULT_QUESTIONS = 12
VECTORS_WITHIN_S = 3600.0
LEAKS_OF = 12
"""Owners that are asked everybody's questions, at most."""
GOALS = {"LoCoMo": 0.82}
"""recall@10: the best of what was tried before there was a memory, vectors and words together."""


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        async with local_embedder(Path(folder)) as embedder:
            if embedder is None:
                print("recall: left out, the embedder's weights are not installed", file=sys.stderr)
                return []
            try:
                given = _given(scale)
            except longmemeval_data.UnreadableFile as error:
                raise SystemExit(str(error)) from None
            if not given:
                print(
                    "recall: neither LoCoMo nor LongMemEval is given (bench/recall.py): left out; "
                    "conversations of our own instead",
                    file=sys.stderr,
                )
                given = {"planted": planted(scale.of(4, quick=2), sessions=scale.of(12, quick=2))}
            rows = [
                row
                for name, conversations in given.items()
                for row in await _measure(name, conversations, embedder)
            ]
    return [*rows, await _leaks_through_wire(stage)]


def _given(scale: Scale) -> dict[str, list[Conversation]]:
    found = {
        _named("LoCoMo", number): read_folder(path, limit=scale.of(1000, quick=1))
        for number, path in enumerate(_paths(LOCOMO))
    }
    questions = int(os.environ.get(QUESTIONS) or DEFAULT_QUESTIONS)
    found |= {
        _named(f"LongMemEval {path.stem.removeprefix('longmemeval_')}", number): (
            longmemeval_data.read_file(path, limit=scale.of(questions, quick=1))
        )
        for number, path in enumerate(_paths(LONGMEMEVAL))
    }
    empty = [name for name, conversations in found.items() if not conversations]
    if empty:
        raise SystemExit(f"{', '.join(empty)}: no conversations there")
    return found


def _paths(variable: str) -> list[Path]:
    return [Path(one) for one in os.environ.get(variable, "").split(os.pathsep) if one]


def _named(name: str, number: int) -> str:
    return f"{name} ({number + 1})" if number else name


async def _measure(
    name: str, conversations: Sequence[Conversation], embedder: MiniLmEmbedder
) -> list[Row]:
    clock, times = AskedAt(), list[float]()
    async with local_memories(len(conversations), embedder, clock) as owned:
        await _tell(conversations, owned)
        ours = await _ask(conversations, owned, times, clock)
        rows = [
            *_rows(name, conversations, ours, await _peers(conversations, embedder)),
            _time_row(name, times),
            *await _retention(name, conversations, owned, clock, ours),
        ]
        clock.at = None
        leaks = await leaks_of(conversations[:LEAKS_OF], owned[:LEAKS_OF])
    check(leaks == 0, f"recall, {name}: {leaks} turns of others were found")
    return [
        *rows,
        Row(name=f"{name}: turns of others found", unit="", ours=leaks, goal=Goal(limit=0)),
    ]


async def _tell(conversations: Sequence[Conversation], owned: Sequence[OwnedMemory]) -> None:
    async with asyncio.timeout(VECTORS_WITHIN_S):
        for conversation, memory in zip(conversations, owned, strict=True):
            await observe(conversation, memory)
        for memory in owned:
            await have_vectors(memory)


async def _ask(
    conversations: Sequence[Conversation],
    owned: Sequence[OwnedMemory],
    times: list[float],
    clock: AskedAt,
    *,
    depth: int = DEEP,
) -> list[Answered]:
    return [
        answered
        for conversation, memory in zip(conversations, owned, strict=True)
        for answered in await answers_of(memory, conversation, times, clock, depth=depth)
    ]


async def _peers(
    conversations: Sequence[Conversation], embedder: MiniLmEmbedder
) -> dict[str, list[Answered]]:
    return {
        "vectors alone": [
            answered
            for conversation in conversations
            for answered in await by_vectors(conversation, embedder, DEEP)
        ],
        "FTS5 alone": [
            answered for conversation in conversations for answered in by_fts5(conversation, DEEP)
        ],
    }


def _rows(
    name: str,
    conversations: Sequence[Conversation],
    ours: Sequence[Answered],
    peers: dict[str, list[Answered]],
) -> Iterator[Row]:
    texts = {turn.id: turn.text for one in conversations for turn in one.turns}
    sets = {"": ours, **peers}
    answerable = _qualities(sets, texts, is_adversarial=False)
    if answerable:
        yield from _quality_rows(name, answerable)
    adversarial = _qualities(sets, texts, is_adversarial=True)
    if adversarial:
        shares = {at: it.recall for at, it in adversarial.items()}
        yield _beside(f"{name}: adversarial, recall@{TOP}", shares)
    if any(one.question.sessions for one in ours):
        sessions_of = {turn.id: turn.session for one in conversations for turn in one.turns}
        shares = {at: _session_recall(answered, sessions_of) for at, answered in sets.items()}
        yield _beside(f"{name}: sessions among the first {TOP} turns", shares)


def _qualities(
    sets: dict[str, Sequence[Answered]], texts: dict[str, str], *, is_adversarial: bool
) -> dict[str, Quality]:
    """Of ours under the empty name; nothing where no question is of that kind."""
    parts = {
        name: [
            one
            for one in answered
            if one.question.evidence and (one.question.category == ADVERSARIAL) is is_adversarial
        ]
        for name, answered in sets.items()
    }
    return {name: quality(part, texts) for name, part in parts.items() if part}


def _quality_rows(name: str, found: dict[str, Quality]) -> Iterator[Row]:
    limit = GOALS.get(name)
    yield _beside(
        f"{name}: recall@{TOP}",
        {at: it.recall for at, it in found.items()},
        goal=Goal(limit=limit, is_least=True) if limit else None,
        note=f"{found[''].count} questions; ",
    )
    yield _beside(f"{name}: nDCG@{TOP}", {at: it.ndcg for at, it in found.items()})
    for place, tokens in enumerate(BUDGETS):
        shares = {at: it.within[place] for at, it in found.items()}
        yield _beside(f"{name}: evidence within {tokens} tokens", shares)


def _beside(
    name: str, shares: dict[str, float], *, goal: Goal | None = None, note: str = ""
) -> Row:
    """Ours beside the better one of the others; the other one in the note."""
    others = {at: share for at, share in shares.items() if at}
    best = max(others, key=lambda at: others[at])
    rest = ", ".join(f"{at} {share:.3f}" for at, share in others.items() if at != best)
    return Row(
        name=name,
        unit="",
        ours=shares[""],
        baseline=others[best],
        baseline_name=best,
        goal=goal,
        note=note + rest,
    )


def _session_recall(answered: Sequence[Answered], sessions_of: dict[str, str]) -> float:
    """The share of a question's sessions that one of the first ten turns is of."""
    return mean(
        len(one.question.sessions & {sessions_of[id] for id in one.found[:TOP]})
        / len(one.question.sessions)
        for one in answered
        if one.question.sessions
    )


def _time_row(name: str, times: Sequence[float]) -> Row:
    samples = Samples(times_ms=[1000 * one for one in times])
    spread = samples.spread if len(times) > 1 else None
    return Row(
        name=f"{name}: a question, with its vector, no wire",
        unit="ms",
        ours=samples.median,
        spread=spread,
    )


async def _retention(
    name: str,
    conversations: Sequence[Conversation],
    owned: Sequence[OwnedMemory],
    clock: AskedAt,
    ours: Sequence[Answered],
) -> list[Row]:
    """What it costs and gains that a memory fades: it is no setting, so it is switched off here."""
    lasting_s, fading_s = list[float](), list[float]()
    with _floor(1.0):
        lasting = await _ask(conversations, owned, lasting_s, clock, depth=TOP)
    fading = await _ask(conversations, owned, fading_s, clock, depth=TOP)
    check(
        [set(one.found) for one in fading] == [set(one.found[:TOP]) for one in ours],
        "the same question found something else",
    )
    return [
        Row(
            name=f"{name}: recall@{TOP}, retrievability"
            f" (floor {memory_search.MIN_RETRIEVABILITY:g})",
            unit="",
            ours=_recall(fading),
            baseline=_recall(lasting),
            baseline_name="no memory fades",
        ),
        Row(
            name=f"{name}: a question, its vector known, the same",
            unit="ms",
            ours=_median_ms(fading_s),
            baseline=_median_ms(lasting_s),
            baseline_name="no memory fades",
        ),
    ]


def _recall(answered: Sequence[Answered]) -> float:
    """Of the answerable ones."""
    return mean(
        recall(one)
        for one in answered
        if one.question.evidence and one.question.category != ADVERSARIAL
    )


def _median_ms(times: Sequence[float]) -> float:
    return 1000 * median(times)


@contextmanager
def _floor(floor: float) -> Iterator[None]:
    """Below it no memory's retrievability falls. 1: none fades."""
    before, memory_search.MIN_RETRIEVABILITY = memory_search.MIN_RETRIEVABILITY, floor
    try:
        yield
    finally:
        memory_search.MIN_RETRIEVABILITY = before


async def _leaks_through_wire(stage: Stage) -> Row:
    """Of agents that share a memory agent: who asks is whom the server says."""
    conversations = planted(3, sessions=1)
    async with remote_memories(stage, len(conversations)) as owned:
        await _tell(conversations, owned)
        async with asyncio.timeout(VECTORS_WITHIN_S):
            leaks = await leaks_of(conversations, owned)
    check(leaks == 0, f"recall through the wire: {leaks} turns of others were found")
    questions = sum(len(one.questions) for one in conversations)
    return Row(
        name="through the wire: turns of others found",
        unit="",
        ours=leaks,
        goal=Goal(limit=0),
        note=f"{questions} questions asked by each of {len(conversations)} agents",
    )
