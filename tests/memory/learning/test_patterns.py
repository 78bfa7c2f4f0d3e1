"""What several conversations have in common: with consent only, from the person's own words, and
gone with what it was made from."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ModelUnavailable
from spade_llm.memory.contract import MemoryChange
from spade_llm.memory.learning.model_extractor import PATTERN_TOOL_NAME
from spade_llm.memory.learning.pattern_rules import find_patterns, group_talk_sessions
from spade_llm.providers.model import Completion, ToolCall
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, Origin
from tests.memory.places import file_only
from tests.memory.talks import ANA, OWNER, contents_of_patterns, learn, patterns, talk

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.memory import OwnedMemory, SQLiteMemoryBackend

LISBON = ["We are flying to Lisbon in May.", "Keep it short, please."]
LISBON_PATTERNS = {
    "The user often asks for short answers.",
    "The user often talks about Lisbon.",
}


async def _said_on(store: OwnedMemory, days: int, subject: str = ANA) -> None:
    for day in range(days):
        await talk(store, LISBON, day=day, subject=subject)


async def _learned_of(backend: SQLiteMemoryBackend, store: OwnedMemory, days: int) -> None:
    """Who lets it has talked on so many days, and patterns were looked for."""
    await store.set_consent(ANA, is_given=True)
    await _said_on(store, days)
    await learn(backend)


async def test_what_three_conversations_share_is_remembered_with_where_it_was_seen(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await store.set_consent(ANA, is_given=True)
    await _said_on(store, 3)
    await talk(store, ["My cat is asleep."], day=5)

    await learn(backend)

    assert await contents_of_patterns(store) == LISBON_PATTERNS
    (lisbon,) = [one for one in await patterns(store) if "Lisbon" in one.content]
    seen = await store.peek(lisbon.sources)
    assert len(seen) == 3
    assert all(one.origin is Origin.EPISODE and "Lisbon" in one.content for one in seen)
    assert lisbon.metadata == {
        "kind": "topic",
        "conversations": 3,
        "of": 4,
        "first": "2026-03-01",
        "last": "2026-03-03",
    }
    assert lisbon.confidence == 0.75


async def test_a_pattern_is_recalled_as_other_memories_are(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await _learned_of(backend, store, 3)

    which = MemoryFilter(subject=ANA)
    found = await store.search(MemoryQuery(text="what does she say of Lisbon?", which=which))

    assert "The user often talks about Lisbon." in [hit.entry.content for hit in found.hits]


async def test_how_a_person_wants_it_comes_with_every_recall_and_what_they_talk_about_does_not(
    backend: SQLiteMemoryBackend, store: OwnedMemory, other_store: OwnedMemory
) -> None:
    await _learned_of(backend, store, 3)
    query = MemoryQuery(
        text="glaciers", which=MemoryFilter(subject=ANA), limit=1, with_patterns=True
    )

    async def found(memory: OwnedMemory, query: MemoryQuery) -> list[str]:
        return [hit.entry.content for hit in (await memory.search(query)).hits]

    assert await found(store, query) == ["The user often asks for short answers."]
    bobs = replace(query, which=MemoryFilter(subject="bob@localhost"))
    assert await found(store, bobs) == []
    assert await found(other_store, query) == []
    assert await found(store, replace(query, with_patterns=False)) == []
    again = await found(store, replace(query, text="short answers", limit=9))
    assert again.count("The user often asks for short answers.") == 1


async def test_without_consent_nothing_is_compared(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await _said_on(store, 4)

    await learn(backend)

    assert await patterns(store) == []


async def test_consent_that_comes_later_is_for_what_is_there(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await _said_on(store, 3)
    await learn(backend)
    await store.set_consent(ANA, is_given=True)

    await learn(backend)

    assert await contents_of_patterns(store) == LISBON_PATTERNS


async def test_two_conversations_are_no_pattern(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await store.set_consent(ANA, is_given=True)
    await _said_on(store, 2)

    await learn(backend)

    assert await patterns(store) == []


@file_only
async def test_withdrawn_consent_takes_the_patterns_along_and_leaves_no_trace_of_them(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await _learned_of(backend, store, 3)

    await store.set_consent(ANA, is_given=False)
    await _said_on(store, 5)
    await learn(backend)

    assert await patterns(store) == []
    with closing(sqlite3.connect(backend.path)) as file:
        (count,) = file.execute(
            "SELECT count(*) FROM entry WHERE content LIKE '%often%'"
        ).fetchone()
    assert count == 0
    assert b"often talks" not in _bytes(backend.path)


def _bytes(path: Path) -> bytes:
    log = path.with_name(path.name + "-wal")
    return path.read_bytes() + (log.read_bytes() if log.exists() else b"")


async def test_a_pattern_goes_with_a_conversation_that_it_was_made_from(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await _learned_of(backend, store, 3)
    (lisbon,) = [one for one in await patterns(store) if "Lisbon" in one.content]

    await store.forget([lisbon.sources[1]])

    assert await patterns(store) == []
    await learn(backend)
    assert await patterns(store) == []


async def test_what_is_left_after_forgetting_may_still_be_a_pattern(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await _learned_of(backend, store, 4)
    (lisbon,) = [one for one in await patterns(store) if "Lisbon" in one.content]

    await store.forget([lisbon.sources[0]])
    await learn(backend)

    (again,) = [one for one in await patterns(store) if "Lisbon" in one.content]
    assert list(again.sources) == list(lisbon.sources)[1:]


@pytest.mark.parametrize("way", ["subject", "session", "hidden"])
async def test_no_way_of_forgetting_leaves_a_pattern_behind(
    backend: SQLiteMemoryBackend, store: OwnedMemory, way: str
) -> None:
    await _learned_of(backend, store, 3)
    (lisbon,) = [one for one in await patterns(store) if "Lisbon" in one.content]

    if way == "subject":
        await store.forget_subject(ANA)
    elif way == "session":
        await store.forget_session(ANA)
    else:
        await store.delete(MemoryFilter(), ids=[lisbon.sources[0]])

    assert await patterns(store) == []


@pytest.mark.parametrize("is_hidden", [True, False])
async def test_a_pattern_that_was_removed_does_not_come_back(
    backend: SQLiteMemoryBackend, store: OwnedMemory, is_hidden: bool
) -> None:
    await _learned_of(backend, store, 3)
    (lisbon,) = [one for one in await patterns(store) if "Lisbon" in one.content]

    if is_hidden:
        await store.delete(MemoryFilter(), ids=[lisbon.id])
    else:
        await store.forget([lisbon.id])
    await talk(store, LISBON, day=7)
    await learn(backend)

    assert await contents_of_patterns(store) == {"The user often asks for short answers."}


async def test_a_pattern_that_was_corrected_stays_corrected(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await _learned_of(backend, store, 3)
    (lisbon,) = [one for one in await patterns(store) if "Lisbon" in one.content]

    await store.update(MemoryChange(id=lisbon.id, content="Ana moves to Lisbon"))
    await talk(store, LISBON, day=7)
    await learn(backend)

    (same,) = [one for one in await patterns(store) if one.id == lisbon.id]
    assert same.content == "Ana moves to Lisbon"
    assert len(same.sources) == 4


async def test_nothing_is_shared_between_people_or_owners(
    backend: SQLiteMemoryBackend, store: OwnedMemory, other_store: OwnedMemory
) -> None:
    bob = "bob@localhost"
    for memory in (store, other_store):
        for subject in (ANA, bob):
            await memory.set_consent(subject, is_given=True)
    await talk(store, LISBON, day=0)
    await talk(store, LISBON, day=1)
    await talk(store, LISBON, day=2, subject=bob)
    await talk(other_store, LISBON, day=3)

    await learn(backend)

    assert [
        await patterns(memory, who) for memory in (store, other_store) for who in (ANA, bob)
    ] == [
        [],
        [],
        [],
        [],
    ]


async def test_what_the_assistant_says_is_no_pattern_of_the_person(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await store.set_consent(ANA, is_given=True)
    for day in range(4):
        await talk(store, ["I will tell you of Lisbon."], day=day, role="assistant")

    await learn(backend)

    assert await patterns(store) == []


def _recorded(*found: tuple[str, list[int]]) -> Completion:
    given = [{"content": content, "conversations": numbers} for content, numbers in found]
    call = ToolCall(id="1", name=PATTERN_TOOL_NAME, arguments=json.dumps({"patterns": given}))
    return Completion(tool_calls=(call,))


NO_FACTS = Completion(text='{"facts": []}')


async def test_a_model_names_patterns_and_where_it_saw_them(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await store.set_consent(ANA, is_given=True)
    await _said_on(store, 4)
    model = ScriptedProvider(
        [*[NO_FACTS] * 4, _recorded(("Ana plans trips", [1, 2, 4]), ("Once", [1, 1, 9, 2]))]
    )

    await learn(backend, model)

    (trips,) = await patterns(store)
    assert (trips.content, trips.metadata["conversations"]) == ("Ana plans trips", 3)
    question = str(model.requests[-1].messages[-1]["content"])
    assert [one["number"] for one in json.loads(question)["conversations"]] == [1, 2, 3, 4]


async def test_a_model_that_answers_nonsense_leaves_it_to_the_rules(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await store.set_consent(ANA, is_given=True)
    await _said_on(store, 3)
    model = ScriptedProvider([*[NO_FACTS] * 3, "I see no JSON", "still none"])

    await learn(backend, model)

    assert await contents_of_patterns(store) == LISBON_PATTERNS


async def test_a_model_that_is_away_is_asked_again(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await store.set_consent(ANA, is_given=True)
    await _said_on(store, 3)
    found = _recorded(("Ana plans trips", [1, 2, 3]))
    model = ScriptedProvider([*[NO_FACTS] * 3, ModelUnavailable("away"), found])

    await learn(backend, model)
    assert await patterns(store) == []
    await learn(backend, model)

    assert await contents_of_patterns(store) == {"Ana plans trips"}


async def test_consent_withdrawn_while_a_model_thinks_is_respected(
    backend: SQLiteMemoryBackend, store: OwnedMemory
) -> None:
    await store.set_consent(ANA, is_given=True)
    await _said_on(store, 3)
    await learn(backend, ScriptedProvider([*[NO_FACTS] * 3, ModelUnavailable("away")]))
    learning = backend.learning()
    (known,) = (await learning.due()).people

    await store.set_consent(ANA, is_given=False)
    kept = await learning.save_patterns(known, find_patterns(group_talk_sessions(known.episodes)))

    assert known.owner == OWNER
    assert kept == []
    assert await patterns(store) == []
