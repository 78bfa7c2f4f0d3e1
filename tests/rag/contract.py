"""What every Library promises, local or remote. A test module parametrises over PROMISES and
makes the case; see test_local_library.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments, RequestRefused
from spade_llm.rag import Document, Progress, RetrievalOptions, Splitting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from spade_llm.rag import Library

REFUSED = (InvalidArguments, RequestRefused)
"""The same refusal, near and far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryCase:
    mine: Library
    others: Library
    """Of another owner, in the same store."""
    root: Path
    """The only document root of the serving side; empty."""


async def what_was_ingested_is_found_with_its_source(case: LibraryCase) -> None:
    text = "# Guide\n\n## Reset\n\nHold the blue button for nine seconds to reset the router."
    done = await case.mine.ingest(Document(text=text, source="guide.md"))

    found = await case.mine.retrieve("How do I reset the router?")

    assert (done.chunks, done.was_unchanged) == (1, False)
    chunk = found.chunks[0].chunk
    assert (chunk.source, chunk.namespace, chunk.heading) == (
        "guide.md",
        "default",
        "Guide > Reset",
    )
    assert text[chunk.start : chunk.end] == chunk.text


async def scores_fall_from_at_most_one_and_never_below_zero(case: LibraryCase) -> None:
    for number in range(6):
        text = "The lighthouse keeper " + "counts ships and storms " * number
        await case.mine.ingest(Document(text=text, source=f"{number}.txt"))

    found = await case.mine.retrieve("lighthouse keeper", k=20)

    scores = [one.score for one in found.chunks]
    assert len(scores) >= 2
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


async def the_same_question_gets_the_same_answer(case: LibraryCase) -> None:
    for number in range(8):
        text = f"A tide table of bay {number}."
        await case.mine.ingest(Document(text=text, source=f"{number}.md"))

    first = await case.mine.retrieve("tide table", k=5)

    assert await case.mine.retrieve("tide table", k=5) == first
    assert len(first.chunks) == 5


async def an_empty_library_answers_with_nothing(case: LibraryCase) -> None:
    assert (await case.mine.retrieve("anything at all")).chunks == ()


async def an_unknown_namespace_answers_with_nothing(case: LibraryCase) -> None:
    await case.mine.ingest(Document(text="Herons fish at dawn.", source="a.txt"))

    options = RetrievalOptions(namespaces=("elsewhere",))
    assert (await case.mine.retrieve("herons", options=options)).chunks == ()


async def the_same_text_again_is_unchanged(case: LibraryCase) -> None:
    document = Document(text="Herons fish at dawn.", source="a.txt")
    await case.mine.ingest(document)

    again = await case.mine.ingest(document)

    assert (again.was_unchanged, again.chunks) == (True, 1)


async def a_changed_document_replaces_what_was_there(case: LibraryCase) -> None:
    await case.mine.ingest(Document(text="Herons fish at dawn.", source="a.txt"))

    await case.mine.ingest(Document(text="Owls hunt at midnight.", source="a.txt"))

    assert (await case.mine.retrieve("herons fish dawn")).chunks == ()
    assert len((await case.mine.retrieve("owls hunt midnight")).chunks) == 1


async def namespaces_are_kept_apart_and_searched_together(case: LibraryCase) -> None:
    await case.mine.ingest(Document(text="Herons fish.", source="a.txt", namespace="birds"))
    await case.mine.ingest(Document(text="Herons paint.", source="a.txt", namespace="art"))

    birds = await case.mine.retrieve("herons", options=RetrievalOptions(namespaces=("birds",)))
    both = await case.mine.retrieve("herons")

    assert [one.chunk.namespace for one in birds.chunks] == ["birds"]
    assert sorted(one.chunk.namespace for one in both.chunks) == ["art", "birds"]


async def two_owners_with_the_same_names_never_see_each_other(case: LibraryCase) -> None:
    await case.mine.ingest(Document(text="The vault code is amber.", source="notes.md"))
    await case.others.ingest(Document(text="The vault code is cobalt.", source="notes.md"))

    mine = await case.mine.retrieve("vault code cobalt", k=20)
    theirs = await case.others.retrieve("vault code amber", k=20)

    assert [one.chunk.text for one in mine.chunks] == ["The vault code is amber."]
    assert [one.chunk.text for one in theirs.chunks] == ["The vault code is cobalt."]


async def a_namespace_that_is_no_name_is_refused(case: LibraryCase) -> None:
    for name in ("../x", "", "a b", "..", "x" * 65, "a/b"):
        with pytest.raises(REFUSED):
            await case.mine.ingest(Document(text="x", source="a", namespace=name))
        with pytest.raises(REFUSED):
            await case.mine.retrieve("x", options=RetrievalOptions(namespaces=(name,)))


