"""Nothing of another's memory comes through the wire, whatever is asked and however."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import RequestError
from spade_llm.memory import MemoryDraft
from spade_llm.memory.contract import ObservedMessage
from spade_llm.memory.remote import MemoryClient
from spade_llm.memory.remote_endpoint import ONTOLOGY
from spade_llm.messaging import OutgoingRequest
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, SearchMode
from tests.integration.network import jid_of

if TYPE_CHECKING:
    from spade_llm.agents import ChatAgent
    from tests.integration.network import Network

Wire = Mapping[str, object]
PERSON = "person@somewhere.example"
"""Whom all owners talk with: only the owner keeps their memories apart."""
# No word of these can be part of a number, a date or an id by chance.
LIVES = {
    "ana": ("lighthouse", "heron", "violet", "Bergen", "QX4471"),
    "ben": ("windmill", "otter", "crimson", "Utrecht", "QX9023"),
    "cleo": ("observatory", "falcon", "amber", "Quito", "QX3158"),
}
TURNS = (
    "I live in a {0} and repaired its roof today",
    "There was a {1} at the window this morning",
    "My favourite colour is {2}, like the old door",
    "Next month I travel to {3} to see my sister",
    "The code of the gate is {4}, do not tell anybody",
)
QUESTIONS = (
    "Where does the person live?",
    "Which animal was at the window this morning?",
    "What is the favourite colour of the old door?",
    "Where does the sister live, to whom the person travels next month?",
    "What is the code of the gate?",
)
TRICKS = (
    "*",
    "%",
    "_",
    "%%",
    '"',
    "' OR '1'='1",
    "owner:*",
    "NEAR(code gate)",
    "code OR gate",
    "content:code*",
    "{code gate}",
    "-nothing",
    "^code",
    "\x00",
    "𝔠𝔬𝔡𝔢 gate",
    "../ana",
    "",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    agent: ChatAgent
    memory: MemoryClient
    secrets: tuple[str, ...]
    ids: tuple[str, ...]


@pytest.fixture
async def owners(network: Network) -> list[Owner]:
    memory = jid_of(await network.memory())
    found = []
    for name, words in LIVES.items():
        agent = await network.program(name)
        found.append(await owner(agent, memory, words))
    return found


async def owner(agent: ChatAgent, jid: str, words: tuple[str, ...]) -> Owner:
    """With a conversation, and a memory for each of its turns; all else is the same for all."""
    memory = MemoryClient(agent.node.requester, jid)
    said = [turn.format(*words) for turn in TURNS]
    # Of now: nothing is learned from a conversation that still goes on, and counted below.
    start = datetime.now(UTC) - timedelta(minutes=len(said))
    messages = [
        ObservedMessage(id=str(n), role="user", content=text, at=start + n * timedelta(minutes=1))
        for n, text in enumerate(said)
    ]
    await memory.observe("talk", messages, subject=PERSON)
    drafts = [
        MemoryDraft(content=text, subject=PERSON, session="talk", tags=("t",)) for text in said
    ]
    done = await memory.add_many(drafts)
    return Owner(agent=agent, memory=memory, secrets=words, ids=done.ids)


def leaks(text: str, asker: Owner, owners: list[Owner]) -> list[str]:
    return [word for one in owners if one is not asker for word in one.secrets if word in text]


@pytest.mark.thorough
async def test_each_question_of_each_owner_finds_only_its_own(owners: list[Owner]) -> None:
    found = 0
    for asker in owners:
        for question in (*QUESTIONS, *(turn.format(*o.secrets) for o in owners for turn in TURNS)):
            for mode in SearchMode:
                query = MemoryQuery(text=question, mode=mode, with_messages=True, limit=50)
                hits = (await asker.memory.search(query)).hits
                found += len(hits)
                assert {hit.entry.owner for hit in hits} <= {jid_of(asker.agent)}
                assert leaks(str(hits), asker, owners) == []

    assert found > 100


async def ask(asker: Owner, body: Wire) -> str:
    """The answer as it came: a refusal's own text, too."""
    question = OutgoingRequest(peer=asker.memory.jid, ontology=ONTOLOGY, content=json.dumps(body))
    try:
        return (await asker.agent.node.requester.ask(question, timeout_s=10)).content
    except RequestError as error:
        return f"{error.wire_code}: {error.detail}"


def bodies_with_ids(ids: list[str]) -> list[Wire]:
    """Every op that takes an id, with another's."""
    one, two = ids[0], ids[1]
    draft = {"content": "taken"}
    return [
        {"op": "get", "id": one},
        {"op": "peek", "ids": ids},
        {"op": "update", "change": {"id": one, "content": "changed"}},
        {"op": "update_many", "changes": [{"id": one, "content": "c"}], "on_error": "continue"},
        {"op": "set_importance", "id": one, "score": 0.0, "reason": "none"},
        {"op": "replace", "ids": [one, two], "draft": draft, "keep": False},
        {"op": "merge", "into": one, "others": [two]},
        {"op": "similar", "id": one},
        {"op": "delete", "which": {}, "ids": ids},
        {"op": "forget", "ids": ids},
        {"op": "reviewed", "ids": ids},
        {"op": "episode_messages", "id": one},
        {"op": "link", "source": one, "target": two},
        {"op": "unlink", "source": one, "target": two},
        {"op": "links", "id": one},
        {"op": "revoke", "id": one},
    ]


