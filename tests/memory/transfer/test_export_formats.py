"""Memories as a page to read, and as an agent file of Letta."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory import Category, MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange
from spade_llm.memory.transfer.export_formats import (
    LETTA_BLOCK_LIMIT,
    letta_agent_file,
    markdown_lines,
    owners_about,
)
from spade_llm.memory.transfer.import_formats import read_import
from spade_llm.memory.transfer.importer import import_records
from spade_llm.memory.transfer.records import ImportTarget
from spade_llm.search.memory_query import MemoryFilter

if TYPE_CHECKING:
    from pathlib import Path

OWNER, ADA, BOB = "helper@localhost", "ada@localhost", "bob@localhost"
MAY = datetime(2025, 5, 1, tzinfo=UTC)


@pytest.fixture
async def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    async with SQLiteMemoryBackend(path) as backend:
        store = backend.for_owner(OWNER)
        moved = await store.add(MemoryDraft(content="Lives in Porto", subject=ADA, valid_at=MAY))
        await store.update(MemoryChange(id=moved.id, invalid_at=MAY + timedelta(days=31)))
        for draft in (
            MemoryDraft(content="Lives in Lisbon\n# _now_", subject=ADA, valid_at=MAY),
            MemoryDraft(
                content="Likes tea", category=Category.PREFERENCE, subject=ADA, tags=("a",)
            ),
            MemoryDraft(content="Rows", subject=BOB),
            MemoryDraft(content="I am Sam", category=Category.CAPABILITY),
            MemoryDraft(content="soon gone", subject=ADA, ttl_s=0),
        ):
            await store.add(draft)
        hidden = await store.add(MemoryDraft(content="hidden", subject=ADA))
        await backend.for_owner("other@localhost").add(MemoryDraft(content="x", subject=BOB))
        await store.delete(MemoryFilter(), ids=[hidden.id])
    return path


async def test_a_page_groups_by_person_and_kind_with_dates_and_validity(memory: Path) -> None:
    today = datetime.now(UTC).date().isoformat()

    page = "\n".join(markdown_lines(memory, owner=OWNER))

    assert (
        page
        == f"""# Memories

Exported on {today}. Messages of conversations are not included.

## ada@localhost

### Facts

- Lives in Lisbon
  \\# \\_now\\_ *(2025-05-01, helper@localhost)*
- Lives in Porto *(2025-05-01 to 2025-06-01, outdated, helper@localhost)*

### Preferences

- Likes tea *({today}, helper@localhost, a)*

## bob@localhost

### Facts

- Rows *({today}, helper@localhost)*

## About no particular person

### Capabilities

- I am Sam *({today}, helper@localhost)*"""
    )


async def test_a_page_of_one_person_has_nothing_of_others(memory: Path) -> None:
    page = "\n".join(markdown_lines(memory, about="Bob@localhost/phone"))

    assert "Rows" in page
    assert "other@localhost" in page
    assert "ada" not in page


async def test_an_agent_file_has_the_valid_memories_in_blocks(memory: Path) -> None:
    done = letta_agent_file(memory, owner=OWNER, about=ADA)

    whole = json.loads(done.content)
    assert [(block["label"], block["value"]) for block in whole["blocks"]] == [
        ("human", "Likes tea\nLives in Lisbon # _now_"),
        ("persona", "I am Sam"),
    ]
    assert whole["agents"][0]["block_ids"] == ["block-0", "block-1"]
    assert (done.memories, done.left_out) == (3, 0)
    assert owners_about(memory, BOB) == [OWNER, "other@localhost"]


async def test_an_agent_file_that_is_imported_says_the_same(memory: Path, tmp_path: Path) -> None:
    file = tmp_path / "ada.af"
    file.write_text(letta_agent_file(memory, owner=OWNER, about=ADA).content, encoding="utf-8")
    target = ImportTarget(owner="new@localhost", subject=ADA)

    done = import_records(memory, read_import(file, target, lambda *_: None))

    assert (done.added, done.faults) == (3, ())
    again = letta_agent_file(memory, owner="new@localhost", about=ADA)
    assert again.memories == 3


async def test_older_memories_that_do_not_fit_into_a_block_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with SQLiteMemoryBackend(path) as backend:
        drafts = [MemoryDraft(content=f"{n} " + "x" * 6000, subject=ADA) for n in range(5)]
        await backend.for_owner(OWNER).add_many(drafts)

    done = letta_agent_file(path, owner=OWNER, about=ADA)

    assert (done.memories, done.left_out) == (3, 2)
    assert len(json.loads(done.content)["blocks"][0]["value"]) <= LETTA_BLOCK_LIMIT


async def test_a_person_without_memories_is_an_error(memory: Path) -> None:
    with pytest.raises(InvalidArguments, match="no valid memories about eve@localhost"):
        letta_agent_file(memory, owner=OWNER, about="eve@localhost")
