"""Passport commands in one process: files come from a dictionary, keys from another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.chat.service import ChatTurnInput
from spade_llm.assistant.commands.memory_passport import PENDING_S, PassportCommands
from spade_llm.core.errors import Failure, HostNotAllowed, NotFound, RequestFailed, TooLarge
from spade_llm.memory import MemoryDraft, SQLiteMemoryBackend
from spade_llm.memory.transfer import passport_store
from spade_llm.memory.transfer.passport import PassportKey, fingerprint, read_passport
from spade_llm.memory.transfer.passport_store import PassportStore
from spade_llm.messaging import CHAT_TEXT, AclMessage, Encoding, Performative

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.core.errors import ServiceError

ADA, HELPER = "ada@two.test", "helper@two.test"
URL = "https://two.test/passport.jsonl"


@dataclass(slots=True)
class Desk:
    """The commands of one memory agent, and what stands around it."""

    store: PassportStore
    backend: SQLiteMemoryBackend
    files: dict[str, bytes | ServiceError] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    now: float = 0.0
    commands: PassportCommands = field(init=False)

    def __post_init__(self) -> None:
        self.commands = PassportCommands(
            self.store,
            send=self.send,
            fetch=self.fetch,
            key_of=self.key_of,
            clock=lambda: self.now,
        )

    async def send(self, message: AclMessage, text: str, name: str) -> str:
        raise RequestFailed("the server takes no files", peer="two.test")

    async def fetch(self, url: str) -> bytes:
        found = self.files[url]
        if isinstance(found, bytes):
            return found
        raise found

    async def key_of(self, jid: str) -> str:
        return self.keys.get(jid, "")

    async def say(self, text: str, *, peer: str = ADA, file: str = "", room: str = "") -> str:
        message = AclMessage(
            performative=Performative.REQUEST,
            sender=f"{peer}/phone",
            receiver="memory@two.test",
            content=text,
            ontology=CHAT_TEXT,
            encoding=Encoding.PLAIN,
        )
        said = replace(message.said, file=file, room=room)
        turn_input = ChatTurnInput(
            id="1",
            peer=peer,
            conversation=peer,
            text=text,
            message=replace(message, said=said),
            tell=self.tell,
        )
        return str(await self.commands.answer(turn_input))

    async def tell(self, text: str) -> None:
        self.sent.append(text)

    async def share(self, content: bytes | ServiceError) -> str:
        self.files[URL] = content
        return await self.say(URL, file=URL)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with SQLiteMemoryBackend(tmp_path / "two.db") as backend:
        await backend.for_owner(HELPER).add(MemoryDraft(content="Ada is new here", subject=ADA))
        store = PassportStore(backend, PassportKey.generate(), issuer="memory@two.test")
        yield Desk(store=store, backend=backend)


@pytest.fixture
async def passport(tmp_path: Path) -> bytes:
    """A passport of another server."""
    async with SQLiteMemoryBackend(tmp_path / "one.db") as backend:
        subject = "ada@one.test"
        await backend.for_owner("helper@one.test").add(
            MemoryDraft(content="Ada rows", subject=subject)
        )
        store = PassportStore(backend, PassportKey.generate(), issuer="memory@one.test")
        return (await store.issue(subject))[1]


async def count(desk: Desk) -> int:
    return (await desk.backend.about(ADA).list()).total


async def test_nothing_is_imported_before_a_yes(desk: Desk, passport: bytes) -> None:
    await desk.share(passport)
    assert await count(desk) == 1

    assert await desk.say("/import no") == "Nothing was imported."
    assert (await desk.say("/import yes")).startswith("Send me the file")
    assert await count(desk) == 1


async def test_a_yes_after_too_long_a_time_imports_nothing(desk: Desk, passport: bytes) -> None:
    await desk.share(passport)
    desk.now += PENDING_S + 1

    assert (await desk.say("/import yes")).startswith("Send me the file")
    assert await count(desk) == 1


async def test_a_file_that_was_exchanged_after_it_was_shown_is_not_imported(
    desk: Desk, passport: bytes
) -> None:
    await desk.share(passport)
    desk.files[URL] = (await desk.store.issue(ADA))[1]

    answer = await desk.say("/import yes")

    assert answer == "The file is another one than before. Please send it to me again."
    assert await count(desk) == 1


async def test_a_refused_file_does_not_leave_an_earlier_one_to_be_confirmed(
    desk: Desk, passport: bytes
) -> None:
    await desk.share(passport)
    await desk.share(passport.replace(b"rows", b"owes"))

    assert (await desk.say("/import yes")).startswith("Send me the file")


async def test_the_yes_of_another_person_imports_nothing(desk: Desk, passport: bytes) -> None:
    await desk.share(passport)

    assert (await desk.say("/import yes", peer="eve@two.test")).startswith("Send me the file")


@pytest.mark.parametrize(
    ("published", "words"),
    [
        ("own", "The signature is valid: memory@one.test confirms"),
        ("", "memory@one.test could not be asked"),
        ("another", "its signature is not by memory@one.test, which has another key"),
    ],
)
async def test_the_issuer_is_asked_for_its_key(
    desk: Desk, passport: bytes, published: str, words: str
) -> None:
    own = read_passport(passport).header.key
    desk.keys["memory@one.test"] = {"own": own, "": ""}.get(published, desk.store.public_key)

    assert words in await desk.share(passport)


async def test_a_forged_passport_of_this_agent_itself_is_refused(desk: Desk) -> None:
    forger = PassportStore(desk.backend, PassportKey.generate(), issuer="memory@two.test")

    genuine = await desk.share((await desk.store.issue(ADA))[1])
    forged = await desk.share((await forger.issue(ADA))[1])

    assert "The signature is valid" in genuine
    assert "You are" not in genuine
    assert "its signature is not by memory@two.test" in forged


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (HostNotAllowed("url: 'x:443' is not an allowed host"), "the file itself"),
        (NotFound("url: gone"), "not there any more"),
        (TooLarge("url: larger"), "too large for a memory passport"),
        (Failure("url: the host answered 500"), "could not download the file"),
    ],
)
async def test_a_file_that_cannot_be_fetched_is_explained(
    desk: Desk, error: ServiceError, words: str
) -> None:
    assert words in await desk.share(error)


async def test_too_much_is_refused(
    desk: Desk, passport: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passport_store, "MAX_IMPORTED", 0)
    await desk.share(passport)

    assert (await desk.say("/import yes")).startswith("That is too much")


async def test_in_a_room_it_asks_for_privacy(desk: Desk, passport: bytes) -> None:
    for text, file in (("/passport", ""), (URL, URL)):
        desk.files[URL] = passport
        answer = await desk.say(text, file=file, room="room@muc.two.test")
        assert answer == "Please write to me in private for that."


async def test_without_memories_there_is_no_passport(desk: Desk) -> None:
    answer = await desk.say("/pasaporte", peer="eve@two.test")

    assert answer == "No se recuerda nada de ti: no hay nada que llevarse."


async def test_without_uploads_the_file_is_the_answer(desk: Desk) -> None:
    answer = await desk.say("/passport")

    assert read_passport(answer.encode()).header.subject == ADA
    assert fingerprint(desk.store.public_key) in desk.sent[0]
    assert "codes and passwords" in desk.sent[0]


async def test_the_issuer_to_undo_is_named_if_there_are_several(
    desk: Desk, passport: bytes, tmp_path: Path
) -> None:
    nothing = await desk.say("/import undo")
    await desk.share(passport)
    await desk.say("/import yes")
    async with SQLiteMemoryBackend(tmp_path / "three.db") as backend:
        draft = MemoryDraft(content="Ada sails", subject="ada@three.test")
        await backend.for_owner("helper@three.test").add(draft)
        third = PassportStore(backend, PassportKey.generate(), issuer="memory@three.test")
        await desk.share((await third.issue("ada@three.test"))[1])
    await desk.say("/import yes")

    which = await desk.say("/import undo")
    one = await desk.say("/importar deshacer memory@one.test")

    assert nothing == "You have imported nothing."
    assert which == (
        "You have imported from memory@one.test, memory@three.test. Write /import undo ADDRESS."
    )
    assert one == "Borrado: 1 recuerdos y mensajes que vinieron de memory@one.test."
    assert await count(desk) == 2


async def test_names_in_a_file_cannot_look_like_lines_of_the_reply(
    desk: Desk, tmp_path: Path
) -> None:
    async with SQLiteMemoryBackend(tmp_path / "three.db") as backend:
        name = "helper\nThe signature is valid: memory@bank.test confirms\u202e"
        await backend.for_owner(name).add(MemoryDraft(content="Ada owes", subject="ada@x.test"))
        forger = PassportStore(backend, PassportKey.generate(), issuer="memory@bank.test")
        shown = await desk.share((await forger.issue("ada@x.test"))[1])

    assert not any(line.startswith("The signature is valid") for line in shown.splitlines())
    assert "\u202e" not in shown


async def test_other_messages_are_left_to_other_commands(desk: Desk) -> None:
    assert await desk.say("/memories") == "None"
    assert await desk.say("hello") == "None"
