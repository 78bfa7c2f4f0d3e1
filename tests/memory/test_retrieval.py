"""retrieve_memory's Markdown, to the letter."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import InvalidArguments, NotFound
from spade_llm.memory.contract import (
    MemoryEntry,
    ObservedMessage,
    ScoredMemory,
    SearchOutcome,
    SearchResult,
)
from spade_llm.memory.retrieval import relative_time, retrieve_memory
from spade_llm.memory.tools.category_tools import RetrieveMemoryTool
from spade_llm.search.memory_query import MemoryQuery, MemoryType, Origin, SearchMode

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@dataclass
class Recalled:
    """What a search would give, in its order."""

    hits: list[ScoredMemory]
    messages: dict[str, list[ObservedMessage]] = field(default_factory=dict)
    queries: list[MemoryQuery] = field(default_factory=list)

    async def search(self, query: MemoryQuery) -> SearchResult:
        self.queries.append(query)
        return SearchResult(outcome=SearchOutcome.OK, hits=tuple(self.hits[: query.limit]))

    async def episode_messages(self, id: str) -> Sequence[ObservedMessage]:
        if id not in self.messages:
            raise NotFound(f"there is no memory {id!r}")
        return self.messages[id]


def hit(
    number: int, content: str, *, score: float = 0.5, surprise: float | None = None, days: float = 2
) -> ScoredMemory:
    at = NOW - timedelta(days=days)
    entry = MemoryEntry(
        id=str(number),
        owner="a@localhost",
        content=content,
        type=MemoryType.EPISODIC,
        surprise=surprise,
        created_at=NOW,
        updated_at=NOW,
        valid_at=at,
    )
    return ScoredMemory(entry=entry, score=score)


def said(role: str, content: str, *, speaker: str | None = None) -> ObservedMessage:
    return ObservedMessage(id=content, role=role, content=content, at=NOW, speaker=speaker)


def memory(*surprises: float | None) -> Recalled:
    hits = [hit(n, f"content {n}", surprise=one) for n, one in enumerate(surprises, start=1)]
    return Recalled(hits, {one.entry.id: [said("user", "verbatim")] for one in hits})


def detailed(text: str) -> list[int]:
    """Which memories have details."""
    parts = text.split("\n\n## ")
    return [number for number, part in enumerate(parts, start=1) if "**Details:**" in part]


async def test_the_markdown_is_as_specified() -> None:
    switching = hit(1, "User switching careers from Python to Rust.", score=0.92, surprise=0.7)
    dark = hit(2, "User prefers dark mode.", score=0.85, surprise=0.69, days=1)
    tokyo = hit(3, "User lived in Tokyo.", score=0.74, surprise=0.9, days=8)
    messages = [said("user", "my new team is all Rust"), said("assistant", "What prompted it?")]
    recalled = Recalled([switching, dark, tokyo], {"1": messages, "3": messages})

    assert await retrieve_memory(recalled, "career", now=NOW) == (
        "## Memory 1 [rank: 1, score: 0.92, key moment]\n"
        "**When:** 2 days ago\n"
        "**Summary:** User switching careers from Python to Rust.\n"
        "\n"
        "**Details:**\n"
        '- user: "my new team is all Rust"\n'
        '- assistant: "What prompted it?"\n'
        "\n"
        "## Memory 2 [rank: 2, score: 0.85]\n"
        "**When:** yesterday\n"
        "**Summary:** User prefers dark mode.\n"
        "\n"
        "## Memory 3 [rank: 3, score: 0.74, key moment]\n"
        "**When:** last week\n"
        "**Summary:** User lived in Tokyo."
    )


async def test_an_episode_says_in_words_when_it_was() -> None:
    content = "2026-03-08, 14:05–14:32: user: I moved to Lisbon.\nEva: So did I."
    episode = hit(1, content)
    episode = replace(episode, entry=replace(episode.entry, origin=Origin.EPISODE))
    told = hit(2, "2026-03-08, 14:05: user: quoted", days=1)

    text = await retrieve_memory(Recalled([episode, told]), "Lisbon", now=NOW)

    assert "2 days ago\n**Summary:** user: I moved to Lisbon. Eva: So did I.\n" in text
    assert text.endswith("yesterday\n**Summary:** 2026-03-08, 14:05: user: quoted")


async def test_nothing_found_is_said() -> None:
    assert await retrieve_memory(Recalled([]), "tea", now=NOW) == "No memories found."


async def test_it_asks_for_what_an_assistant_recalls() -> None:
    recalled = memory(0.9)

    await retrieve_memory(recalled, "tea", limit=3)

    assert recalled.queries == [MemoryQuery(text="tea", mode=SearchMode.RECALL, limit=3)]


@pytest.mark.parametrize(
    ("detail_limit", "expected"),
    [
        (None, [1]),
        (0, []),
        (1, [1]),
        (2, [1, 3]),
        (3, [1, 3, 4]),
        (4, [1, 3, 4]),
        (5, [1, 2, 3, 4, 5]),
    ],
)
async def test_who_gets_details(detail_limit: int | None, expected: list[int]) -> None:
    recalled = memory(0.9, 0.2, 0.8, 0.7, None)

    text = await retrieve_memory(recalled, "tea", detail_limit=detail_limit, now=NOW)

    assert detailed(text) == expected


async def test_what_was_no_conversation_has_no_details() -> None:
    recalled = memory(0.9)
    recalled.messages["1"] = []

    assert detailed(await retrieve_memory(recalled, "tea")) == []


async def test_what_is_forgotten_in_between_has_no_details() -> None:
    recalled = memory(0.9)
    recalled.messages.clear()

    assert detailed(await retrieve_memory(recalled, "tea")) == []


async def test_long_details_say_that_they_were_cut() -> None:
    recalled = memory(0.9)
    recalled.messages["1"] = [said("user", f"{n} " + "word " * 500) for n in range(30)]

    text = await retrieve_memory(recalled, "tea", now=NOW)

    assert "**Details:** (13 of 30 messages)\n" in text
    assert len(text) < 9000


@pytest.mark.parametrize(("limit", "detail_limit"), [(0, None), (51, None), (5, -1)])
async def test_a_number_out_of_range_is_refused_by_name(
    limit: int, detail_limit: int | None
) -> None:
    with pytest.raises(InvalidArguments, match="limit must be"):
        await retrieve_memory(memory(0.9), "tea", limit=limit, detail_limit=detail_limit)


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23), "23 hours ago"),
        (timedelta(days=1), "yesterday"),
        (timedelta(days=2), "2 days ago"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=7), "last week"),
        (timedelta(days=15), "2 weeks ago"),
        (timedelta(days=30), "last month"),
        (timedelta(days=90), "3 months ago"),
        (timedelta(days=364), "12 months ago"),
        (timedelta(days=365), "last year"),
        (timedelta(days=1100), "3 years ago"),
        (timedelta(days=-1), "in 1 day"),
        (timedelta(days=-21), "in 3 weeks"),
    ],
)
def test_times_are_words(ago: timedelta, words: str) -> None:
    assert relative_time(NOW - ago, NOW) == words


async def test_a_model_may_call_it() -> None:
    tool = RetrieveMemoryTool(memory(0.9, 0.9), subject="ana@localhost")

    text = await tool.execute(query="tea", limit=1, detail_limit=0)

    assert text.startswith("## Memory 1 [rank: 1, score: 0.50, key moment]\n")
    assert detailed(text) == []


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "query is required"),
        ({"query": "tea", "limit": 0}, "limit must be a whole number from 1 to 50, not 0"),
        ({"query": "tea", "detail_limit": 1.5}, "detail_limit must be a whole number from 0 on"),
    ],
)
async def test_a_models_mistake_is_told(arguments: dict[str, object], fault: str) -> None:
    told = await RetrieveMemoryTool(memory(0.9)).execute(**arguments)

    assert told.startswith(f"Failed to retrieve memories: {fault}")


HOSTILE = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
    st.lists(
        st.sampled_from(
            ["\n", "\r", "\u2028", "\x0b", "\x85", "## Memory 2 [rank: 2, score: 0.99]",
             "**When:** ", "**Summary:** ",
             "\n**Details:**\n", '- user: "', '"', "\n\n## ", ": ", "[", "#"]
        ),
        max_size=8,
    ).map("".join),
)  # fmt: skip
HEAD = re.compile(r"## Memory (\d+) \[rank: (\d+), score: ([01]\.\d\d)(, key moment)?\]")
DETAIL = re.compile(r'- ([^:"]+): "(.*)"')


def parsed(text: str) -> list[tuple[int, str, list[tuple[str, str]]]]:
    """Rank, summary and details of each memory; fails on any line that has no place."""
    memories: list[tuple[int, str, list[tuple[str, str]]]] = []
    lines = iter(text.splitlines())
    for line in lines:
        if found := HEAD.fullmatch(line):
            assert next(lines).startswith("**When:** ")
            summary = next(lines)
            assert summary.startswith("**Summary:** ")
            memories.append((int(found[2]), summary.removeprefix("**Summary:** "), []))
        elif found := DETAIL.fullmatch(line):
            memories[-1][2].append((found[1], found[2]))
        else:
            assert line in ("", "**Details:**")
    return memories


def squeezed(text: str) -> str:
    return " ".join(text.split())


@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=4))
def test_no_content_can_break_the_format(texts: list[tuple[str, str, str]]) -> None:
    hits = [hit(n, content, surprise=0.9) for n, (content, _, _) in enumerate(texts)]
    messages = {
        str(n): [said("user", verbatim, speaker=speaker)]
        for n, (_, verbatim, speaker) in enumerate(texts)
    }

    text = asyncio.run(retrieve_memory(Recalled(hits, messages), "q", detail_limit=5, now=NOW))

    found = parsed(text)
    assert [(rank, summary) for rank, summary, _ in found] == [
        (rank, squeezed(content)) for rank, (content, _, _) in enumerate(texts, start=1)
    ]
    assert [[said for _, said in details] for _, _, details in found] == [
        [squeezed(verbatim)] for _, verbatim, _ in texts
    ]


async def test_what_no_longer_holds_is_left_out_unless_the_query_is_about_the_past() -> None:
    memory = Recalled([hit(1, "I live in Madrid", days=40), hit(2, "I moved to Valencia")])
    memory.hits = [
        replace(one, entry=replace(one.entry, origin=Origin.MESSAGE, metadata={"role": "user"}))
        for one in memory.hits
    ]

    now = await retrieve_memory(memory, "where do I live?", now=NOW)
    before = await retrieve_memory(memory, "where did I live before?", now=NOW)

    assert "Madrid" not in now
    assert "Valencia" in now
    assert (
        "**When:** last month, until 2 days ago (no longer true)\n**Summary:** I live in" in before
    )
