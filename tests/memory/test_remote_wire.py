"""What is said between a memory and who asks it: sizes, repeated requests, and who asks."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments, RequestRefused
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange, ObservedMessage, OnError
from spade_llm.memory.remote import MemoryClient, MemoryService
from spade_llm.memory.remote_endpoint import ONTOLOGY
from spade_llm.memory.retrieval import retrieve_memory
from spade_llm.memory.sessions import session_context
from spade_llm.messaging import MAX_BODY_BYTES, Encoding, OutgoingRequest, new_id
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, MemoryType, SearchMode
from tests.memory.contract import NOON, said
from tests.messaging.node_harness import Member, network_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

MEMORY = "memory@localhost/1"
ANA = "ana@localhost"


@pytest.fixture
async def ana(tmp_path: Path) -> AsyncIterator[Member]:
    async with (
        SQLiteMemoryBackend(tmp_path / "memory.db") as backend,
        network_of(MEMORY, f"{ANA}/1") as (memory, ana),
    ):
        MemoryService(backend).attach(memory.node.dispatcher)
        yield ana


@pytest.fixture
def client(ana: Member) -> MemoryClient:
    return MemoryClient(ana.node.requester, MEMORY)


async def say(ana: Member, *, request: str = "", **body: object) -> object:
    """One request in JSON as it stands, and its answer."""
    question = OutgoingRequest(
        peer=MEMORY, ontology=ONTOLOGY, content=json.dumps(body), id=request or new_id()
    )
    return json.loads((await ana.node.requester.ask(question, timeout_s=5)).content)


def text_at(answer: object, *path: str | int) -> object:
    for step in path:
        assert isinstance(answer, dict | list)
        answer = answer[step]  # type: ignore[index]
    return answer


def drafts(count: int, *, size: int = 1000) -> list[MemoryDraft]:
    return [MemoryDraft(content=f"{number} " + "x" * size) for number in range(count)]


async def test_what_the_first_programs_say_is_still_understood(ana: Member) -> None:
    draft = {"content": "Ada likes tea", "category": "preference", "subject": "ada@x"}
    entry = await say(ana, op="add", draft=draft)
    found = await say(ana, op="search", query="tea", subject="ada@x", limit=5)
    listed = await say(ana, op="list", category="preference", subject="ada@x", limit=5, offset=0)
    others = await say(ana, op="list", subject="bob@x")
    gone = await say(ana, op="forget", ids=[text_at(entry, "entry", "id")], subject="ada@x")

    assert text_at(found, "results", 0, "entry", "content") == "Ada likes tea"
    assert text_at(listed, "page", "entries", 0, "content") == "Ada likes tea"
    assert others == {"page": {"entries": [], "total": 0}}
    assert gone == {"count": 1}


async def test_a_batch_goes_in_as_few_messages_as_carry_it(
    ana: Member, client: MemoryClient
) -> None:
    before = len(ana.received)

    done = await client.add_many(drafts(300), on_error=OnError.CONTINUE)

    assert len(done.ids) == len(set(done.ids)) == 300
    assert len(ana.received) - before == -(-300 * 1040 // MAX_BODY_BYTES)
    assert (await client.list(limit=1)).total == 300


async def test_a_batch_that_must_be_undone_as_a_whole_goes_in_one_message_or_not_at_all(
    client: MemoryClient,
) -> None:
    with pytest.raises(InvalidArguments, match="send fewer at a time"):
        await client.add_many(drafts(300))

    assert (await client.list()).total == 0


@pytest.mark.parametrize(("on_error", "stored"), [(OnError.CONTINUE, 299), (OnError.STOP, 250)])
async def test_a_wrong_item_is_reported_by_its_place_in_the_whole_batch(
    client: MemoryClient, on_error: OnError, stored: int
) -> None:
    wrong = drafts(300)
    wrong[250] = MemoryDraft(content="")

    done = await client.add_many(wrong, on_error=on_error)

    assert [(error.index, error.code) for error in done.errors] == [(250, "invalid-arguments")]
    assert len(done.ids) == (await client.list(limit=1)).total == stored


async def test_an_item_too_large_for_any_message_is_a_wrong_item(client: MemoryClient) -> None:
    items = [MemoryDraft(content="a"), MemoryDraft(content="😀" * 32_768), MemoryDraft(content="b")]

    done = await client.add_many(items, on_error=OnError.CONTINUE)

    assert len(done.ids) == 2
    assert [error.index for error in done.errors] == [1]


async def test_a_batch_repeated_with_its_key_adds_nothing(client: MemoryClient) -> None:
    first = await client.add_many(drafts(200), key="k", on_error=OnError.CONTINUE)

    again = await client.add_many(drafts(200), key="k", on_error=OnError.CONTINUE)

    assert again == first
    assert (await client.list(limit=1)).total == 200


async def test_changes_go_in_several_messages_too(client: MemoryClient) -> None:
    ids = (await client.add_many(drafts(300, size=10))).ids
    changes = [MemoryChange(id=id, content="y" * 1000) for id in ids]

    done = await client.update_many(changes, on_error=OnError.CONTINUE)

    assert done.ids == ids
    assert done.errors == ()


async def test_long_lists_come_in_as_many_answers_as_it_takes(client: MemoryClient) -> None:
    ids = (await client.add_many(drafts(300), on_error=OnError.CONTINUE)).ids

    page = await client.list(limit=250)
    peeked = await client.peek(ids)
    deleted = await client.delete(MemoryFilter())

    assert len(page.entries) == len({entry.id for entry in page.entries}) == 250
    assert page.total == 300
    assert [entry.id for entry in peeked] == list(ids)
    assert sorted(deleted) == sorted(ids)
    assert (await client.list()).total == 0


async def test_a_long_history_is_cut_at_its_old_end(client: MemoryClient) -> None:
    for start in range(0, 200, 50):
        numbers = range(start, start + 50)
        messages = [
            ObservedMessage(id=str(n), role="user", content="x" * 2000, at=NOON) for n in numbers
        ]
        await client.observe("c", messages)

    history = await client.history("c", limit=200)

    assert 20 < len(history) < 100
    assert history[-1].id == "199"


async def test_the_same_request_again_gets_the_same_answer(ana: Member) -> None:
    draft = {"content": "Ada likes tea"}

    first = await say(ana, request="r1", op="add", draft=draft, merge=False)
    again = await say(ana, request="r1", op="add", draft=draft, merge=False)

    assert again == first


async def test_what_a_model_reads_is_made_where_the_memory_is(client: MemoryClient) -> None:
    await client.add(MemoryDraft(content="Ada rows on the lake", session="c", subject="ada@x"))
    await client.observe("c", [said("1", "the lake is calm")], subject="ada@x")

    found = await client.retrieve("lake", limit=1)
    context = await client.session_context("c", max_tokens=200, language="en")
    one_type = await client.session_context("c", types=(MemoryType.PROFILE,))

    assert found == await retrieve_memory(client, "lake", limit=1)
    assert "**Summary:** Ada rows on the lake" in found
    assert context == await session_context(client, "c", max_tokens=200, language="en")
    assert "the lake is calm" in context.context_text
    assert one_type.memory_types_included == ()


@pytest.mark.parametrize("tokens", [99, 8001])
async def test_a_budget_out_of_range_is_refused_by_field(client: MemoryClient, tokens: int) -> None:
    with pytest.raises(RequestRefused, match="max_tokens") as refused:
        await client.session_context("c", max_tokens=tokens)

    assert refused.value.wire_code == "invalid-arguments"


SPOOFED: list[dict[str, object]] = [
    {"op": "list", "owner": "bob@localhost"},
    {"op": "list", "agent_id": "bob@localhost"},
    {"op": "list", "which": {"owner": "bob@localhost"}},
    {"op": "add", "draft": {"content": "x", "owner": "bob@localhost"}},
    {"op": "add_many", "drafts": [{"content": "x"}, {"content": "x", "agent_id": "bob"}]},
    {"op": "search", "query": {"text": "x", "which": {"owner": "bob@localhost"}}},
    {"op": "update", "change": {"id": "x", "owner": ["bob@localhost"]}},
    {"op": "grant", "to": "me@localhost", "owner": "bob@localhost"},
]


@pytest.mark.parametrize("body", SPOOFED, ids=str)
async def test_who_says_to_be_another_is_refused_and_noted(
    ana: Member, client: MemoryClient, caplog: pytest.LogCaptureFixture, body: dict[str, object]
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(RequestRefused) as refused:
        await say(ana, request="", **body)

    assert refused.value.wire_code == "unauthorised"
    assert f"{ANA}/1 may not do this" in caplog.text
    assert (await client.list()).total == 0


async def test_the_own_name_and_words_of_ones_own_are_no_claim(ana: Member) -> None:
    metadata = {"owner": "bob@localhost", "agent_id": "7"}
    draft = {"content": "the boat", "metadata": metadata, "owner": ANA}

    stored = await say(ana, op="add", draft=draft)

    assert text_at(stored, "entry", "metadata") == metadata
    assert text_at(stored, "entry", "owner") == ANA


async def test_two_ops_in_one_body_are_none(ana: Member) -> None:
    question = OutgoingRequest(
        peer=MEMORY, ontology=ONTOLOGY, content='{"op":"list","op":"forget_subject","subject":"x"}'
    )

    with pytest.raises(Exception, match="two ops"):
        await ana.node.requester.ask(question, timeout_s=5)


async def test_a_search_that_does_not_fit_says_how_many_it_left_out(client: MemoryClient) -> None:
    for draft in drafts(8, size=30_000):
        await client.add(draft)

    found = await client.search(MemoryQuery(text="0 1 2 3 4 5 6 7", mode=SearchMode.KEYWORD))

    assert len(found.hits) == 4
    assert found.left_out == 4


async def test_a_history_that_does_not_fit_has_as_many_of_the_newest_as_fit(
    ana: Member, client: MemoryClient
) -> None:
    for number in range(50):
        await client.observe("c", [said(str(number), "y" * 6000)])

    history = await client.history("c")
    answer = await say(ana, op="history", conversation="c")

    assert [message.id for message in history] == [str(number) for number in range(29, 50)]
    assert text_at(answer, "left") == 29


@pytest.mark.parametrize("spare", [0, 40, 1000])
async def test_a_message_as_large_as_a_request_is_in_the_history(
    ana: Member, client: MemoryClient, spare: int
) -> None:
    message = {"id": "1", "role": "user", "content": "", "at": "2026-01-01T00:00:00Z"}
    bare = json.dumps({"op": "observe", "conversation": "c", "messages": [message]})
    message["content"] = "x" * (MAX_BODY_BYTES - len(bare) - spare)
    await say(ana, op="observe", conversation="c", messages=[message])

    (heard,) = await client.history("c")

    assert len(heard.content) == len(message["content"])


async def test_a_message_too_large_for_an_answer_hides_no_other_hit(
    ana: Member, client: MemoryClient
) -> None:
    await client.observe("c", [said("1", "tea " + "x" * (MAX_BODY_BYTES - 300))])
    await client.add(MemoryDraft(content="tea with milk and oats"))

    query = MemoryQuery(text="tea", mode=SearchMode.KEYWORD, with_messages=True)
    found = await client.search(query)

    assert [hit.entry.content for hit in found.hits] == ["tea with milk and oats"]
    assert found.left_out == 1


async def test_a_plain_agent_that_uses_an_id_again_loses_no_memory(
    ana: Member, client: MemoryClient
) -> None:
    async def tell(content: str) -> object:
        body = json.dumps({"op": "add", "draft": {"content": content}})
        question = OutgoingRequest(
            peer=MEMORY, ontology=ONTOLOGY, content=body, id="140", encoding=Encoding.FORM
        )
        answer = await ana.node.requester.ask(question, timeout_s=5)
        return text_at(json.loads(answer.content), "entry", "id")

    first, second, again = [await tell(text) for text in ("tea", "milk", "tea")]

    assert first == again != second
    assert [entry.content for entry in (await client.list()).entries] == ["milk", "tea"]
