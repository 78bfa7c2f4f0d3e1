"""A person takes their memories from one server to another, with an ordinary chat client."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pytest
import pytest_asyncio

from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.memory.transfer.passport import PassportKey, read_passport, sign_passport
from spade_llm.xmpp.features.uploads import upload
from tests.integration.federated import ONE, TWO, Member, federated_servers
from tests.integration.network import Network, answer_to, eventually, fetched, jid_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.agents import ChatAgent, MemoryAgent
    from tests.xmpp.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One server, with a memory agent, an assistant's program and a person."""

    network: Network
    memory: MemoryAgent
    program: ChatAgent
    client: MemoryClient
    ada: Client

    async def say(self, text: str) -> str:
        return await answer_to(self.ada, self.memory, text)

    async def learns(self, content: str, *, about: str = "") -> None:
        await self.client.add(MemoryDraft(content=content, subject=about or self.ada.bare))

    async def share(self, content: bytes, *, name: str = "passport.jsonl") -> str:
        """Upload a file and send its address, as clients do; return the answer."""
        path = self.network.directory / name
        path.write_bytes(content)
        return await self.send_address(await upload(self.program, path))

    async def send_address(self, url: str) -> str:
        self.ada.send_raw(
            f"<message to='{jid_of(self.memory)}' type='chat' id='f-{abs(hash(url))}'>"
            f"<body>{escape(url)}</body>"
            f"<x xmlns='jabber:x:oob'><url>{escape(url)}</url></x></message>"
        )
        return str((await self.ada.received())["body"])

    async def passport(self) -> tuple[str, bytes]:
        """What /passport says, and the file."""
        url = await self.say("/passport")
        said = str((await self.ada.received())["body"])
        return said, (await fetched(self.network, url)).encode()


