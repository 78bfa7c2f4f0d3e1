"""Which memories count as the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from spade_llm.memory import MemoryEntry
from spade_llm.memory.tools.search_tools import DuplicateGroup, are_duplicates, group_duplicates

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def an_entry(content: str, *, age: int = 0, subject: str | None = None) -> MemoryEntry:
    made = NOON - timedelta(hours=age)
    return MemoryEntry(
        id=f"{content}-{age}-{subject}",
        owner="a@x",
        content=content,
        subject=subject,
        created_at=made,
        updated_at=made,
    )


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("likes green tea", "likes tea that is green", True),
        ("the port is 5432", "the port is 5433", False),
        ("due on 2024-05-01", "due on 2024-06-01", False),
        ("Ada likes tea", "Bob likes tea", False),
        ("likes tea", "does not like tea", False),
        ("she does like tea", "she doesn't like tea", False),
        ("le gusta el té", "no le gusta el té", False),
        ("他喜欢茶", "他不喜欢茶", False),
    ],
)
def test_similar_ones_are_the_same_unless_a_fact_differs(
    one: str, other: str, is_same: bool
) -> None:
    assert are_duplicates(an_entry(one), an_entry(other)) is is_same


def test_the_oldest_is_kept_also_when_it_was_not_examined() -> None:
    old, new = an_entry("likes tea", age=9), an_entry("likes tea much")

    assert group_duplicates([new], {new.id: [old]}) == [DuplicateGroup(kept=old, others=(new,))]


def test_what_is_only_like_its_like_is_not_drawn_in() -> None:
    one, two, three = (an_entry(f"likes tea {'a' * n}", age=3 - n) for n in range(3))

    groups = group_duplicates(
        [one, two, three], {one.id: [two], two.id: [one, three], three.id: [two]}
    )

    assert groups == [DuplicateGroup(kept=one, others=(two,))]


def test_no_memory_is_in_two_groups() -> None:
    texts = [an_entry("likes tea", age=n) for n in range(4)]
    similar = {one.id: [other for other in texts if other is not one] for one in texts}

    groups = group_duplicates(texts, similar)

    assert groups == [DuplicateGroup(kept=texts[3], others=(texts[2], texts[1], texts[0]))]


def test_the_same_about_two_people_stays_apart() -> None:
    ada, bob = an_entry("likes tea", subject="ada@x"), an_entry("likes tea", subject="bob@x")

    assert group_duplicates([ada, bob], {ada.id: [bob], bob.id: [ada]}) == []
