"""What the chat benchmarks share: services with something in them, and answers that are right."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bench.account import MEMORY, RAG
from bench.process import running
from bench.questions import questions
from bench.row import Scale, check
from spade_llm.agents import ChatAgent, XmppAgent
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.account import Account
    from bench.raw import Person
    from bench.stage import Stage

DOCUMENTS = Path(__file__).parent.parent / "docs"
FIRST = DOCUMENTS / "design" / "wire.md"
"""The one that a quick run asks about."""
MEMORIES_EACH = 20


async def furnish(owner: Account, subjects: Sequence[Account], scale: Scale) -> None:
    """The project's own documents, and memories about each of these people, for this agent."""
    # The wire reference is generated, and too large for one request.
    pages = (path for path in DOCUMENTS.rglob("*.md") if path.name != "wire-reference.md")
    paths = sorted(pages, key=lambda path: (path != FIRST, path))
    agent = XmppAgent(owner.jid, owner.password, options=owner.options)
    async with running(agent):
        library = RagClient(agent.node.requester, RAG)
        for path in paths[: scale.of(len(paths), quick=1)]:
            await library.ingest(Document(text=path.read_text(), source=path.name))
        store = MemoryClient(agent.node.requester, MEMORY)
        for subject in subjects:
            for text in islice(questions(seed=3), scale.of(MEMORIES_EACH, quick=1)):
                await store.add(MemoryDraft(content=f"Asked: {text}", subject=subject.jid))


async def check_services(stage: Stage, assistant: str) -> None:
    """Raises WrongAnswer if the assistant answers without memory, documents or tools."""
    asker = await stage.account("asker")
    agent = ChatAgent(asker.jid, asker.password, options=asker.options)
    async with running(agent):
        reply = await agent.say(assistant, "What does the answer log write down?")
    check(not reply.missing, f"answered without {reply.missing}")
    check(bool(reply.sources), "no document was quoted to the model")


async def say(person: Person, assistant: str, text: str) -> None:
    """Raises WrongAnswer unless the model's words come back."""
    check_reply(await person.say(assistant, text), text)


def check_reply(reply: str, text: str) -> None:
    check(reply == f"You said: {text}", f"to {text!r} the answer was {reply!r}")
