"""Memories as people read them in a chat."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from spade_llm.assistant.commands.memory import MAX_REMEMBERED_LISTS, ListNumbers, plain_item
from spade_llm.memory.contract import MemoryEntry
from spade_llm.search.memory_query import Origin

AT = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)


def entry(content: str, *, origin: Origin = Origin.TOLD, number: int = 1) -> MemoryEntry:
    return MemoryEntry(
        id=f"{number:08}-3333-4333-8333-333333333333",
        owner="a@localhost",
        content=content,
        origin=origin,
        created_at=AT,
        updated_at=AT,
    )


@pytest.mark.parametrize(
    ("content", "item"),
    [
        ("## Tea\n\n- **green**, *not* black\n- `oolong`", "Tea green, not black oolong"),
        ("See [the list](https://example.org/a) and ![a cat](c.png)", "See the list and a cat"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("> quoted\n~~gone~~", "quoted gone"),
        ("3 * 4 is 12, a*b, x_y, __init__.py", "3 * 4 is 12, a*b, x_y, __init__.py"),
        ("2024 was #1", "2024 was #1"),
    ],
)
def test_an_item_is_plain(content: str, item: str) -> None:
    assert plain_item(entry(content)) == item


@pytest.mark.parametrize(
    "head",
    ["2026-03-01, 14:05", "2026-03-01, 14:05–14:32", "2026-03-01, 14:05 – 2026-03-02, 09:00"],
)
def test_conversations_are_listed_with_date_and_beginning(head: str) -> None:
    told = f"{head}: user: How do I brew tea?\nassistant: ## Tea\n**Boil** water."

    assert (
        plain_item(entry(told, origin=Origin.EPISODE))
        == "Conversation of 2026-03-01: How do I brew tea?"
    )


def test_a_long_item_is_cut() -> None:
    assert plain_item(entry("word " * 100), max_chars=11) == "word word…"


def test_a_place_in_a_list_is_that_person_s_and_the_last_one_s() -> None:
    shown = ListNumbers()
    old, new = entry("old", number=1), entry("new", number=2)
    shown.show("ada@x", [old])
    shown.show("ada@x", [new, old])

    assert shown.full_number("ada@x", "2.") == old.id
    assert shown.full_number("ada@x", "3") == "3"
    assert shown.full_number("ada@x", "0") == "0"
    assert shown.full_number("bob@x", "1") == "1"
    assert shown.full_number("ada@x", "00000001") == "00000001"


def test_the_lists_of_a_bounded_number_of_people_are_known() -> None:
    shown = ListNumbers()
    for number in range(MAX_REMEMBERED_LISTS + 1):
        shown.show(f"{number}@x", [entry("one")])

    assert shown.full_number("0@x", "1") == "1"
    assert shown.full_number("1@x", "1") == entry("one").id
