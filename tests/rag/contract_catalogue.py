"""What every Catalogue and Sharing promises, local or remote: beside the Library's contract.py."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import pytest

from spade_llm.core.errors import RequestRefused, ServiceError
from spade_llm.rag import Access, Catalogue, Document, Library, Progress, RetrievalOptions, Sharing
from spade_llm.rag.names import personal_namespace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator


class Documents(Library, Catalogue, Sharing, Protocol):
    """All that an owner has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueCase:
    mine: Documents
    others: Documents
    """Of another owner, in the same store."""
    mine_jid: str
    others_jid: str
    has_embeddings: bool = True


NOT_FOUND, UNAUTHORISED, INVALID = "not-found", "unauthorised", "invalid-arguments"

TIDES = Document(text="The tide turns at noon in the northern bay.", source="tides.md")


@contextmanager
def refused(code: str) -> Iterator[list[str]]:
    """The same refusal, near and far; its text is in the list afterwards."""
    said: list[str] = []
    with pytest.raises((ServiceError, RequestRefused)) as caught:
        yield said
    error = caught.value
    assert (error.wire_code if isinstance(error, RequestRefused) else error.code) == code
    said.append(str(error))


async def namespaces_are_listed_with_what_they_hold(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    for source in ("h.md", "o.md"):
        await case.mine.ingest(Document(text=source, source=source, namespace="birds"))
    await case.others.ingest(TIDES)

    listed = await case.mine.namespaces()

    assert [(one.name, one.documents, one.chunks, one.access) for one in listed] == [
        ("birds", 2, 2, Access.WRITE),
        ("default", 1, 1, Access.WRITE),
    ]


async def the_figures_of_a_namespace_are_its_own(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.others.ingest(TIDES)

    stats = await case.mine.stats("default")

    assert (stats.name, stats.exists, stats.documents, stats.chunks) == ("default", True, 1, 1)
    assert stats.vectors == (1 if case.has_embeddings else 0)
    assert (stats.model is not None) == (stats.dimension is not None) == case.has_embeddings


async def a_namespace_that_is_not_there_has_zeros(case: CatalogueCase) -> None:
    stats = await case.mine.stats("elsewhere")

    assert (stats.exists, stats.documents, stats.vectors, stats.updated_at) == (False, 0, 0, None)


async def documents_are_listed_page_by_page(case: CatalogueCase) -> None:
    for number in range(5):
        metadata = {"number": number}
        await case.mine.ingest(Document(text="x", source=f"{number}.md", metadata=metadata))
    await case.mine.ingest(Document(text="y", source="0.md", namespace="birds"))

    first = await case.mine.documents(limit=4)
    last = await case.mine.documents(limit=4, offset=4)
    some = await case.mine.documents(namespace="default", limit=2, offset=1)

    assert [(one.namespace, one.source) for one in first.documents + last.documents] == [
        ("birds", "0.md"),
        *(("default", f"{number}.md") for number in range(5)),
    ]
    assert (first.total, first.limit, first.offset, first.has_more) == (6, 4, 0, True)
    assert (last.total, last.offset, last.has_more) == (6, 4, False)
    assert [one.metadata["number"] for one in some.documents] == [1, 2]
    assert (some.total, some.has_more) == (5, True)


async def a_page_beyond_the_end_is_empty(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)

    page = await case.mine.documents(offset=10)

    assert (page.documents, page.total, page.has_more) == ((), 1, False)


async def pages_are_bounded(case: CatalogueCase) -> None:
    for limit, offset in ((0, 0), (1001, 0), (-1, 0), (10, -1)):
        with refused(INVALID):
            await case.mine.documents(limit=limit, offset=offset)


async def the_documents_of_no_namespace_are_not_found(case: CatalogueCase) -> None:
    with refused(NOT_FOUND):
        await case.mine.documents(namespace="elsewhere")


async def a_document_keeps_its_id_and_counts_its_versions(case: CatalogueCase) -> None:
    first = await case.mine.ingest(TIDES)
    same = await case.mine.ingest(TIDES)
    changed = await case.mine.ingest(Document(text="The tide turned.", source="tides.md"))
    elsewhere = await case.mine.ingest(Document(text="x", source="tides.md", namespace="b"))
    theirs = await case.others.ingest(TIDES)

    assert (first.version, same.version, changed.version) == (1, 1, 2)
    assert first.id == same.id == changed.id
    assert len({first.id, elsewhere.id, theirs.id}) == 3
    (listed,) = (await case.mine.documents(namespace="default")).documents
    assert (listed.id, listed.version) == (first.id, 2)


async def a_chunk_tells_page_document_and_metadata(case: CatalogueCase) -> None:
    pages = ["Herons fish at dawn. " * 60, "Owls hunt at midnight. " * 60]
    done = await case.mine.ingest(
        Document(
            text="".join(pages),
            source="birds.pdf",
            metadata={"year": 2024, "is_draft": False, "shelf": 1.5, "place": "Höfn"},
            page_starts=(0, len(pages[0])),
        )
    )

    options = RetrievalOptions(merge_neighbours=False)
    found = await case.mine.retrieve("When do owls hunt?", k=1, options=options)

    chunk = found.chunks[0].chunk
    assert chunk.page == 2
    assert chunk.document == done.id
    assert chunk.metadata == {"year": 2024, "is_draft": False, "shelf": 1.5, "place": "Höfn"}


async def a_deleted_document_is_not_found_any_more(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.mine.ingest(Document(text="Herons fish at dawn.", source="h.md"))

    assert await case.mine.delete(namespace="default", source="tides.md") == 1

    assert (await case.mine.retrieve("tide turns noon")).chunks == ()
    with refused(NOT_FOUND):
        await case.mine.delete(namespace="default", source="tides.md")
    assert [one.source for one in (await case.mine.documents()).documents] == ["h.md"]


async def a_deleted_namespace_is_gone_with_all_of_it(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.mine.ingest(Document(text="Herons fish at dawn.", source="h.md"))
    await case.mine.grant("default", to=case.others_jid)

    assert await case.mine.delete(namespace="default") == 2

    assert (await case.mine.retrieve("tide turns noon")).chunks == ()
    assert list(await case.mine.namespaces()) == []
    assert list(await case.mine.grants()) == []
    with refused(NOT_FOUND):
        await case.mine.delete(namespace="default")


async def a_namespace_made_again_is_granted_to_nobody(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.mine.grant("default", to=case.others_jid)
    await case.mine.delete(namespace="default")
    await case.mine.ingest(TIDES)

    with refused(UNAUTHORISED):
        await case.others.stats(f"{case.mine_jid}/default")


async def deleting_leaves_what_another_owner_has_of_the_same_name(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.others.ingest(TIDES)

    await case.mine.delete(namespace="default")

    assert len((await case.others.retrieve("tide turns noon")).chunks) == 1


async def who_may_read_finds_what_was_granted_under_its_address(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.others.ingest(Document(text="Herons fish at noon.", source="h.md"))
    await case.mine.grant("default", to=case.others_jid)
    address = f"{case.mine_jid}/default"

    everywhere = await case.others.retrieve("noon", k=5)
    there = await case.others.retrieve("noon", options=RetrievalOptions(namespaces=(address,)))

    assert {(one.chunk.namespace, one.chunk.source) for one in everywhere.chunks} == {
        ("default", "h.md"),
        (address, "tides.md"),
    }
    assert [one.chunk.namespace for one in there.chunks] == [address]
    assert [(one.name, one.access) for one in await case.others.namespaces()] == [
        ("default", Access.WRITE),
        (address, Access.READ),
    ]
    assert (await case.others.stats(address)).documents == 1
    (listed,) = (await case.others.documents(namespace=address)).documents
    assert (listed.namespace, listed.source) == (address, "tides.md")


async def of_what_was_granted_only_the_trusted_is_found(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.others.ingest(Document(text="Herons fish at noon.", source="h.md"))
    await case.mine.grant("default", to=case.others_jid)

    async def sources(*shared: str) -> list[str]:
        options = RetrievalOptions(shared=shared)
        found = await case.others.retrieve("noon", options=options)
        return sorted(one.chunk.source for one in found.chunks)

    assert await sources() == ["h.md"]
    assert await sources("someone@else.example", f"{case.mine_jid}/other") == ["h.md"]
    assert await sources(case.mine_jid) == ["h.md", "tides.md"]
    assert await sources(f"{case.mine_jid}/default") == ["h.md", "tides.md"]


async def documents_without_a_namespace_are_ours_alone(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.mine.grant("default", to=case.others_jid)

    assert (await case.others.documents()).total == 0


async def who_may_read_may_not_write(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.mine.grant("default", to=case.others_jid)
    address = f"{case.mine_jid}/default"

    with refused(UNAUTHORISED):
        await case.others.ingest(Document(text="x", source="x.md", namespace=address))
    with refused(UNAUTHORISED):
        await case.others.delete(namespace=address, source="tides.md")
    with refused(UNAUTHORISED):
        await case.others.ingest_path("x", namespace=address)
    assert (await case.mine.documents()).total == 1


async def who_may_write_may_not_do_what_is_the_owners(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.mine.grant("default", to=case.others_jid, access=Access.WRITE)
    address = f"{case.mine_jid}/default"

    done = await case.others.ingest(Document(text="Herons.", source="h.md", namespace=address))
    removed = await case.others.delete(namespace=address, source="tides.md")

    assert (done.namespace, removed) == (address, 1)
    assert [one.source for one in (await case.mine.documents()).documents] == ["h.md"]
    assert (await case.others.documents()).total == 0
    with refused(UNAUTHORISED):
        await case.others.delete(namespace=address)
    with refused(UNAUTHORISED):
        await case.others.reindex(namespace=address)
    with refused(UNAUTHORISED):
        await case.others.grant(address, to="eve@elsewhere")
    with refused(UNAUTHORISED):
        await case.others.revoke(address, to=case.others_jid)


async def a_revoked_grant_holds_no_longer(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.mine.grant("default", to=case.others_jid)
    address = f"{case.mine_jid}/default"
    assert len((await case.others.retrieve("tide turns noon")).chunks) == 1

    assert await case.mine.revoke("default", to=case.others_jid)

    assert (await case.others.retrieve("tide turns noon")).chunks == ()
    with refused(UNAUTHORISED):
        await case.others.retrieve("tide", options=RetrievalOptions(namespaces=(address,)))
    assert list(await case.others.namespaces()) == []
    assert not await case.mine.revoke("default", to=case.others_jid)


async def a_domain_can_be_let_in(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.mine.grant("default", to=case.others_jid.rpartition("@")[2])

    found = await case.others.retrieve("tide turns noon")

    assert [one.chunk.namespace for one in found.chunks] == [f"{case.mine_jid}/default"]


async def granted_again_with_another_access_that_one_holds(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)
    await case.mine.grant("default", to=case.others_jid.upper(), access=Access.WRITE)
    await case.mine.grant("default", to=case.others_jid)

    (grant,) = await case.mine.grants()

    assert (grant.namespace, grant.to, grant.access) == ("default", case.others_jid, Access.READ)
    with refused(UNAUTHORISED):
        await case.others.ingest(
            Document(text="x", source="x", namespace=f"{case.mine_jid}/default")
        )


async def only_what_is_there_is_granted_and_to_somebody_else(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)

    with refused(NOT_FOUND):
        await case.mine.grant("elsewhere", to=case.others_jid)
    with refused(NOT_FOUND):
        await case.mine.revoke("elsewhere", to=case.others_jid)
    for to in ("", "a b@c", "@home", "ann@", "a@b/phone", case.mine_jid, "x@" + "y" * 2000):
        with refused(INVALID):
            await case.mine.grant("default", to=to)
    assert list(await case.mine.grants()) == []


async def what_is_not_there_and_what_is_not_ours_look_alike(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)

    ours = await _what_a_stranger_is_told(case.others, f"{case.mine_jid}/default")
    absent = await _what_a_stranger_is_told(case.others, f"{case.mine_jid}/absent")

    assert [text.replace("default", "absent") for text in ours] == absent


async def _what_a_stranger_is_told(stranger: Documents, address: str) -> list[str]:
    document = Document(text="x", source="x", namespace=address)
    said = []
    for attempt in (
        stranger.retrieve("tide", options=RetrievalOptions(namespaces=(address,))),
        stranger.stats(address),
        stranger.documents(namespace=address),
        stranger.delete(namespace=address),
        stranger.delete(namespace=address, source="tides.md"),
        stranger.ingest(document),
        stranger.ingest_path("x", namespace=address),
        stranger.reindex(namespace=address),
        stranger.grant(address, to="eve@elsewhere"),
        stranger.revoke(address, to="eve@elsewhere"),
    ):
        with refused(UNAUTHORISED) as texts:
            await attempt
        said += texts
    return said


async def an_address_of_our_own_is_the_name(case: CatalogueCase) -> None:
    await case.mine.ingest(
        Document(text="Herons.", source="h.md", namespace=f"{case.mine_jid}/birds")
    )

    (listed,) = await case.mine.namespaces()

    assert listed.name == "birds"
    assert (await case.mine.stats(f"{case.mine_jid.upper()}/birds")).documents == 1


async def a_name_that_is_none_is_a_clear_error_everywhere(case: CatalogueCase) -> None:
    for name in ("../x", "..", "", "a b", "x/y", "x@y/", "/x", "x@y/../z", "a@b@c/x", "x" * 65):
        for call in (
            case.mine.stats,
            lambda name: case.mine.documents(namespace=name),
            lambda name: case.mine.delete(namespace=name),
            lambda name: case.mine.reindex(namespace=name),
            lambda name: case.mine.grant(name, to=case.others_jid),
            lambda name: case.mine.revoke(name, to=case.others_jid),
        ):
            with refused(INVALID) as said:
                await call(name)
            assert "namespace" in said[0]


async def what_was_reindexed_is_found_as_before(case: CatalogueCase) -> None:
    for number in range(7):
        text = f"Lighthouse log of zulu{number}."
        await case.mine.ingest(Document(text=text, source=f"{number}.md"))
    seen: list[Progress] = []

    async def see(progress: Progress) -> None:
        seen.append(progress)

    if not case.has_embeddings:
        with refused(INVALID):
            await case.mine.reindex()
        return
    assert await case.mine.reindex(on_progress=see) == 7

    found = await case.mine.retrieve("lighthouse zulu5", k=1)
    assert [one.chunk.source for one in found.chunks] == ["5.md"]
    assert (seen[-1].done, seen[-1].total, seen[-1].chunks) == (7, 7, 7)
    assert (await case.mine.stats("default")).vectors == 7


async def what_is_not_there_is_not_reindexed(case: CatalogueCase) -> None:
    with refused(NOT_FOUND):
        await case.mine.reindex(namespace="elsewhere")


async def the_stranger_finds_nothing(case: CatalogueCase) -> None:
    await case.mine.ingest(TIDES)

    assert (await case.others.retrieve("tide turns noon", k=20)).chunks == ()
    assert list(await case.others.namespaces()) == []
    assert (await case.others.documents()).total == 0
    assert not (await case.others.stats("default")).exists


async def what_one_person_gave_is_found_only_where_it_is_named(case: CatalogueCase) -> None:
    ann, bob = personal_namespace("ann@home"), personal_namespace("bob@home")
    await case.mine.ingest(TIDES)
    await case.mine.ingest(replace(TIDES, text="Ann swims at high tide.", namespace=ann))
    await case.mine.ingest(replace(TIDES, text="Bob drowns at low tide.", namespace=bob))

    async def found(options: RetrievalOptions | None = None) -> set[str]:
        answer = await case.mine.retrieve("tide", k=20, options=options)
        return {one.chunk.namespace for one in answer.chunks}

    assert await found() == {"default"}
    assert await found(RetrievalOptions(personal=ann)) == {"default", ann}
    assert await found(RetrievalOptions(namespaces=(bob,))) == {bob}
    assert (await case.mine.documents()).total == 1
    assert (await case.mine.documents(namespace=bob)).total == 1


CATALOGUE_PROMISES: tuple[Callable[[CatalogueCase], Awaitable[None]], ...] = (
    namespaces_are_listed_with_what_they_hold,
    the_figures_of_a_namespace_are_its_own,
    a_namespace_that_is_not_there_has_zeros,
    documents_are_listed_page_by_page,
    a_page_beyond_the_end_is_empty,
    pages_are_bounded,
    the_documents_of_no_namespace_are_not_found,
    a_document_keeps_its_id_and_counts_its_versions,
    a_chunk_tells_page_document_and_metadata,
    a_deleted_document_is_not_found_any_more,
    a_deleted_namespace_is_gone_with_all_of_it,
    a_namespace_made_again_is_granted_to_nobody,
    deleting_leaves_what_another_owner_has_of_the_same_name,
    who_may_read_finds_what_was_granted_under_its_address,
    of_what_was_granted_only_the_trusted_is_found,
    documents_without_a_namespace_are_ours_alone,
    who_may_read_may_not_write,
    who_may_write_may_not_do_what_is_the_owners,
    a_revoked_grant_holds_no_longer,
    a_domain_can_be_let_in,
    granted_again_with_another_access_that_one_holds,
    only_what_is_there_is_granted_and_to_somebody_else,
    what_is_not_there_and_what_is_not_ours_look_alike,
    an_address_of_our_own_is_the_name,
    a_name_that_is_none_is_a_clear_error_everywhere,
    what_was_reindexed_is_found_as_before,
    what_is_not_there_is_not_reindexed,
    the_stranger_finds_nothing,
    what_one_person_gave_is_found_only_where_it_is_named,
)
