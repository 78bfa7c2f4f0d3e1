"""A person asks the memory agent, with an ordinary chat client, what is remembered about them."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.chat.client import ChatClient
from spade_llm.memory import MemoryDraft
from spade_llm.memory.contract import MemoryChange, ObservedMessage
from spade_llm.memory.remote import MemoryClient
from spade_llm.memory.transfer.passport import read_passport
from spade_llm.search.memory_query import Category
from tests.integration.network import Network, answer_to, export_to, jid_of

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.agents import MemoryAgent
    from tests.conftest import Provisioner
    from tests.xmpp.client import Client


async def remembered(network: Network, memory: MemoryAgent, ada: Client) -> list[MemoryClient]:
    """Two assistants, each with something about Ada; the first with something about Bob, too."""
    programs = [await network.program(name) for name in ("one", "two")]
    first, second = (MemoryClient(one.node.requester, jid_of(memory)) for one in programs)
    fact = Category.FACT
    await first.add(MemoryDraft(content="Ada rows\nin the lake", subject=ada.bare, category=fact))
    await second.add(MemoryDraft(content="Ada likes tea", subject=ada.bare))
    await first.add(MemoryDraft(content="Bob likes coffee", subject="bob@localhost"))
    # Of now: nothing is learned from a conversation that still goes on, and counted below.
    hello = ObservedMessage(id="1", role="user", content="hello", at=datetime.now(UTC))
    await first.observe("with ada", [hello], subject=ada.bare)
    return [first, second]


def number_of(answer: str, words: str) -> str:
    return next(line for line in answer.splitlines() if words in line).partition(" ")[0]


async def test_memories_are_listed_with_the_agent_that_stores_them(network: Network) -> None:
    memory, ada = await network.memory(), await network.person()
    await remembered(network, memory, ada)

    listed = await answer_to(ada, memory, "/memories")
    narrowed = await answer_to(ada, memory, "/memories TEA")
    none = await answer_to(ada, memory, "/memories zebra")

    assert "2. Ada rows in the lake (kept by one" in listed
    assert "1. Ada likes tea (kept by two" in listed
    assert "Bob" not in listed
    assert "rows" not in narrowed
    assert none == "Nothing with these words is remembered about you."


async def test_one_memory_is_corrected_and_another_removed(network: Network) -> None:
    memory, ada = await network.memory(), await network.person()
    first, second = await remembered(network, memory, ada)
    listed = await answer_to(ada, memory, "/memories")
    rows, tea = number_of(listed, "rows"), number_of(listed, "tea")

    corrected = await answer_to(ada, memory, f"/correct {rows} Ada sails on the lake")
    forgotten = await answer_to(ada, memory, f"/forget {tea}")

    assert corrected.startswith("Corrected: Ada sails on the lake (kept by one")
    assert forgotten.startswith("Forgotten, and the messages that said it in these words.")
    assert "Ada sails on the lake" in str((await first.list()).entries)
    assert (await second.list()).total == 0


async def test_bidirectional_controls_in_a_memory_do_not_affect_the_rest_of_the_line(
    network: Network,
) -> None:
    memory, ada = await network.memory(), await network.person()
    await remembered(network, memory, ada)
    rows = number_of(await answer_to(ada, memory, "/memories"), "rows")

    corrected = await answer_to(ada, memory, f"/correct {rows} Ada \u202esails\u2067 in اليمن")

    assert "Ada sails in اليمن (kept by one" in corrected


async def test_everything_goes_after_one_question(network: Network) -> None:
    memory, ada = await network.memory(), await network.person()
    first, second = await remembered(network, memory, ada)

    asked = await answer_to(ada, memory, "/forget all")
    before = (await second.list()).total
    done = await answer_to(ada, memory, "/forget all yes")

    assert "This removes 2 memories about you" in asked
    assert before == 1
    assert done == "Forgotten: 2 memories about you, and your conversations."
    assert (await second.list()).total == 0
    assert [entry.content for entry in (await first.list()).entries] == ["Bob likes coffee"]
    assert len(await first.history("with ada")) == 0


async def test_superseded_facts_are_marked_in_the_language_of_the_command(
    network: Network,
) -> None:
    memory, ada = await network.memory(), await network.person()
    first, _ = await remembered(network, memory, ada)
    entry = await first.add(MemoryDraft(content="Ada is single", subject=ada.bare))
    ended = MemoryChange(id=entry.id, invalid_at=datetime(2026, 3, 1, tzinfo=UTC))
    await first.update(ended)

    in_english = await answer_to(ada, memory, "/memories")
    in_spanish = await answer_to(ada, memory, "/recuerdos")
    forgotten = await answer_to(ada, memory, "/olvidar 1")

    assert "1. Ada is single (no longer true since 2026-03-01) (kept by one" in in_english
    assert "1. Ada is single (ya no es cierto desde 2026-03-01) (lo guarda one" in in_spanish
    assert forgotten.startswith("Olvidado")
    assert "Ada is single" not in await answer_to(ada, memory, "/memories")
    assert "This removes 2 memories about you" in await answer_to(ada, memory, "/forget all")


async def test_an_export_is_json_one_memory_per_line(network: Network) -> None:
    memory, ada = await network.memory(), await network.person()
    await remembered(network, memory, ada)

    exported = [json.loads(line) for line in await export_to(ada, memory, network)]

    assert {one["content"] for one in exported} == {"Ada rows\nin the lake", "Ada likes tea"}


async def test_memories_of_other_people_cannot_be_seen_or_changed(network: Network) -> None:
    memory, ada = await network.memory(), await network.person()
    eve = await network.person("eve")
    await remembered(network, memory, ada)
    tea = number_of(await answer_to(ada, memory, "/memories"), "tea")

    answers = [
        await answer_to(eve, memory, text)
        for text in (
            "/memories",
            f"/memories {ada.bare}",
            f"/correct {tea} Ada hates tea",
            f"/forget {tea}",
            "/forget all yes",
            "/export",
        )
    ]

    assert not any("tea" in answer.replace("hates tea", "") for answer in answers)
    assert "Ada likes tea" in await answer_to(ada, memory, "/memories")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello there", "/forget NUMBER"),
        ("¿qué sabes de mí?", "/olvidar NÚMERO"),
        ("/help", "/correct NUMBER"),
        ("/ayuda", "/corregir NÚMERO"),
        ("Help!", "/correct NUMBER"),
        ("¿ayuda?", "/corregir NÚMERO"),
        ("recuerdos", "No se recuerda nada de ti."),
        ("Memories?", "Nothing is remembered about you."),
        ("//export", "Nothing is remembered about you."),
        ("/recuerdos", "No se recuerda nada de ti."),
        ("/forget", "/forget NUMBER"),
        ("/forget 12345678", "has the number '12345678'"),
        ("/correct", "Write /correct NUMBER"),
        ("/olvidar todo", "/olvidar todo sí"),
        ("/forget all", "This removes 0 memories about you"),
        ("/olvidar todo sí", "Olvidado: 0 recuerdos"),
        ("/export", "Nothing is remembered about you."),
    ],
)
async def test_every_other_text_gets_a_short_answer(
    network: Network, text: str, words: str
) -> None:
    memory, ada = await network.memory(), await network.person()

    answer = await answer_to(ada, memory, text)

    assert words in answer
    assert len(answer) < 700


async def test_a_passport_without_uploads_comes_as_messages_that_make_the_file(
    embedded: Provisioner, tmp_path: Path
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        network = Network(server=embedded, directory=tmp_path, stack=stack)
        memory, ada = await network.memory(), await network.person()
        first, _ = await remembered(network, memory, ada)
        texts = [f"{number} " + "some words of Ada's life " * 40 for number in range(20)]
        await first.add_many([MemoryDraft(content=text, subject=ada.bare) for text in texts])

        ada.send(jid_of(memory), "/passport")
        note = str((await ada.received())["body"])
        pieces = [str((await ada.received())["body"])]
        while '"kind":"signature"' not in pieces[-1]:
            pieces.append(str((await ada.received())["body"]))

    passport = read_passport("\n".join(pieces).encode())
    assert len(pieces) > 3
    assert note.startswith("This server takes no files: copy the lines of my next messages")
    assert passport.header.fingerprint in note
    assert (passport.header.entries, passport.header.left_out) == (22, 0)


async def test_a_program_gets_a_passport_as_its_answer(network: Network) -> None:
    memory, program = await network.memory(), await network.program("reader")
    store = MemoryClient(program.node.requester, jid_of(memory))
    await store.add(MemoryDraft(content="the reader reads", subject=jid_of(program)))

    answer = await ChatClient(program.node.requester, jid_of(memory)).say("/passport")

    assert read_passport(answer.text.encode()).header.subject == jid_of(program)
