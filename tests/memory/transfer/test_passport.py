"""Memory passports: signed, read, imported from one memory file into another, and refused."""

from __future__ import annotations

import json
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.contract import MemoryChange, ObservedMessage
from spade_llm.memory.learning.learning_contract import EpisodeDraft
from spade_llm.memory.transfer import passport_store
from spade_llm.memory.transfer.memory_file import verify_memory
from spade_llm.memory.transfer.passport import (
    KEY_FILE,
    InvalidPassport,
    PassportFault,
    PassportHeader,
    PassportKey,
    header_line,
    read_passport,
    sign_passport,
)
from spade_llm.memory.transfer.passport_store import PassportStore
from spade_llm.search.memory_query import Category, MemoryFilter, MemoryQuery, Origin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from spade_llm.memory.contract import MemoryEntry

ADA, ADA_TWO, BOB = "ada@one.test", "ada@two.test", "bob@one.test"
HELPER, CODER, HELPER_TWO = "helper@one.test", "coder@one.test", "helper@two.test"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SPRING, AUTUMN = NOW - timedelta(days=30), NOW - timedelta(days=200)


@dataclass(slots=True)
class Clock:
    now: datetime = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A memory and its passports."""

    backend: SQLiteMemoryBackend
    passports: PassportStore
    clock: Clock

    async def issue(self, subject: str) -> bytes:
        return (await self.passports.issue(subject))[1]

    async def about(self, subject: str) -> Sequence[MemoryEntry]:
        return (await self.backend.about(subject).list(limit=1000)).entries

    async def load(self, content: bytes, *, subject: str = ADA_TWO, owner: str = HELPER_TWO) -> int:
        done = await self.passports.load(read_passport(content), subject=subject, owner=owner)
        return done.added


def folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


async def server(directory: Path, domain: str) -> Server:
    clock = Clock()
    backend = SQLiteMemoryBackend(directory / "memory.db", now=clock, is_learned_from=True)
    key = PassportKey.load_or_create(directory)
    store = PassportStore(backend, key, issuer=f"memory@{domain}")
    return Server(backend=await backend.open(), passports=store, clock=clock)


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Server]:
    found = await server(folder(tmp_path, "one"), "one.test")
    yield found
    await found.backend.close()


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Server]:
    found = await server(folder(tmp_path, "two"), "two.test")
    yield found
    await found.backend.close()


async def fill(one: Server) -> None:
    """Memories of two agents about Ada, an old fact and a current one, and some of others."""
    helper, coder = one.backend.for_owner(HELPER), one.backend.for_owner(CODER)
    draft = MemoryDraft(content="Ada lives in Lugo", subject=ADA, valid_at=AUTUMN)
    old = await helper.add(draft)
    await helper.update(MemoryChange(id=old.id, invalid_at=SPRING))
    await helper.add(
        MemoryDraft(
            content="Ada lives in Vigo",
            subject=ADA,
            category=Category.FACT,
            context="she moved",
            confidence=0.8,
            importance=0.9,
            tags=("secret-tag",),
            metadata={"internal": "state"},
            session="ada@one.test#work",
        )
    )
    await coder.add(
        MemoryDraft(content="Ada likes Rust", subject=ADA, category=Category.PREFERENCE)
    )
    await helper.add(MemoryDraft(content="Bob has debts", subject=BOB))
    await helper.add(MemoryDraft(content="a note of the agent"))
    await helper.observe(ADA, [message("1", "I have moved to Vigo")], subject=ADA)
    await helper.observe(BOB, [message("1", "I am Bob")], subject=BOB)
    await helper.grant("coder@one.test", tag="secret-tag")


def message(id: str, content: str, *, at: datetime = SPRING) -> ObservedMessage:
    return ObservedMessage(id=id, role="user", content=content, at=at)


def signed(lines: Sequence[str], by: PassportKey | None = None, **changes: object) -> bytes:
    """A passport of a person who has written its records by hand."""
    private = by or PassportKey.generate()
    kinds = [json.loads(line)["kind"] for line in lines]
    header = PassportHeader(
        issuer="memory@one.test",
        subject=ADA,
        made_at=NOW,
        key=private.public,
        entries=kinds.count("entry"),
        messages=kinds.count("message"),
    )
    return sign_passport(header.model_copy(update=changes), lines, private)


def entry_line(**changes: object) -> str:
    fields = {
        "kind": "entry",
        "id": "0b0e7a52-8f3c-4a55-9f6e-0d6a5f8a3b11",
        "owner": HELPER,
        "content": "Ada likes tea",
        "type": "semantic",
        "tier": "long_term",
        "content_type": "text",
        "origin": "told",
        "confidence": 1.0,
        "subject": ADA,
        "created_at": SPRING.isoformat(),
        "updated_at": SPRING.isoformat(),
        "access_count": 0,
    }
    return json.dumps(fields | changes)


async def test_everything_about_a_person_travels_and_nothing_else(one: Server, two: Server) -> None:
    await fill(one)

    content = await one.issue(ADA)
    added = await two.load(content)

    passport = read_passport(content)
    assert (passport.header.entries, passport.header.messages) == (3, 1)
    assert passport.agents == [CODER, HELPER]
    for private in ("Bob", "debts", "note of the agent", "secret-tag", "internal", "#work"):
        assert private not in content.decode()
    assert added == 4
    found = {entry.content: entry for entry in await two.about(ADA_TWO)}
    assert set(found) == {"Ada lives in Lugo", "Ada lives in Vigo", "Ada likes Rust"}
    lugo, vigo = found["Ada lives in Lugo"], found["Ada lives in Vigo"]
    assert (lugo.valid_at, lugo.invalid_at) == (AUTUMN, SPRING)
    assert (vigo.category, vigo.context, vigo.confidence) == (Category.FACT, "she moved", 0.8)
    assert (vigo.importance, vigo.owner, vigo.subject) == (0.9, HELPER_TWO, ADA_TWO)
    assert vigo.created_at < NOW + timedelta(minutes=1)
    assert verify_memory(two.backend.path) == []


async def test_closed_facts_are_not_among_current_ones(one: Server, two: Server) -> None:
    await fill(one)
    await two.load(await one.issue(ADA))

    store = two.backend.for_owner(HELPER_TWO)
    current = await store.search(MemoryQuery(text="where does Ada live", which=MemoryFilter()))

    assert "Ada lives in Lugo" not in {hit.entry.content for hit in current.hits}


async def test_messages_are_found_and_are_no_history_of_a_chat(one: Server, two: Server) -> None:
    await fill(one)
    await two.load(await one.issue(ADA))

    store = two.backend.for_owner(HELPER_TWO)
    hits = (await store.search(MemoryQuery(text="moved to Vigo", with_messages=True))).hits

    assert any(hit.entry.origin is Origin.MESSAGE for hit in hits)
    assert list(await store.history(ADA)) == list(await store.history(ADA_TWO)) == []


async def test_nothing_is_learned_again_from_what_was_imported(one: Server, two: Server) -> None:
    await fill(one)
    learning = one.backend.learning()
    for found in (await learning.due()).ranges:
        if found.subject == ADA:
            draft = MemoryDraft(content="Ada moved", subject=ADA, origin=Origin.EPISODE)
            episode = EpisodeDraft(draft=draft, first_message="1", last_message="1")
            await learning.save_episodes(found, [episode])
    await two.load(await one.issue(ADA))

    assert list((await two.backend.learning().due()).ranges) == []
    assert list((await two.backend.learning().due()).episodes) == []


async def test_sources_refer_to_the_imported_entries(one: Server, two: Server) -> None:
    helper = one.backend.for_owner(HELPER)
    first = await helper.add(MemoryDraft(content="a walk", subject=ADA))
    foreign = await helper.add(MemoryDraft(content="of the agent"))
    draft = MemoryDraft(content="Ada walks", subject=ADA, sources=(first.id, foreign.id))
    await helper.add(draft)

    await two.load(await one.issue(ADA))

    found = {entry.content: entry for entry in await two.about(ADA_TWO)}
    assert found["Ada walks"].sources == (found["a walk"].id,)


async def test_importing_again_adds_only_what_is_new(one: Server, two: Server) -> None:
    await fill(one)
    await two.load(await one.issue(ADA))

    again = await two.load(await one.issue(ADA))
    await one.backend.for_owner(HELPER).add(MemoryDraft(content="Ada sails", subject=ADA))
    newer = await two.load(await one.issue(ADA))

    assert (again, newer) == (0, 1)
    assert len(await two.about(ADA_TWO)) == 4


async def test_the_way_back_adds_nothing(one: Server, two: Server) -> None:
    await fill(one)
    await two.load(await one.issue(ADA))

    added = await one.load(await two.issue(ADA_TWO), subject=ADA, owner=HELPER)

    # What another agent remembered is new for this one.
    assert added == 1
    assert "Ada likes Rust" in {entry.content for entry in await one.about(ADA)}


async def test_a_fact_that_ended_at_the_source_ends_here(one: Server, two: Server) -> None:
    helper = one.backend.for_owner(HELPER)
    fact = await helper.add(MemoryDraft(content="Ada works at Renfe", subject=ADA))
    await two.load(await one.issue(ADA))
    open_one = await one.issue(ADA)
    await helper.update(MemoryChange(id=fact.id, invalid_at=one.clock.now + timedelta(days=1)))

    added = await two.load(await one.issue(ADA))
    await two.load(open_one)

    (entry,) = await two.about(ADA_TWO)
    assert added == 0
    assert entry.invalid_at is not None


async def test_what_was_true_before_and_is_true_again_are_two_memories(
    one: Server, two: Server
) -> None:
    await two.backend.for_owner(HELPER_TWO).add(
        MemoryDraft(content="Ada lives in Lugo", subject=ADA_TWO, valid_at=NOW)
    )
    line = entry_line(
        content="Ada lives in Lugo",
        valid_at=AUTUMN.isoformat(),
        invalid_at=SPRING.isoformat(),
        created_at=AUTUMN.isoformat(),
    )

    added = await two.load(signed([line]))

    assert added == 1
    assert [one.invalid_at for one in await two.about(ADA_TWO)] == [None, SPRING]


async def test_two_people_can_import_one_file_without_touching_each_other(
    one: Server, two: Server
) -> None:
    await fill(one)
    content = await one.issue(ADA)

    counts = [await two.load(content, subject=who) for who in (ADA_TWO, "eve@two.test")]
    removed = await two.passports.remove("eve@two.test", "memory@one.test")

    assert (counts, removed) == ([4, 4], 4)
    assert len(await two.about(ADA_TWO)) == 3
    assert await two.about("eve@two.test") == ()


async def test_an_id_of_anothers_memory_in_a_passport_has_no_effect(two: Server) -> None:
    bobs = await two.backend.for_owner(HELPER_TWO).add(
        MemoryDraft(content="Bob has debts", subject="bob@two.test")
    )

    added = await two.load(signed([entry_line(id=bobs.id, content="Ada has Bob's id")]))

    assert added == 1
    assert [one.content for one in await two.about("bob@two.test")] == ["Bob has debts"]


async def test_imported_memories_are_removed_by_issuer(one: Server, two: Server) -> None:
    await fill(one)
    own = MemoryDraft(content="Ada is new here", subject=ADA_TWO)
    await two.backend.for_owner(HELPER_TWO).add(own)
    await two.load(await one.issue(ADA))

    issuers = await two.passports.issuers(ADA_TWO)
    of_another = await two.passports.remove(ADA_TWO, "memory@three.test")
    removed = await two.passports.remove(ADA_TWO, "memory@one.test")

    assert (issuers, of_another, removed) == (["memory@one.test"], 0, 4)
    assert [one.content for one in await two.about(ADA_TWO)] == ["Ada is new here"]
    hits = await two.backend.for_owner(HELPER_TWO).search(
        MemoryQuery(text="moved to Vigo", with_messages=True)
    )
    assert hits.hits == () or all("Vigo" not in hit.entry.content for hit in hits.hits)
    assert await two.load(await one.issue(ADA)) == 4


async def test_memories_of_rooms_become_the_persons_own(one: Server, two: Server) -> None:
    helper = one.backend.for_owner(HELPER)
    subject = f"{ADA} in room@muc.one.test"
    await helper.add(MemoryDraft(content="Ada cooks", subject=subject))
    await helper.add(MemoryDraft(content="Adam cooks", subject="ada@one.testing"))

    await two.load(await one.issue(ADA))

    (entry,) = await two.about(ADA_TWO)
    assert (entry.content, entry.subject) == ("Ada cooks", ADA_TWO)


async def test_expired_memories_stay_behind(two: Server) -> None:
    past = entry_line(tier="short_term", expires_at=SPRING.isoformat())

    assert await two.load(signed([past])) == 0


async def test_patterns_arrive_as_ordinary_memories(two: Server) -> None:
    await two.load(signed([entry_line(origin="pattern", type="procedural")]))
    await two.backend.about(ADA_TWO).withdraw_all()

    (entry,) = await two.about(ADA_TWO)
    assert entry.origin is Origin.CONSOLIDATED


async def test_only_the_newest_travel_if_not_all_fit(one: Server) -> None:
    helper = one.backend.for_owner(HELPER)
    for number in range(30):
        await helper.add(MemoryDraft(content=f"fact {number} " + "x" * 900, subject=ADA))
    await helper.add(MemoryDraft(content="y" * 5000, subject=ADA))

    header, content = await one.passports.issue(ADA, max_bytes=30_000, max_line_bytes=2500)

    passport = read_passport(content)
    texts = [str(values["content"]) for _, values in passport.records]
    assert len(content) <= 30_000
    assert header.left_out == passport.header.left_out == 31 - len(texts)
    assert texts[-1].startswith("fact 29 ")
    assert not any(text.startswith(("y", "fact 0 ")) for text in texts)


async def test_a_person_can_import_a_limited_number(
    two: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passport_store, "MAX_IMPORTED", 2)
    await two.load(signed([entry_line(content="one")]))
    content = signed([entry_line(content="two"), entry_line(content="three")])

    with pytest.raises(InvalidArguments, match="remove earlier ones first"):
        await two.load(content)


async def test_owners_are_the_agents_that_know_the_person(one: Server) -> None:
    await fill(one)

    assert await one.passports.owners(ADA) == [CODER, HELPER]
    assert await one.passports.owners("eve@one.test") == []


# A fixed key: hypothesis repeats its examples.
KEY = PassportKey.generate()
GENUINE = signed([entry_line(), entry_line(content="Ada rows")], KEY)


@settings(max_examples=500)
@given(place=st.integers(0, len(GENUINE) - 2), flip=st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, flip: int) -> None:
    changed = bytearray(GENUINE)
    changed[place] ^= flip

    with pytest.raises(InvalidPassport):
        read_passport(bytes(changed))


def test_a_changed_word_is_named_for_what_it_is() -> None:
    changed = GENUINE.replace(b"likes tea", b"likes gin")

    with pytest.raises(InvalidPassport, match="changed after memory@one.test had made it") as found:
        read_passport(changed)
    assert found.value.fault is PassportFault.ALTERED


@pytest.mark.parametrize("end", [40, 400, len(GENUINE) - 30])
def test_a_truncated_file_is_incomplete(end: int) -> None:
    with pytest.raises(InvalidPassport) as found:
        read_passport(GENUINE[:end])
    assert found.value.fault in (PassportFault.INCOMPLETE, PassportFault.FOREIGN)


def test_lines_can_neither_be_taken_out_nor_added() -> None:
    lines = GENUINE.splitlines(keepends=True)

    for changed in ([*lines[:1], *lines[2:]], [*lines[:2], lines[1], *lines[2:]]):
        with pytest.raises(InvalidPassport, match="signature"):
            read_passport(b"".join(changed))


def test_a_signature_by_another_key_has_another_fingerprint() -> None:
    header = read_passport(GENUINE).header
    forged = read_passport(signed([entry_line(content="Ada owes Eve")])).header

    assert header.fingerprint != forged.fingerprint
    assert len(header.fingerprint.replace(" ", "")) == 20
    # The key of the genuine file does not verify the forger's signature.
    mixed = signed([entry_line()]).replace(forged.key.encode(), header.key.encode())
    mixed = mixed.replace(mixed.split(b'"key":"')[1][:44], header.key.encode())
    with pytest.raises(InvalidPassport, match="signature"):
        read_passport(mixed)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]\n", b"hello\nworld", b"\xff\xfe\n", b"[" * 100_000, b'{"format":"x"}\n'],
)
def test_other_files_are_no_passports(content: bytes) -> None:
    with pytest.raises(InvalidPassport, match="no memory passport"):
        read_passport(content)


def test_an_unknown_version_says_which() -> None:
    line = header_line(read_passport(GENUINE).header).replace('"version":1', '"version":2')

    with pytest.raises(InvalidPassport, match="version 2 of the format is unknown") as found:
        read_passport(f"{line}\n".encode())
    assert found.value.fault is PassportFault.VERSION


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"subject": BOB}, "line 2: subject: it is about another person"),
        ({"subject": f"{ADA}x"}, "line 2: subject"),
        ({"kind": "grant"}, "line 2: "),
        ({"kind": "consent", "since": "2026-01-01"}, "line 2: "),
        ({"metadata": {"a": 1}}, "line 2: metadata: a passport has no such field"),
        ({"tags": ["a"]}, "line 2: tags: a passport has no such field"),
        ({"content": ""}, "line 2: content must not be empty"),
        ({"content": "x" * 40_000}, "line 2: content must have at most"),
        ({"confidence": float("nan")}, "line 2: confidence"),
        ({"confidence": 2.0}, "line 2: confidence"),
        ({"importance": 7.0}, "line 2: importance"),
        ({"created_at": "2999-01-01T00:00:00Z"}, "line 2: created_at"),
        ({"created_at": "1900-01-01T00:00:00Z"}, "line 2: created_at"),
        ({"updated_at": "1990-01-01T00:00:00Z"}, "line 2: updated_at"),
        ({"owner": ""}, "line 2: owner"),
        ({"id": "7"}, "line 2: id"),
        ({"surprising": 1}, "line 2: surprising: entry has no such field"),
    ],
)
def test_a_signed_file_with_a_wrong_record_is_refused(
    change: dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidPassport) as found:
        read_passport(signed([entry_line(**change)]))
    assert str(found.value).startswith(named)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"entries": 5}, "the counts are not those"),
        ({"subject": "ada"}, "subject is no bare JID"),
        ({"subject": "ada@one.test/phone"}, "subject is no bare JID"),
        ({"issuer": "memory@one.test\u202e"}, "issuer is no bare JID"),
        ({"issuer": "Memory@one.test"}, "issuer is no bare JID"),
        ({"key": "AAAA"}, "key is no Ed25519 key"),
        ({"left_out": -1}, "left_out"),
    ],
)
def test_a_wrong_header_is_refused(change: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidPassport, match=named):
        read_passport(signed([entry_line()], None, **change))


def test_a_huge_file_is_refused_before_it_is_read() -> None:
    huge = GENUINE + b" " * 10_000_000

    with pytest.raises(InvalidPassport, match="over 10000000 bytes"):
        read_passport(huge)


def test_the_key_is_private_and_stays_the_same(tmp_path: Path) -> None:
    first = PassportKey.load_or_create(tmp_path)
    again = PassportKey.load_or_create(tmp_path)

    assert first.public == again.public
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_a_damaged_key_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_text("no key")

    with pytest.raises(ConfigurationError, match="restore it from a backup"):
        PassportKey.load_or_create(tmp_path)
    assert (tmp_path / KEY_FILE).read_text() == "no key"