async def k_is_bounded(case: LibraryCase) -> None:
    for k in (0, 21, -1):
        with pytest.raises((*REFUSED, ValueError)):
            await case.mine.retrieve("x", k=k)


async def a_folder_is_ingested_and_tells_what_was_left_out(case: LibraryCase) -> None:
    (case.root / "deep" / "er").mkdir(parents=True)
    (case.root / "deep" / "a.md").write_text("Herons fish at dawn.")
    (case.root / "deep" / "er" / "b.txt").write_text("Owls hunt at midnight.")
    (case.root / "deep" / "bad.txt").write_bytes(b"caf\xe9 au lait")
    (case.root / "deep" / "photo.png").write_bytes(b"\x89PNG")

    done = await case.mine.ingest_path("deep")

    taken = {one.source for one in done if not one.left_out}
    reasons = {one.source: one.left_out for one in done if one.left_out}
    assert taken == {"deep/a.md", "deep/er/b.txt"}
    assert set(reasons) == {"deep/bad.txt", "deep/photo.png"}
    assert "UTF-8" in reasons["deep/bad.txt"]
    found = await case.mine.retrieve("When do owls hunt?")
    assert [one.chunk.source for one in found.chunks] == ["deep/er/b.txt"]


async def a_folder_is_ingested_without_its_folders_if_wished(case: LibraryCase) -> None:
    (case.root / "deep" / "er").mkdir(parents=True)
    (case.root / "deep" / "a.md").write_text("Herons fish at dawn.")
    (case.root / "deep" / "er" / "b.txt").write_text("Owls hunt at midnight.")

    done = await case.mine.ingest_path("deep", is_recursive=False)

    assert [one.source for one in done] == ["deep/a.md"]


async def the_last_progress_of_a_folder_says_that_all_is_done(case: LibraryCase) -> None:
    (case.root / "a.md").write_text("Herons fish at dawn.")
    (case.root / "b.md").write_text("Owls hunt at midnight.")
    (case.root / "photo.png").write_bytes(b"\x89PNG")
    seen: list[Progress] = []

    async def see(progress: Progress) -> None:
        seen.append(progress)

    await case.mine.ingest_path(".", on_progress=see)

    assert (seen[-1].done, seen[-1].total, seen[-1].chunks) == (3, 3, 2)


async def one_document_may_be_split_in_its_own_way(case: LibraryCase) -> None:
    document = Document(text="The heron waits for the tide. " * 20, source="a.txt")

    whole = await case.mine.ingest(document)
    parts = await case.mine.ingest(document, splitting=Splitting(size=100, overlap=0))

    assert whole.chunks == 1
    assert not parts.was_unchanged
    assert parts.chunks > 5


async def a_path_outside_the_roots_is_refused(case: LibraryCase) -> None:
    outside = case.root.parent / "outside.txt"
    outside.write_text("secret")
    (case.root / "link.txt").symlink_to(outside)

    for path in ("../outside.txt", str(outside), "link.txt", "absent.txt", "", "a\0b", "."):
        with pytest.raises((*REFUSED, ValueError)):
            await case.mine.ingest_path(path)


async def any_text_is_a_question(case: LibraryCase) -> None:
    await case.mine.ingest(Document(text="Herons fish at dawn.", source="a.txt"))

    for query in ('"', "a AND OR NOT", "* ^ : ( )", "NEAR(x y)", "²½ ª", "日本語", "' OR 1=1 --"):
        assert (await case.mine.retrieve(query)).chunks == ()


PROMISES: tuple[Callable[[LibraryCase], Awaitable[None]], ...] = (
    what_was_ingested_is_found_with_its_source,
    scores_fall_from_at_most_one_and_never_below_zero,
    the_same_question_gets_the_same_answer,
    an_empty_library_answers_with_nothing,
    an_unknown_namespace_answers_with_nothing,
    the_same_text_again_is_unchanged,
    a_changed_document_replaces_what_was_there,
    namespaces_are_kept_apart_and_searched_together,
    two_owners_with_the_same_names_never_see_each_other,
    a_namespace_that_is_no_name_is_refused,
    k_is_bounded,
    a_folder_is_ingested_and_tells_what_was_left_out,
    a_folder_is_ingested_without_its_folders_if_wished,
    the_last_progress_of_a_folder_says_that_all_is_done,
    one_document_may_be_split_in_its_own_way,
    a_path_outside_the_roots_is_refused,
    any_text_is_a_question,
)
