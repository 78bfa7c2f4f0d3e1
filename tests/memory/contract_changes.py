"""What every MemoryStore promises about batches, changes, filters, times and deleting.

Imported by the modules that import contract.py.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

import pytest

from spade_llm.core.errors import InvalidArguments, NotFound, RequestError, RequestRefused
from spade_llm.memory import Category, MemoryDraft, OwnedMemory, Tier
from spade_llm.memory.contract import BatchError, MemoryChange, OnError
from spade_llm.search.memory_query import (
    ContentType,
    MemoryFilter,
    MemoryQuery,
    MemoryType,
    Origin,
    SearchMode,
)
from tests.memory.contract import ADA, BOB, contents, said

REFUSED = (InvalidArguments, RequestRefused)
MISSING = (NotFound, RequestRefused)
GOOD, BAD = MemoryDraft(content="good"), MemoryDraft(content="")


async def listed(store: OwnedMemory, which: MemoryFilter | None = None) -> list[str]:
    """Contents, oldest first."""
    page = await store.list(which or MemoryFilter(), limit=100)
    return [entry.content for entry in reversed(page.entries)]


def code_of(error: Exception) -> str:
    return error.wire_code if isinstance(error, RequestError) else getattr(error, "code", "")


async def test_what_is_told_without_merging_is_stored_again(store: OwnedMemory) -> None:
    first = await store.add(GOOD, merge=False)
    second = await store.add(GOOD, merge=False)

    assert first.id != second.id
    assert await listed(store) == ["good", "good"]
    assert await contents(store, "good") == ["good"]


async def test_the_same_content_strengthens_what_was_told(store: OwnedMemory) -> None:
    told = await store.add(GOOD, merge=False)

    assert (await store.add(GOOD)).id == told.id


async def test_the_same_content_makes_sources_more(store: OwnedMemory) -> None:
    sources = [str(uuid4()) for _ in range(3)]
    await store.add(replace(GOOD, sources=tuple(sources[:2])))

    again = await store.add(replace(GOOD, sources=tuple(sources[1:])))

    assert again.sources == tuple(sources)


async def test_a_draft_comes_back_whole(store: OwnedMemory) -> None:
    draft = MemoryDraft(
        content="print(1)",
        type=MemoryType.PROCEDURAL,
        content_type=ContentType.CODE,
        importance=0.0,
        surprise=0.7,
        valid_at=datetime(2020, 1, 1, tzinfo=UTC),
        origin=Origin.EXTRACTED,
        sources=(str(uuid4()),),
    )

    entry = await store.add(draft)

    assert (entry.type, entry.content_type, entry.category) == (
        draft.type,
        draft.content_type,
        None,
    )
    assert (entry.importance, entry.is_importance_set, entry.surprise) == (0.0, True, 0.7)
    assert (entry.valid_at, entry.origin, entry.sources) == (
        draft.valid_at,
        draft.origin,
        draft.sources,
    )


async def test_a_batch_is_stored_in_order(store: OwnedMemory) -> None:
    drafts = [MemoryDraft(content=f"fact {number}") for number in range(100)]

    result = await store.add_many(drafts)

    assert len(set(result.ids)) == 100
    assert result.errors == ()
    entries = await store.peek(result.ids)
    assert [entry.content for entry in entries] == [draft.content for draft in drafts]


async def test_a_batch_never_merges(store: OwnedMemory) -> None:
    result = await store.add_many([GOOD, GOOD])

    assert len(set(result.ids)) == 2


async def test_the_same_batch_again_is_the_same_result(store: OwnedMemory) -> None:
    drafts = [MemoryDraft(content="one"), MemoryDraft(content="two")]
    first = await store.add_many(drafts, key="k")

    assert await store.add_many(drafts, key="k") == first
    assert await listed(store) == ["one", "two"]


@pytest.mark.parametrize(
    ("on_error", "stored", "failed"),
    [
        (OnError.ROLLBACK, [], [1, 3]),
        (OnError.CONTINUE, ["0", "2", "4"], [1, 3]),
        (OnError.STOP, ["0"], [1]),
    ],
)
async def test_a_bad_item_is_reported_by_its_index(
    store: OwnedMemory, on_error: OnError, stored: list[str], failed: list[int]
) -> None:
    drafts = [MemoryDraft(content="" if at % 2 else str(at)) for at in range(5)]

    result = await store.add_many(drafts, on_error=on_error)

    assert await listed(store) == stored
    assert len(result.ids) == len(stored)
    assert [error.index for error in result.errors] == failed
    assert {error.code for error in result.errors} == {"invalid-arguments"}
    assert all("content" in error.reason for error in result.errors)


@pytest.mark.parametrize(
    ("on_error", "changed"),
    [
        (OnError.ROLLBACK, ["a", "b"]),
        (OnError.CONTINUE, ["a!", "b!"]),
        (OnError.STOP, ["a!", "b"]),
    ],
)
async def test_a_batch_of_changes_does_what_is_asked_when_one_is_missing(
    store: OwnedMemory, on_error: OnError, changed: list[str]
) -> None:
    ids = (await store.add_many([MemoryDraft(content=one) for one in "ab"])).ids
    changes = [
        MemoryChange(id=ids[0], content="a!"),
        MemoryChange(id=str(uuid4()), content="x"),
        MemoryChange(id=ids[1], content="b!"),
    ]

    result = await store.update_many(changes, on_error=on_error)

    assert await listed(store) == changed
    assert result.errors == (BatchError(index=1, code="not-found", reason=result.errors[0].reason),)


async def test_every_bad_change_of_a_batch_that_is_undone_is_named(store: OwnedMemory) -> None:
    entry = await store.add(GOOD)
    changes = [
        MemoryChange(id=str(uuid4()), content="x"),
        MemoryChange(id=entry.id, content="changed"),
        MemoryChange(id=entry.id, content=" "),
    ]

    result = await store.update_many(changes, on_error=OnError.ROLLBACK)

    assert [(error.index, error.code) for error in result.errors] == [
        (0, "not-found"),
        (2, "invalid-arguments"),
    ]
    assert await listed(store) == ["good"]


async def test_sixty_four_batches_with_failures_lose_nobodys_write(store: OwnedMemory) -> None:
    kinds = list(OnError)

    async def write(task: int) -> int:
        on_error = kinds[task % 3]
        drafts = [MemoryDraft(content=f"{task}.{number}") for number in range(6)]
        if task % 2:
            drafts[4] = BAD
        if task % 5 == 0:
            await store.add(MemoryDraft(content=f"{task} alone"))
        if task % 7 == 0:
            with pytest.raises(MISSING):
                await store.update(MemoryChange(id=str(uuid4()), content="x"))
        return len((await store.add_many(drafts, on_error=on_error, key=f"{task}")).ids)

    counts = await asyncio.gather(*(write(task) for task in range(64)))

    expected = [{0: 0, 1: 5, 2: 4}[task % 3] if task % 2 else 6 for task in range(64)]
    alone = len(range(0, 64, 5))
    assert counts == expected
    assert (await store.list(limit=1)).total == sum(expected) + alone


async def test_an_entry_is_got_by_its_id_and_that_counts(store: OwnedMemory) -> None:
    entry = await store.add(GOOD)

    assert await store.get(entry.id) == entry
    await store.add(MemoryDraft(content="a later write"))

    (seen,) = await store.peek([entry.id])
    assert seen.access_count == 1
    assert seen.last_accessed_at is not None


async def test_peeking_is_in_order_and_counts_nothing(store: OwnedMemory) -> None:
    ids = (await store.add_many([MemoryDraft(content=one) for one in "abc"])).ids

    seen = await store.peek([ids[2], str(uuid4()), ids[0], ids[2]])

    assert [entry.content for entry in seen] == ["c", "a"]
    assert {entry.access_count for entry in await store.peek(ids)} == {0}


async def test_a_change_leaves_the_rest_as_it_is(store: OwnedMemory) -> None:
    draft = MemoryDraft(
        content="old", context="c", tags=("a",), metadata={"x": 1, "y": {"z": 2}}, confidence=0.5
    )
    entry = await store.add(draft)

    changed = await store.update(
        MemoryChange(id=entry.id, tags=("b", "c"), metadata={"y": 3, "n": None})
    )

    assert changed.tags == ("b", "c")
    assert dict(changed.metadata) == {"x": 1, "y": 3, "n": None}
    assert (changed.content, changed.context, changed.confidence) == ("old", "c", 0.5)
    assert changed.created_at == entry.created_at <= changed.updated_at
    assert (await store.list()).entries == (changed,)


async def test_changed_content_is_found_by_its_new_words_only(store: OwnedMemory) -> None:
    entry = await store.add(MemoryDraft(content="Ada likes tea"))

    await store.update(MemoryChange(id=entry.id, content="Ada likes cocoa"))

    assert await contents(store, "cocoa") == ["Ada likes cocoa"]
    assert await contents(store, "tea") == []


async def test_a_tier_brings_its_time_to_live(store: OwnedMemory) -> None:
    entry = await store.add(MemoryDraft(content="x", tier=Tier.SHORT_TERM))
    kept = await store.update(MemoryChange(id=entry.id, tier=Tier.LONG_TERM))
    fleeting = await store.update(MemoryChange(id=entry.id, tier=Tier.SHORT_TERM))

    assert entry.expires_at == entry.created_at + timedelta(days=1)
    assert kept.expires_at is None
    assert fleeting.expires_at == fleeting.updated_at + timedelta(days=1)


async def test_a_set_importance_stays_set_while_use_still_counts(store: OwnedMemory) -> None:
    entry = await store.add(GOOD)

    before = await store.set_importance(entry.id, 0.0, reason="trivial")
    await store.get(entry.id)
    again = await store.set_importance(entry.id, 0.9, reason="")

    (seen,) = await store.peek([entry.id])
    assert (before, again) == (0.5, 0.0)
    assert (seen.importance, seen.is_importance_set, seen.access_count) == (0.9, True, 1)


async def test_the_reason_of_an_importance_is_kept(store: OwnedMemory) -> None:
    entry = await store.add(GOOD)

    await store.set_importance(entry.id, 0.3, reason="said so")

    assert (await store.get(entry.id)).importance_reason == "said so"


async def test_a_memory_with_no_time_to_live_is_never_seen(store: OwnedMemory) -> None:
    entry = await store.add(MemoryDraft(content="gone at once", ttl_s=0))

    assert await listed(store) == []
    assert await contents(store, "gone") == []
    assert await store.peek([entry.id]) in ([], ())
    with pytest.raises(MISSING):
        await store.get(entry.id)
    with pytest.raises(MISSING):
        await store.update(MemoryChange(id=entry.id, content="x"))
    with pytest.raises(MISSING):
        await store.set_importance(entry.id, 0.5, reason="")
    assert list(await store.delete(MemoryFilter(), ids=[entry.id])) == []
    assert await store.forget([entry.id]) == 1


async def test_what_was_deleted_is_hidden(store: OwnedMemory) -> None:
    entry = await store.add(MemoryDraft(content="Ada likes tea"))

    assert list(await store.delete(MemoryFilter(), ids=[entry.id, str(uuid4())])) == [entry.id]

    assert await listed(store) == []
    assert await contents(store, "tea") == []
    assert list(await store.delete(MemoryFilter(), ids=[entry.id])) == []
    with pytest.raises(MISSING):
        await store.get(entry.id)
    assert (await store.add(MemoryDraft(content="Ada likes tea"))).id != entry.id


async def test_deleting_is_narrowed_by_every_condition(store: OwnedMemory) -> None:
    ids = [
        (await store.add(MemoryDraft(content=f"{tier} {tag}", tier=tier, tags=(tag,)))).id
        for tier in (Tier.WORKING, Tier.LONG_TERM)
        for tag in "ab"
    ]

    one = await store.delete(MemoryFilter(tier=Tier.WORKING), ids=[ids[0], ids[2]])
    rest = await store.delete(MemoryFilter(tags=("b",)))

    assert list(one) == [ids[0]]
    assert set(rest) == {ids[1], ids[3]}
    assert await listed(store) == ["long_term a"]


async def test_a_list_is_narrowed_by_every_condition(store: OwnedMemory) -> None:
    await store.add(
        MemoryDraft(
            content="all",
            category=Category.PATTERN,
            subject=ADA,
            session="s",
            tags=("a", "b"),
            tier=Tier.WORKING,
            content_type=ContentType.JSON,
        )
    )
    await store.add(MemoryDraft(content="none", tags=("a",)))

    for which in (
        MemoryFilter(category=Category.PATTERN),
        MemoryFilter(types=(MemoryType.PROCEDURAL, MemoryType.PROFILE)),
        MemoryFilter(subject=ADA),
        MemoryFilter(session="s"),
        MemoryFilter(tags=("b", "a")),
        MemoryFilter(tier=Tier.WORKING),
        MemoryFilter(content_type=ContentType.JSON),
    ):
        assert await listed(store, which) == ["all"]
        found = await store.search(
            MemoryQuery(text="all none", which=which, mode=SearchMode.KEYWORD)
        )
        assert [hit.entry.content for hit in found.hits] == ["all"]
    assert await listed(store, MemoryFilter(tags=("a",))) == ["all", "none"]
    assert await listed(store, MemoryFilter(tags=("%",))) == []


async def test_dates_of_any_offset_compare(store: OwnedMemory) -> None:
    entry = await store.add(GOOD)
    far_east = timezone(timedelta(hours=14))
    before = (entry.created_at - timedelta(seconds=1)).astimezone(far_east)
    after = (entry.created_at + timedelta(seconds=1)).astimezone(far_east)

    assert await listed(store, MemoryFilter(created_after=before, created_before=after)) == ["good"]
    assert await listed(store, MemoryFilter(created_after=after)) == []
    assert await listed(store, MemoryFilter(created_before=before)) == []


@pytest.mark.parametrize(
    ("which", "field"),
    [
        (MemoryFilter(created_after=datetime(2026, 1, 1)), "created_after"),
        (MemoryFilter(created_before=datetime(2026, 1, 1)), "created_before"),
        (MemoryFilter(as_of=datetime(2026, 1, 1)), "as_of"),
    ],
)
async def test_a_date_without_an_offset_is_refused_by_field(
    store: OwnedMemory, which: MemoryFilter, field: str
) -> None:
    with pytest.raises(REFUSED, match=field):
        await store.list(which)
    with pytest.raises(REFUSED, match=field):
        await store.search(MemoryQuery(text="x", which=which))


async def test_what_is_no_longer_true_is_found_as_of_then(store: OwnedMemory) -> None:
    then = datetime(2020, 1, 1, tzinfo=UTC)
    old = await store.add(MemoryDraft(content="Ada lives in York", valid_at=then))
    await store.add(MemoryDraft(content="Ada lives in Bath", valid_at=then + timedelta(days=900)))

    await store.update(MemoryChange(id=old.id, invalid_at=then + timedelta(days=900)))

    assert await contents(store, "where does Ada live") == ["Ada lives in Bath"]
    assert await listed(store) == ["Ada lives in Bath"]
    as_of = MemoryFilter(as_of=then + timedelta(days=100))
    assert await listed(store, as_of) == ["Ada lives in York"]
    found = await store.search(MemoryQuery(text="where does Ada live", which=as_of))
    assert [hit.entry.content for hit in found.hits] == ["Ada lives in York"]
    assert (await store.get(old.id)).invalid_at == then + timedelta(days=900)


async def test_what_was_closed_can_be_learned_anew(store: OwnedMemory) -> None:
    old = await store.add(GOOD)
    await store.update(MemoryChange(id=old.id, invalid_at=old.created_at))

    assert (await store.add(GOOD)).id != old.id


async def test_one_stands_for_several(store: OwnedMemory) -> None:
    ids = (await store.add_many([MemoryDraft(content=one) for one in ("tea", "milk")])).ids

    one = await store.replace(ids, MemoryDraft(content="tea and milk"), keep=False, key="k")
    again = await store.replace(ids, MemoryDraft(content="tea and milk"), keep=False, key="k")

    assert one.id == again.id
    assert one.sources == ids
    assert await listed(store) == ["tea and milk"]


async def test_nothing_is_replaced_if_one_is_missing(store: OwnedMemory) -> None:
    entry = await store.add(GOOD)

    with pytest.raises(MISSING):
        await store.replace([entry.id, str(uuid4())], MemoryDraft(content="all"), keep=False)

    assert await listed(store) == ["good"]


async def test_one_takes_the_others_in(store: OwnedMemory) -> None:
    into = await store.add(MemoryDraft(content="tea", tags=("a",), metadata={"x": 1}))
    other = await store.add(
        MemoryDraft(content="green tea", tags=("b",), metadata={"x": 2, "y": 3}, importance=0.8)
    )
    await store.get(other.id)

    merged = await store.merge(into.id, [other.id])

    assert (merged.id, merged.content, merged.tags) == (into.id, "tea", ("a", "b"))
    assert dict(merged.metadata) == {"x": 1, "y": 3}
    assert (merged.importance, merged.access_count) == (0.8, 1)
    assert await listed(store) == ["tea"]
    with pytest.raises(MISSING):
        await store.merge(into.id, [other.id])


async def test_memories_about_two_people_are_not_merged(store: OwnedMemory) -> None:
    ids = [(await store.add(MemoryDraft(content="x", subject=one))).id for one in (ADA, BOB)]

    with pytest.raises(REFUSED, match="subject"):
        await store.merge(ids[0], ids[1:])


async def test_an_unknown_id_is_not_found_and_a_malformed_one_refused(store: OwnedMemory) -> None:
    unknown = str(uuid4())
    for ask in (
        lambda id: store.get(id),
        lambda id: store.update(MemoryChange(id=id, content="x")),
        lambda id: store.set_importance(id, 0.5, reason=""),
        lambda id: store.similar(id),
        lambda id: store.links(id),
        lambda id: store.episode_messages(id),
        lambda id: store.merge(id, []),
    ):
        with pytest.raises(MISSING) as missing:
            await ask(unknown)
        with pytest.raises(REFUSED, match="UUID") as malformed:
            await ask("%")
        assert code_of(missing.value) == "not-found"
        assert code_of(malformed.value) == "invalid-arguments"
    await store.reviewed([unknown])
    assert await store.forget([unknown]) == 0


async def test_a_session_is_counted_and_removed(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="semantic", session="s"))
    await store.add(MemoryDraft(content="elsewhere", session="t"))
    await store.add(MemoryDraft(content="episode", session="s", type=MemoryType.EPISODIC))
    await store.observe("s", [said("1", "12345678"), said("2", "123")])

    stats = await store.stats("s")
    cleared = await store.forget_session("s")

    assert (stats.messages, stats.message_tokens) == (2, 3)
    assert dict(stats.by_type) == {MemoryType.SEMANTIC: 1, MemoryType.EPISODIC: 1}
    assert cleared.messages == 2
    assert dict(cleared.by_type) == {MemoryType.SEMANTIC: 1, MemoryType.EPISODIC: 1}
    assert list(await store.history("s")) == []
    assert await listed(store) == ["elsewhere"]
    assert (await store.stats()).messages == 0


async def test_forgetting_a_memory_removes_the_message_that_says_the_same(
    store: OwnedMemory,
) -> None:
    entry = await store.add(MemoryDraft(content="my PIN is 4711"))
    await store.observe("c", [said("1", "my PIN is 4711"), said("2", "noted")])

    await store.forget([entry.id])

    assert [message.id for message in await store.history("c")] == ["2"]


async def test_forgetting_a_memory_removes_what_a_person_said_in_its_words_among_others(
    store: OwnedMemory,
) -> None:
    entry = await store.add(MemoryDraft(content="My name is Ana.", subject=ADA))
    short = await store.add(MemoryDraft(content="tea", subject=ADA))
    hers = [said("1", "Hello! my name is Ana and I row."), said("2", "What is my name? Tea?")]
    await store.observe("a", hers, subject=ADA)
    await store.observe("b", [said("3", "Hello! My name is Ana, too.")], subject=BOB)

    await store.forget([entry.id, short.id])

    assert [message.id for message in await store.history("a")] == ["2"]
    assert [message.id for message in await store.history("b")] == ["3"]


async def test_a_message_keeps_its_speaker_and_what_it_was_written_with(store: OwnedMemory) -> None:
    message = replace(said("1"), speaker="Ada", recalled=(str(uuid4()), str(uuid4())))

    await store.observe("c", [message])

    assert list(await store.history("c")) == [message]


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (MemoryDraft(content="x", ttl_s=-1), "ttl_s"),
        (MemoryDraft(content="x", importance=1.5), "importance"),
        (MemoryDraft(content="x", surprise=-0.5), "surprise"),
        (MemoryDraft(content="x", sources=("nothing",)), "sources"),
        (MemoryDraft(content="x", valid_at=datetime(2026, 1, 1)), "valid_at"),
    ],
)
async def test_a_field_out_of_range_is_refused(
    store: OwnedMemory, draft: MemoryDraft, field: str
) -> None:
    with pytest.raises(REFUSED, match=field):
        await store.add(draft)


async def test_the_same_question_has_the_same_answer(store: OwnedMemory) -> None:
    await store.add_many([MemoryDraft(content=f"tea {number}") for number in range(30)])

    first = await contents(store, "tea 3")

    assert await contents(store, "tea 3") == first


BEFORE_THE_FIRST_YEAR = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))


async def test_a_date_that_no_calendar_of_utc_has_is_refused_and_the_memory_goes_on(
    store: OwnedMemory,
) -> None:
    entry = await store.add(MemoryDraft(content="tea"))
    early = replace(said("m1"), at=BEFORE_THE_FIRST_YEAR)

    with pytest.raises(REFUSED, match="valid_at"):
        await store.add(MemoryDraft(content="old", valid_at=BEFORE_THE_FIRST_YEAR))
    with pytest.raises(REFUSED, match="invalid_at"):
        await store.update(MemoryChange(id=entry.id, invalid_at=BEFORE_THE_FIRST_YEAR))
    with pytest.raises(REFUSED, match="at must"):
        await store.observe("talk", [early])

    assert (await store.add(MemoryDraft(content="milk"))).content == "milk"


async def test_half_a_character_in_a_relation_is_refused_and_the_memory_goes_on(
    store: OwnedMemory,
) -> None:
    one, two = [await store.add(MemoryDraft(content=text)) for text in ("tea", "milk")]

    with pytest.raises(REFUSED, match="Unicode"):
        await store.unlink(one.id, two.id, relation="\ud800")
    with pytest.raises(REFUSED, match="Unicode"):
        await store.search(MemoryQuery(text="tea \ud800"))

    assert (await store.add(MemoryDraft(content="bread"))).content == "bread"


async def test_deleting_asks_not_what_is_still_true(store: OwnedMemory) -> None:
    closed = await store.add(MemoryDraft(content="Ada lives in Rome", subject=ADA))
    await store.update(MemoryChange(id=closed.id, invalid_at=closed.created_at))

    assert list(await store.delete(MemoryFilter(subject=ADA))) == [closed.id]


async def test_deleting_stops_at_its_limit(store: OwnedMemory) -> None:
    await store.add_many([GOOD] * 5)

    assert len(await store.delete(MemoryFilter(), limit=2)) == 2
    assert len(await store.delete(MemoryFilter())) == 3


async def test_forgetting_a_memory_of_dots_forgets_nothing_else_of_the_person(
    store: OwnedMemory,
) -> None:
    await store.observe("c", [said("1", "I like tea")], subject=ADA)
    entry = await store.add(MemoryDraft(content="..........", subject=ADA))

    assert await store.forget([entry.id]) == 1

    assert [message.id for message in await store.history("c")] == ["1"]