async def side(network: Network) -> Side:
    memory, program = await network.memory(), await network.program("helper")
    client = MemoryClient(program.node.requester, jid_of(memory))
    ada = await network.person()
    return Side(network=network, memory=memory, program=program, client=client, ada=ada)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def members(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, Member]]:
    async with federated_servers(tmp_path_factory.mktemp("passports")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def sides(members: dict[str, Member], tmp_path: Path) -> AsyncIterator[tuple[Side, Side]]:
    async with contextlib.AsyncExitStack() as stack:
        found = []
        for domain in (ONE, TWO):
            (tmp_path / domain).mkdir()
            server = members[domain].provisioner
            found.append(
                await side(Network(server=server, directory=tmp_path / domain, stack=stack))
            )
        yield found[0], found[1]


async def until_published(side: Side, by: Side) -> None:
    """Until the server of `side` answers for its memory agent's key."""
    node = by.memory.passport_key

    async def is_known() -> bool:
        return await node.key_of(jid_of(side.memory)) != ""

    await eventually(is_known)


@pytest.mark.server
async def test_memories_move_to_another_server_and_can_be_taken_back(
    sides: tuple[Side, Side],
) -> None:
    one, two = sides
    await one.learns("Ada rows on the lake")
    await one.learns("Bob has debts", about="bob@one.test")
    await two.learns("Ada is new here")
    await until_published(one, two)

    made, content = await one.passport()
    shown = await two.share(content)
    imported = await two.say("/import yes")
    again = await two.share(content)
    nothing_new = await two.say("/import yes")
    listed = await two.say("/memories")
    removed = await two.say("/import undo")
    left = await two.say("/memories")

    key = read_passport(content).header.fingerprint
    assert f"1 memory + 0 messages about you, signed by {jid_of(one.memory)} (key {key})." in made
    assert "codes and passwords" in made
    assert b"debts" not in content
    assert f"This is the memory passport of {one.ada.bare}, made by {jid_of(one.memory)}" in shown
    assert f"1 memory + 0 messages of {jid_of(one.program)}." in shown
    assert f"The signature is valid: {jid_of(one.memory)} confirms that it is its own." in shown
    assert f"You are {two.ada.bare} here" in shown
    assert f"They go to {jid_of(two.program)}. Write /import yes" in shown
    assert imported.startswith("Imported: 1 new memories and messages; 0 were here already.")
    assert "valid" in again
    assert nothing_new.startswith("Imported: 0 new memories and messages; 1 were here already.")
    assert f"Ada rows on the lake (kept by {jid_of(two.program)}" in listed
    assert removed == f"Removed: 1 memories and messages that came from {jid_of(one.memory)}."
    assert "rows" not in left
    assert "Ada is new here" in left


@pytest.mark.server
async def test_the_assistant_there_finds_them(sides: tuple[Side, Side]) -> None:
    one, two = sides
    await one.learns("Ada rows on the lake")
    await two.learns("Ada is new here")
    await two.share((await one.passport())[1])

    await two.say("/import yes")

    found = await two.client.list()
    assert {(entry.content, entry.subject) for entry in found.entries} == {
        ("Ada rows on the lake", two.ada.bare),
        ("Ada is new here", two.ada.bare),
    }


@pytest.mark.server
async def test_a_changed_file_is_refused_in_one_line(sides: tuple[Side, Side]) -> None:
    one, two = sides
    await one.learns("Ada rows on the lake")
    _, content = await one.passport()

    refused = await two.share(content.replace(b"rows", b"owes"))
    unanswered = await two.say("/import yes")

    assert refused == (
        "I do not take this file: the signature does not fit, it was changed after"
        f" {jid_of(one.memory)} had made it."
    )
    assert unanswered.startswith("Send me the file of your memory passport here")


@pytest.mark.server
async def test_a_passport_signed_by_another_key_is_refused_if_the_issuer_can_be_asked(
    sides: tuple[Side, Side],
) -> None:
    one, two = sides
    await one.learns("Ada rows on the lake")
    await until_published(one, two)
    _, content = await one.passport()
    lines = content.decode().splitlines()[1:-1]
    forger = PassportKey.generate()
    header = read_passport(content).header
    forged = sign_passport(
        type(header)(
            issuer=header.issuer,
            subject=header.subject,
            made_at=header.made_at,
            key=forger.public,
            entries=1,
            messages=0,
        ),
        lines,
        forger,
    )

    refused = await two.share(forged)

    assert f"its signature is not by {jid_of(one.memory)}, which has another key" in refused
    assert (await two.say("/import yes")).startswith("Send me the file")


@pytest.mark.server
async def test_an_issuer_that_cannot_be_asked_is_named_with_its_key(
    sides: tuple[Side, Side],
) -> None:
    _, two = sides
    await two.learns("Ada is new here")
    key = PassportKey.generate()
    header = read_passport((await two.passport())[1]).header
    unknown = type(header)(
        issuer="memory@three.test",
        subject="ada@three.test",
        made_at=header.made_at,
        key=key.public,
        entries=0,
        messages=0,
    )

    shown = await two.share(sign_passport(unknown, [], key))

    assert "The signature is intact, but memory@three.test could not be asked" in shown
    assert read_passport(sign_passport(unknown, [], key)).header.fingerprint in shown


@pytest.mark.server
async def test_a_newcomer_writes_to_an_assistant_first(sides: tuple[Side, Side]) -> None:
    one, two = sides
    await one.learns("Ada rows on the lake")
    shown = await two.share((await one.passport())[1])
    too_early = await two.say("/import yes")
    await two.learns("Ada said hello")

    imported = await two.say("/import yes")

    assert "No agent here knows you yet" in shown
    assert "No agent here knows you yet" in too_early
    assert imported.startswith("Imported: 1 new")


@pytest.mark.server
async def test_of_several_agents_the_person_chooses_one(sides: tuple[Side, Side]) -> None:
    one, two = sides
    await one.learns("Ada rows on the lake")
    await two.learns("Ada is new here")
    other = await two.network.program("coder")
    coder = MemoryClient(other.node.requester, jid_of(two.memory))
    await coder.add(MemoryDraft(content="Ada likes Rust", subject=two.ada.bare))

    shown = await two.share((await one.passport())[1])
    unclear = await two.say("/import yes")
    wrong = await two.say("/import yes stranger@two.test")
    chosen = await two.say("/import yes 1")

    first = sorted([jid_of(two.program), jid_of(other)])[0]
    assert "Which agent are they for?" in shown
    assert f"1. {first}" in shown
    assert "Which agent are they for?" in unclear
    assert "There is no agent 'stranger@two.test' that knows you" in wrong
    assert f"They belong to {first} now" in chosen


@pytest.mark.server
async def test_files_of_other_servers_and_other_files_are_declined(
    sides: tuple[Side, Side],
) -> None:
    one, two = sides
    await one.learns("Ada rows on the lake")
    old_address = await one.say("/passport")
    await one.ada.received()

    elsewhere = await two.send_address(old_address)
    picture = await two.share(b"\x89PNG\r\n\x1a\n", name="cat.png")
    encrypted = await two.send_address("aesgcm://localhost/x.jsonl#00")
    huge = await two.share(b"x" * 10_000_001)

    assert "send me the file itself, not its address" in elsewhere
    assert picture.startswith("This file is no memory passport")
    assert "end-to-end encrypted" in encrypted
    assert huge == "The file is too large for a memory passport."


@pytest.mark.server
async def test_it_works_in_spanish(sides: tuple[Side, Side]) -> None:
    one, two = sides
    await one.learns("Ada rows on the lake")
    await two.learns("Ada is new here")
    await one.say("/pasaporte")
    made = str((await one.ada.received())["body"])
    _, content = await one.passport()

    help = await two.say("/importar")
    shown = await two.share(content)
    done = await two.say("/importar sí")
    gone = await two.say("importar deshacer")

    assert made.startswith("Tu pasaporte de recuerdos: https://")
    assert help.startswith("Envíame aquí el archivo")
    assert "Es el pasaporte de recuerdos de" in shown
    assert done.startswith("Importado: 1 recuerdos y mensajes nuevos")
    assert gone.startswith("Borrado: 1 recuerdos y mensajes")


@pytest.mark.server
async def test_the_key_outlives_a_restart_of_the_agent(sides: tuple[Side, Side]) -> None:
    one, _ = sides
    await one.learns("Ada rows on the lake")
    _, content = await one.passport()
    await one.memory.stop()
    again = await one.network.memory(jid_of(one.memory))

    url = await answer_to(one.ada, again, "/passport")
    newer = (await fetched(one.network, url)).encode()

    assert read_passport(newer).header.key == read_passport(content).header.key
