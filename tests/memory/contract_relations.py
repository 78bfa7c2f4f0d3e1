"""What every LinkStore, GrantStore and DecayStore promises, near or far.

Imported by the modules that import contract.py, which have two fixtures more: `owner` and `other`,
the JIDs that `store` and `other_store` belong to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from spade_llm.core.errors import InvalidArguments, NotFound, RequestRefused, Unauthorised
from spade_llm.memory import MemoryDraft, OwnedMemory, Tier
from spade_llm.memory.contract import DecayPolicy, MemoryAccess, MemoryChange, SearchOutcome
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, SearchMode
from tests.memory.contract import contents, said
from tests.memory.contract_changes import code_of, listed

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = ("tea", "milk", "oats")
REFUSED = (InvalidArguments, RequestRefused)
DENIED = (Unauthorised, NotFound, RequestRefused)


@pytest.fixture
def theirs(owner: str) -> MemoryFilter:
    return MemoryFilter(of=owner)


async def searched(
    store: OwnedMemory, theirs: MemoryFilter, text: str
) -> tuple[SearchOutcome, list[str]]:
    query = MemoryQuery(text=text, which=theirs, mode=SearchMode.KEYWORD)
    found = await store.search(query)
    return found.outcome, [hit.entry.content for hit in found.hits]


async def three(store: OwnedMemory) -> list[str]:
    return list((await store.add_many([MemoryDraft(content=one) for one in WORDS])).ids)


async def test_links_are_seen_from_both_ends(store: OwnedMemory) -> None:
    one, two, three_ = await three(store)

    link = await store.link(one, two, relation="follows")
    other = await store.link(three_, one)

    assert (link.source, link.target, link.relation) == (one, two, "follows")
    assert list(await store.links(one)) == [link, other]
    assert list(await store.links(two)) == [link]


async def test_the_same_link_is_there_once(store: OwnedMemory) -> None:
    one, two, _ = await three(store)

    assert await store.link(one, two) == await store.link(one, two)
    assert len(await store.links(one)) == 1


async def test_links_are_removed_in_either_direction(store: OwnedMemory) -> None:
    one, two, _ = await three(store)
    await store.link(one, two)
    await store.link(two, one, relation="follows")

    assert await store.unlink(two, one, relation="related") == 1
    assert await store.unlink(one, two) == 1
    assert await store.unlink(one, two) == 0


async def test_what_is_hidden_or_gone_has_no_links(store: OwnedMemory) -> None:
    one, two, three_ = await three(store)
    await store.link(one, two)
    await store.link(one, three_)

    await store.delete(MemoryFilter(), ids=[two])
    await store.forget([three_])

    assert list(await store.links(one)) == []


async def test_a_memory_is_not_linked_to_itself_or_to_nothing(store: OwnedMemory) -> None:
    one, *_ = await three(store)

    with pytest.raises(REFUSED):
        await store.link(one, one)
    with pytest.raises((NotFound, RequestRefused)):
        await store.link(one, str(uuid4()))
    with pytest.raises(REFUSED, match="relation"):
        await store.link(one, str(uuid4()), relation="")


async def test_nothing_of_another_is_seen_without_a_grant(
    store: OwnedMemory, other_store: OwnedMemory, theirs: MemoryFilter
) -> None:
    one, two, _ = await three(store)
    own = await other_store.add(MemoryDraft(content="mine"))

    assert await searched(other_store, theirs, "tea milk oats") == (SearchOutcome.DENIED, [])
    for ask in (
        lambda: other_store.list(theirs),
        lambda: other_store.delete(theirs),
        lambda: other_store.delete(theirs, ids=[one]),
    ):
        with pytest.raises(DENIED) as refusal:
            await ask()
        assert code_of(refusal.value) == "unauthorised"
    for ask_for in (
        lambda id: other_store.get(id),
        lambda id: other_store.update(MemoryChange(id=id, content="x")),
        lambda id: other_store.set_importance(id, 1, reason=""),
        lambda id: other_store.similar(id),
        lambda id: other_store.link(own.id, id),
        lambda id: other_store.merge(own.id, [id]),
        lambda id: other_store.replace([id], MemoryDraft(content="x"), keep=False),
    ):
        texts = []
        for id in (one, str(uuid4())):
            with pytest.raises(DENIED) as foreign:
                await ask_for(id)
            assert code_of(foreign.value) == "not-found"
            texts.append(str(foreign.value).replace(id, "ID"))
        assert texts[0] == texts[1]
    assert list(await other_store.peek([one])) == []
    assert list(await other_store.delete(MemoryFilter(), ids=[one])) == []
    assert await other_store.forget([one, two]) == 0
    assert await listed(store) == list(WORDS)


async def test_an_unknown_owner_is_denied_like_one_who_granted_nothing(
    store: OwnedMemory, other_store: OwnedMemory
) -> None:
    await three(store)
    nobody = MemoryFilter(of="nobody@localhost")

    found = await other_store.search(MemoryQuery(text="a", which=nobody))

    assert found.outcome is SearchOutcome.DENIED
    with pytest.raises(DENIED):
        await other_store.list(nobody)


def domain_of(jid: str) -> str:
    return jid.partition("@")[2]


@pytest.mark.parametrize("named", [str.lower, str.upper, domain_of])
async def test_who_was_granted_to_read_reads_and_does_not_write(
    store: OwnedMemory,
    other_store: OwnedMemory,
    other: str,
    theirs: MemoryFilter,
    named: Callable[[str], str],
) -> None:
    one, *_ = await three(store)

    await store.grant(named(other))

    assert await listed(other_store, theirs) == list(WORDS)
    assert (await searched(other_store, theirs, "tea"))[1] == ["tea"]
    assert (await other_store.get(one)).content == "tea"
    for ask in (
        lambda: other_store.update(MemoryChange(id=one, content="x")),
        lambda: other_store.set_importance(one, 1, reason=""),
        lambda: other_store.delete(theirs, ids=[one]),
    ):
        with pytest.raises(DENIED) as refusal:
            await ask()
        assert code_of(refusal.value) == "unauthorised"
    assert await other_store.forget([one]) == 0
    assert await listed(other_store) == []


async def test_who_was_granted_to_write_corrects_deletes_and_forgets(
    store: OwnedMemory, other_store: OwnedMemory, other: str, theirs: MemoryFilter
) -> None:
    one, two, three_ = await three(store)

    await store.grant(other, access=MemoryAccess.WRITE)

    await other_store.update(MemoryChange(id=one, content="corrected"))
    await other_store.set_importance(one, 0.9, reason="")
    assert list(await other_store.delete(theirs, ids=[two])) == [two]
    assert await other_store.forget([three_]) == 1
    assert await listed(store) == ["corrected"]


async def test_who_may_write_a_tag_forgets_nothing_that_was_said_elsewhere(
    store: OwnedMemory, other_store: OwnedMemory, other: str
) -> None:
    await store.observe("private", [said("1", "the pin is 1234")])
    await store.observe("common", [said("2", "the door is 77")])
    tagged = await store.add(MemoryDraft(content="x", tags=("shared",)))
    of_session = await store.add(MemoryDraft(content="y", session="common"))
    await store.grant(other, access=MemoryAccess.WRITE, tag="shared")
    await store.grant(other, access=MemoryAccess.WRITE, session="common")

    for id, text in ((tagged.id, "the pin is 1234"), (of_session.id, "the door is 77")):
        await other_store.update(MemoryChange(id=id, content=text))
        assert await other_store.forget([id]) == 1

    assert len(await store.history("private")) == 1
    assert len(await store.history("common")) == 0


async def test_a_grant_of_a_tag_or_a_session_shows_no_more(
    store: OwnedMemory, other_store: OwnedMemory, other: str, theirs: MemoryFilter
) -> None:
    await store.add(MemoryDraft(content="tea one", tags=("shared",)))
    await store.add(MemoryDraft(content="tea two", session="s"))
    hidden = await store.add(MemoryDraft(content="tea three"))

    await store.grant(other, tag="shared")
    by_tag = await listed(other_store, theirs)
    await store.grant(other, session="s")

    assert by_tag == ["tea one"]
    assert await listed(other_store, theirs) == ["tea one", "tea two"]
    assert sorted((await searched(other_store, theirs, "tea"))[1]) == ["tea one", "tea two"]
    with pytest.raises(DENIED):
        await other_store.get(hidden.id)


async def test_what_was_revoked_is_not_seen_any_more(
    store: OwnedMemory, other_store: OwnedMemory, other: str, theirs: MemoryFilter
) -> None:
    await three(store)
    grant = await store.grant(other)

    assert await other_store.revoke(grant.id) is False
    assert await store.revoke(grant.id) is True
    assert await store.revoke(grant.id) is False

    assert await searched(other_store, theirs, "tea") == (SearchOutcome.DENIED, [])
    assert list(await store.grants()) == []


async def test_the_same_grant_is_there_once(store: OwnedMemory, other: str) -> None:
    first = await store.grant(other, tag="t")
    again = await store.grant(other, tag="t")
    wider = await store.grant(other)

    assert again == first
    assert list(await store.grants()) == [first, wider]


@pytest.mark.parametrize("to", ["", "@localhost", "a@", "a@b/c", "*", "%@localhost"])
async def test_a_grant_is_to_a_bare_jid_or_a_domain(store: OwnedMemory, to: str) -> None:
    with pytest.raises(REFUSED, match="to"):
        await store.grant(to)


async def test_nobody_grants_to_themselves(store: OwnedMemory, owner: str) -> None:
    with pytest.raises(REFUSED, match="to"):
        await store.grant(owner)


async def test_nothing_decays_until_it_is_configured(store: OwnedMemory) -> None:
    await store.add(MemoryDraft(content="x", tier=Tier.WORKING))

    assert list(await store.run_decay(dry_run=False)) == []
    assert (await store.decay_status()).policy == DecayPolicy()


async def test_what_decays_is_what_the_policy_says(store: OwnedMemory) -> None:
    policy = DecayPolicy(
        is_enabled=True, older_than_s=0, below_importance=0.3, tiers=(Tier.WORKING,)
    )
    fading = await store.add(MemoryDraft(content="fading tea", tier=Tier.WORKING, importance=0.1))
    for draft in (
        MemoryDraft(content="important", tier=Tier.WORKING, importance=0.9),
        MemoryDraft(content="long", tier=Tier.LONG_TERM, importance=0.1),
    ):
        await store.add(draft)

    status = await store.configure_decay(policy)
    would = list(await store.run_decay())
    seen_before = await listed(store)
    done = list(await store.run_decay(dry_run=False))

    assert (status.policy, status.due, status.last_run_at) == (policy, 1, None)
    assert would == done == [fading.id]
    assert len(seen_before) == 3
    assert await listed(store) == ["important", "long"]
    assert await contents(store, "fading") == []
    after = await store.decay_status()
    assert (after.last_deleted, after.due) == (1, 0)
    assert after.last_run_at is not None