async def test_anothers_ids_are_as_unknown_as_guessed_ones(owners: list[Owner]) -> None:
    ana, ben = owners[:2]
    before = await ana.memory.list(limit=100)
    guessed = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"]

    for theirs, nobodys in zip(
        bodies_with_ids(list(ana.ids[:2])), bodies_with_ids(guessed), strict=True
    ):
        answer, other = await ask(ben, theirs), await ask(ben, nobodys)
        assert leaks(answer, ben, owners) == []
        for known, unknown in zip(ana.ids, guessed, strict=False):
            answer = answer.replace(known, unknown)
        assert answer == other, theirs["op"]

    assert await ana.memory.list(limit=100) == before


def spoofed(owner: str) -> list[Wire]:
    draft = {"content": "planted"}
    return [
        body
        for key in ("owner", "agent_id")
        for body in (
            {"op": "search", "query": "gate", key: owner},
            {"op": "search", "query": {"text": "gate", key: owner}},
            {"op": "search", "query": {"text": "gate", "which": {key: owner}}},
            {"op": "list", "which": {key: owner}},
            {"op": "stats", key: owner},
            {"op": "history", "conversation": "talk", key: owner},
            {"op": "retrieve", "query": "gate", key: owner},
            {"op": "session_context", "session": "talk", key: owner},
            {"op": "add", "draft": {**draft, key: owner}},
            {"op": "forget_subject", "subject": PERSON, key: owner},
        )
    ]


async def test_an_owner_that_is_claimed_is_refused_and_noted(
    owners: list[Owner], caplog: pytest.LogCaptureFixture
) -> None:
    ana, ben = owners[:2]

    with caplog.at_level(logging.WARNING):
        answers = [await ask(ben, body) for body in spoofed(jid_of(ana.agent))]

    assert {answer.partition(":")[0] for answer in answers} == {"unauthorised"}
    assert caplog.text.count(f"{ben.agent.address} may not do this") == len(answers)
    assert (await ana.memory.list()).total == len(ana.ids)


async def test_anothers_memory_is_closed_until_it_is_granted_and_after_it_is_revoked(
    owners: list[Owner], caplog: pytest.LogCaptureFixture
) -> None:
    ana, ben, cleo = owners
    theirs = MemoryFilter(of=jid_of(ana.agent))
    query = MemoryQuery(text="code of the gate", which=theirs)

    with caplog.at_level(logging.WARNING):
        closed = await ben.memory.search(query)
    grant = await ana.memory.grant(jid_of(ben.agent))
    opened = await ben.memory.search(query)
    others = await cleo.memory.search(query)
    await ana.memory.revoke(grant.id)
    again = await ben.memory.search(query)

    assert (closed.outcome, closed.hits) == ("denied", ())
    assert ben.agent.address in caplog.text
    assert "QX4471" in str(opened.hits)
    assert (others.outcome, others.hits) == ("denied", ())
    assert (again.outcome, again.hits) == ("denied", ())


@pytest.mark.parametrize("op", ["list", "delete", "retrieve", "similar"])
async def test_memories_without_a_grant_are_neither_listed_nor_changed(
    owners: list[Owner], op: str
) -> None:
    ana, ben = owners[:2]
    which = {"of": jid_of(ana.agent)}
    query = {"query": "gate"} if op == "retrieve" else {}
    body: Wire = {"op": op, "which": which, "id": ana.ids[0], **query}

    answer = await ask(ben, body)

    assert leaks(answer, ben, owners) == []
    assert not any(id in answer for id in ana.ids[1:])
    assert (await ana.memory.list()).total == len(ana.ids)


def bodies_with(trick: str, other: str) -> list[Wire]:
    """The trick in every parameter that is text."""
    return [
        *(
            {"op": "search", "query": {"text": trick, "mode": mode, "with_messages": True}}
            for mode in SearchMode
        ),
        {"op": "search", "query": {"text": "gate", "which": {"subject": trick}}},
        {"op": "search", "query": {"text": "gate", "which": {"session": trick}}},
        {"op": "search", "query": {"text": "gate", "which": {"tags": [trick]}}},
        {"op": "search", "query": {"text": "gate", "which": {"of": trick}}},
        {"op": "search", "query": {"text": "gate", "which": {"of": f"{other}{trick}"}}},
        {"op": "list", "which": {"subject": trick}},
        {"op": "list", "which": {"session": trick}},
        {"op": "list", "which": {"tags": [trick]}},
        {"op": "list", "which": {"of": trick}},
        {"op": "history", "conversation": trick},
        {"op": "session_context", "session": trick},
        {"op": "session_context", "session": "talk", "subject": trick},
        {"op": "retrieve", "query": trick},
        {"op": "stats", "session": trick},
        {"op": "get", "id": trick},
        {"op": "similar", "id": trick},
        {"op": "links", "id": trick},
        {"op": "episode_messages", "id": trick},
    ]


async def test_no_pattern_in_any_parameter_reaches_anothers_memory(owners: list[Owner]) -> None:
    ana, ben = owners[:2]
    bodies = [body for trick in TRICKS for body in bodies_with(trick, jid_of(ana.agent))]

    answers = await asyncio.gather(*(ask(ben, body) for body in bodies))

    for body, answer in zip(bodies, answers, strict=True):
        assert leaks(answer, ben, owners) == [], body
        assert not answer.startswith("internal"), body


async def test_no_pattern_removes_what_is_anothers(owners: list[Owner]) -> None:
    ana, ben = owners[:2]

    for trick in (*TRICKS, PERSON):
        await ask(ben, {"op": "forget_subject", "subject": trick})
        await ask(ben, {"op": "forget_session", "session": trick})
        await ask(ben, {"op": "delete", "which": {"subject": trick}})
    await ask(ben, {"op": "delete", "which": {}})

    assert (await ana.memory.list()).total == len(ana.ids)
    assert len(await ana.memory.history("talk")) == len(TURNS)
