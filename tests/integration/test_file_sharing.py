"""A person shares files with an assistant, and asks about them."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pytest

from spade_llm.agents import Services
from spade_llm.assistant.middleware import file_sharing
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.rag.names import personal_namespace
from spade_llm.rag.remote import RagClient
from spade_llm.xmpp.features.uploads import upload
from tests.integration.network import Network, answer_to, context_of, fetched, jid_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from spade_llm.agents import LLMAgent
    from spade_llm.providers.model import ContextMessage, ToolSpec
    from tests.conftest import Provisioner
    from tests.xmpp.client import Client

TIDES = "# Tides\n\nHigh water at the lighthouse is at noon."


@pytest.fixture
async def harbour(
    prosody: Provisioner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Network]:
    """Where files can be uploaded. Nobody is told meanwhile that one is still being read: how slow
    this machine is would decide (tests/assistant/middleware/test_file_sharing.py)."""
    monkeypatch.setattr(file_sharing, "PROGRESS_EVERY_S", ())
    async with contextlib.AsyncExitStack() as stack:
        yield Network(server=prosody, directory=tmp_path, stack=stack)


async def put(network: Network, name: str, text: str) -> str:
    """What a client does before it sends the address."""
    path = network.directory / name
    path.write_text(text)
    return await upload(await network.program("uploader"), path)


async def share(client: Client, agent: LLMAgent, url: str, *, text: str | None = None) -> str:
    """As people's clients do; return the answer's text."""
    body = escape(url if text is None else text)
    client.send_raw(
        f"<message to='{jid_of(agent)}' type='chat' id='f-{hash(body)}'><body>{body}</body>"
        f"<x xmlns='jabber:x:oob'><url>{escape(url)}</url></x></message>"
    )
    return str((await client.received())["body"])


def read_back(messages: Sequence[ContextMessage], _: Sequence[ToolSpec]) -> str:
    return context_of(messages)


@pytest.mark.server
async def test_a_shared_file_is_read_and_asked_about(harbour: Network) -> None:
    rag = await harbour.rag()
    model = ScriptedProvider(
        ["It tells when the tide is high.", *["Noon, says [tides.md, passage 1]."] * 2]
    )
    assistant = await harbour.assistant(model, services=Services(rag=jid_of(rag)))
    ada, bob = await harbour.person("ada"), await harbour.person("bob")

    told = await share(ada, assistant, await put(harbour, "tides.md", TIDES))
    answer = await answer_to(ada, assistant, "When is high water at the lighthouse?")
    await answer_to(bob, assistant, "When is high water at the lighthouse?")

    assert "I have read tides.md (49 characters, 1 passage)" in told
    assert "when the tide is high" in told
    assert "[tides.md, passage 1]" in answer
    summary, hers, his = (context_of(one.messages) for one in model.requests)
    assert "High water" in summary
    assert "is at noon" in hers
    assert "I share a file with you: tides.md" in hers
    assert "file_share" not in hers  # The address is a key to the file.
    assert "is at noon" not in his


@pytest.mark.server
async def test_a_question_sent_with_a_file_is_answered_from_it(harbour: Network) -> None:
    rag = await harbour.rag()
    model = ScriptedProvider(["Noon."])
    assistant = await harbour.assistant(model, services=Services(rag=jid_of(rag)))
    ada = await harbour.person()
    url = await put(harbour, "tides.md", TIDES)

    told = await share(ada, assistant, url, text=f"When is high water? {url}")
    answer = str((await ada.received())["body"])

    assert "I have read tides.md" in told
    assert answer == "Noon."
    assert "is at noon" in context_of(model.requests[0].messages)


@pytest.mark.server
async def test_an_address_on_our_server_is_a_file_without_being_called_one(
    harbour: Network,
) -> None:
    rag = await harbour.rag()
    assistant = await harbour.assistant(
        ScriptedProvider(["Tides.", "What about it?"]), services=Services(rag=jid_of(rag))
    )
    ada = await harbour.person()

    ours = await answer_to(ada, assistant, await put(harbour, "tides.md", TIDES))
    anothers = await answer_to(ada, assistant, "https://elsewhere.example/tides.md")

    assert "I have read tides.md" in ours
    assert anothers == "What about it?"


@pytest.mark.server
async def test_files_that_are_not_taken_are_declined_in_words(harbour: Network) -> None:
    rag = await harbour.rag()
    model = ScriptedProvider()
    assistant = await harbour.assistant(model, services=Services(rag=jid_of(rag)))
    ada = await harbour.person()
    gone = await put(harbour, "broken.pdf", "no PDF")

    foreign = await share(ada, assistant, "https://localhost:1/secret.md")
    picture = await share(ada, assistant, "https://localhost:1/cat.jpg")
    encrypted = await share(ada, assistant, "aesgcm://localhost/x.md#00")
    broken = await share(ada, assistant, gone)

    assert "only from the server that I am on" in foreign
    assert "cannot read cat.jpg" in picture
    assert "end-to-end encrypted" in encrypted
    assert "cannot read broken.pdf" in broken
    assert model.requests == []


@pytest.mark.server
async def test_forgetting_a_person_deletes_their_files(harbour: Network) -> None:
    rag = await harbour.rag()
    assistant = await harbour.assistant(
        ScriptedProvider(["Tides."]), services=Services(rag=jid_of(rag))
    )
    ada = await harbour.person()
    await share(ada, assistant, await put(harbour, "tides.md", TIDES))
    held = RagClient(assistant.node.requester, jid_of(rag))

    before = await held.stats(personal_namespace(ada.bare))
    await answer_to(ada, assistant, "/forget all yes")
    after = await held.stats(personal_namespace(ada.bare))

    assert (before.documents, after.documents) == (1, 0)


async def test_without_documents_a_file_is_declined_in_words(network: Network) -> None:
    assistant = await network.assistant()
    ada = await network.person()

    answer = await share(ada, assistant, "https://localhost:1/tides.md")

    assert "cannot read files" in answer


LONG = "\n\n".join(f"Paragraph {number}. " + "Waves come and go." * 20 for number in range(60))


@pytest.mark.server
async def test_a_long_answer_comes_as_a_file_with_its_beginning(harbour: Network) -> None:
    assistant = await harbour.assistant(ScriptedProvider([LONG, "short"]))
    ada = await harbour.person()

    ada.send(jid_of(assistant), "Tell me about waves.")
    file, answer = await ada.received(), await ada.received()
    url = file.xml.findtext("{jabber:x:oob}x/{jabber:x:oob}url")
    short = await answer_to(ada, assistant, "And in short?")

    assert file["body"] == url
    assert url.endswith(".md")
    assert answer["body"].startswith("Paragraph 0.")
    assert len(answer["body"]) < 4000
    assert url in answer["body"]
    assert await fetched(harbour, url) == LONG
    assert short == "short"


async def test_where_no_file_can_be_sent_all_of_it_comes_and_says_so(
    embedded: Provisioner, tmp_path: Path
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        network = Network(server=embedded, directory=tmp_path, stack=stack)
        assistant = await network.assistant(ScriptedProvider([LONG]))
        ada = await network.person()

        ada.send(jid_of(assistant), "Tell me about waves.")
        parts = [str((await ada.received())["body"])]
        while "Paragraph 59." not in parts[-1]:
            parts.append(str((await ada.received())["body"]))

    assert "cannot send files here" in parts[0]
    assert len(parts) > 5


@pytest.mark.server
async def test_memories_are_exported_as_a_file(harbour: Network) -> None:
    memory = await harbour.memory()
    assistant = await harbour.assistant(services=Services(memory=jid_of(memory)))
    ada = await harbour.person()
    kept = MemoryClient(assistant.node.requester, jid_of(memory))
    await kept.add(MemoryDraft(content="Her boat is Zephyr.", subject=ada.bare))

    for agent in (assistant, memory):
        ada.send(jid_of(agent), "/export")
        url, answer = str((await ada.received())["body"]), str((await ada.received())["body"])

        assert answer == f"All that I remember about you is in this file: {url}"
        assert json.loads(await fetched(harbour, url))["content"] == "Her boat is Zephyr."
