"""Recalled messages and episodes say nothing as if it held that no longer holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange, MemoryDraft, MemoryEntry, ObservedMessage
from spade_llm.memory.contract import ScoredMemory as Hit
from spade_llm.memory.validity import apply_validity
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, Origin

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def hit(text: str, *, days_ago: int, origin: Origin = Origin.MESSAGE, role: str = "user") -> Hit:
    at = NOW - timedelta(days=days_ago)
    is_fact = origin in (Origin.TOLD, Origin.EXTRACTED)
    entry = MemoryEntry(
        id=text,
        owner="a@x",
        content=text,
        type=MemoryType.SEMANTIC if is_fact else MemoryType.EPISODIC,
        origin=origin,
        metadata={"role": role},
        created_at=at,
        updated_at=at,
    )
    return Hit(entry=entry, score=0.8)


def closed(text: str, *, days_ago: int, closed_days_ago: int) -> MemoryEntry:
    entry = hit(text, days_ago=days_ago, origin=Origin.EXTRACTED).entry
    return MemoryEntry(
        id=text,
        owner="a@x",
        content=text,
        created_at=entry.created_at,
        updated_at=entry.created_at,
        invalid_at=NOW - timedelta(days=closed_days_ago),
    )


def texts(hits: tuple[Hit, ...]) -> list[str]:
    return [one.entry.content for one in hits]


def test_a_message_that_a_later_one_replaces_is_left_out() -> None:
    hits = [
        hit("I live in Madrid", days_ago=100),
        hit("Noted: you live in Madrid.", days_ago=100, role="assistant"),
        hit("I moved to Valencia", days_ago=10),
        hit("Vivo en Madrid desde 2019", days_ago=50),
        hit("My sister lives in Madrid", days_ago=50),
        hit("What can I visit in Madrid?", days_ago=50),
    ]

    assert texts(apply_validity(hits, now=NOW)) == [
        "I moved to Valencia",
        "My sister lives in Madrid",
        "What can I visit in Madrid?",
    ]


def test_a_fact_is_later_than_the_sentences_of_its_own_message() -> None:
    hits = [
        hit("I live in Madrid. Oh, I moved to Valencia", days_ago=10),
        hit("I moved to Valencia", days_ago=10, origin=Origin.TOLD),
    ]

    assert texts(apply_validity(hits, now=NOW)) == [
        "Oh, I moved to Valencia",
        "I moved to Valencia",
    ]


def test_what_is_said_now_counts_as_the_latest_message() -> None:
    hits = [hit("I live in Madrid", days_ago=100)]

    assert apply_validity(hits, said="I moved to Valencia last week", now=NOW) == ()
    assert apply_validity(hits, said="Where do I live?", now=NOW) == tuple(hits)


def test_only_the_outdated_sentences_leave_a_message_or_an_episode() -> None:
    hits = [
        hit("I live in Madrid. My boss is called Eva.", days_ago=100),
        hit(
            "2026-03-01, 14:05–14:32: Ana: I live in Madrid. My dog is Rex.\nassistant: Nice dog.",
            days_ago=264,
            origin=Origin.EPISODE,
        ),
        hit("2026-03-02, 10:00: Ana: I live in Madrid.", days_ago=263, origin=Origin.EPISODE),
        hit("The user lives in Valencia", days_ago=10, origin=Origin.EXTRACTED),
    ]

    assert texts(apply_validity(hits, now=NOW)) == [
        "My boss is called Eva.",
        "2026-03-01, 14:05–14:32: Ana: My dog is Rex.\nassistant: Nice dog.",
        "The user lives in Valencia",
    ]


def test_a_question_about_the_past_gets_them_with_their_end() -> None:
    hits = [
        hit("I live in Madrid", days_ago=100),
        hit("I live in Madrid. My boss is called Eva.", days_ago=100),
        hit("I moved to Valencia", days_ago=10),
    ]

    found = apply_validity(hits, now=NOW, keeps_former=True)

    assert texts(found) == [
        "I live in Madrid",
        "I live in Madrid (until 2026-11-10). My boss is called Eva.",
        "I moved to Valencia",
    ]
    assert [one.entry.invalid_at for one in found] == [NOW - timedelta(days=10), None, None]


def test_a_closed_fact_outdates_the_messages_before_its_end_that_state_it() -> None:
    hits = [hit("I live in Madrid", days_ago=100), hit("I live in Madrid again", days_ago=5)]
    former = [closed("The user lives in Madrid", days_ago=100, closed_days_ago=20)]

    assert texts(apply_validity(hits[:1], former=former, now=NOW)) == []
    # Said again since: it holds.
    assert apply_validity(hits, former=former, now=NOW) == tuple(hits)


async def test_a_recall_names_the_closed_facts_that_its_messages_may_state() -> None:
    async with SQLiteMemoryBackend(":memory:") as backend:
        memory = backend.for_owner("a@x")
        said = [ObservedMessage(id="1", role="user", content="I live in Madrid", at=NOW)]
        await memory.observe("ana@x", said, subject="ana@x")
        for text, subject in (
            ("The user lives in Madrid", "ana@x"),
            ("The user plays the cello", "ana@x"),
            ("The user lives in Madrid", "bob@x"),
        ):
            entry = await memory.add(MemoryDraft(content=text, subject=subject))
            await memory.update(MemoryChange(id=entry.id, invalid_at=datetime.now(UTC)))
        query = MemoryQuery(
            text="Madrid live", which=MemoryFilter(subject="ana@x"), with_messages=True
        )

        found = await memory.search(query)

        assert texts(found.hits) == ["I live in Madrid"]
        assert [(one.content, one.subject) for one in found.former] == [
            ("The user lives in Madrid", "ana@x")
        ]


def test_a_fact_does_not_hold_again_because_of_the_one_that_replaced_it() -> None:
    old = [
        "insurance is with Aviva, renews on 3 February",
        "The exam is on 25 November in room 14",
        "Hi! I'm Ann, I live in Hull and I'm a teacher",
    ]
    former = [
        closed(text, days_ago=18, closed_days_ago=15)
        for text in (
            "Insurance is with Aviva, renews on 3 February",
            "The exam is on 25 November in room 14",
            "I live in Hull",
        )
    ]
    now = [
        "Insurance is with Admiral, renews on 3 February",
        "The exam is on 25 November in room 3",
        "I live in Beverley",
    ]
    hits = [hit(text, days_ago=18) for text in old]
    hits += [hit(text, days_ago=15, origin=Origin.TOLD) for text in now]

    assert texts(apply_validity(hits, former=former, now=NOW)) == ["Hi!", *now]
