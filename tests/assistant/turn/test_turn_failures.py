"""What an assistant says when its own disk or its model refuses."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from spade_llm.agents.local_memory import open_local_memory
from spade_llm.assistant.chat.service import ChatTurnInput
from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.history.conversation_cache import ConversationCache
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer, MemoryToolSet
from spade_llm.context import NoContextManagement
from spade_llm.core.errors import ModelUnavailable, PeerUnavailable
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.messaging import AclMessage, Performative
from spade_llm.providers import Completion, ScriptedProvider, ToolCall
from spade_llm.providers.quoted_context import CONTEXT_NAME
from tests.integration.network import context_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from spade_llm.memory.contract import ObservedMessage, OwnedMemory
    from spade_llm.providers.model import ChatModel


def an_utterance(text: str, *, peer: str = "you@x", id: str = "1") -> ChatTurnInput:
    message = AclMessage(
        performative=Performative.REQUEST, sender=f"{peer}/1", receiver="a@x", content=text
    )
    return ChatTurnInput(id=id, peer=peer, conversation=peer, text=text, message=message)


def an_assistant(
    model: ChatModel,
    memory: MemoryBehaviour,
    tools: MemoryToolSet = MemoryToolSet.BASE,
) -> LLMBehaviour:
    return LLMBehaviour(
        model,
        strategy=NoContextManagement(),
        system_prompt="Be",
        memory=memory,
        memory_offer=MemoryOffer(owner="a@x", tools=tools),
        toolboxes=[],
        limits=TurnLimits(),
    )


async def test_a_failing_disk_does_not_prevent_answers(tmp_path: Path) -> None:
    closed = MemoryOutbox(tmp_path / "never-opened.db")
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend:
        memory = MemoryBehaviour(memory=backend.for_owner("a@x"), retriever=None, outbox=closed)
        assistant = an_assistant(ScriptedProvider(["hello"]), memory)

        reply = await assistant.answer(an_utterance("hi"))

    assert reply.text.startswith("hello")
    assert reply.missing == ("memory",)


async def test_a_model_that_fails_costs_one_polite_sentence_and_no_conversation() -> None:
    model = ScriptedProvider([ModelUnavailable("connection refused by 10.0.0.7"), "better now"])
    async with MemoryOutbox(None) as outbox:
        memory = MemoryBehaviour(memory=None, retriever=None, outbox=outbox)
        assistant = an_assistant(model, memory)

        sorry = await assistant.answer(an_utterance("hi"))
        answer = await assistant.answer(an_utterance("and now?"))

    assert "Please try again" in sorry.text
    assert "10.0.0.7" not in sorry.text
    assert answer.text == "better now"
    assert [m["role"] for m in model.requests[1].messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]


async def test_a_conversation_that_rested_comes_back_with_its_next_message() -> None:
    model = ScriptedProvider(["noted", "it is swordfish"])
    now = [0.0]
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        memory = MemoryBehaviour(memory=backend.for_owner("a@x"), retriever=None, outbox=outbox)
        assistant = an_assistant(model, memory)
        assistant.conversations = ConversationCache(idle_s=60, clock=lambda: now[0])
        await assistant.answer(an_utterance("the password is swordfish"))

        now[0] = 60
        assistant.conversations.expire()
        assert len(assistant.conversations) == 0
        await assistant.answer(an_utterance("what is it?"))

    assert texts_read(model)[-3:] == ["the password is swordfish", "noted", "what is it?"]


async def test_notes_of_the_assistant_are_quoted_to_the_model(tmp_path: Path) -> None:
    own = open_local_memory("a@x", interaction_memory=(True, str(tmp_path)))
    assert own.interaction_memory is not None
    own.interaction_memory.add_information("you@x", "Their API speaks JSON")
    model = ScriptedProvider(["fine", "fine"])
    async with MemoryOutbox(None) as outbox:
        memory = MemoryBehaviour(memory=None, retriever=None, outbox=outbox, notes=own.notes_about)
        assistant = an_assistant(model, memory)

        await assistant.answer(an_utterance("hi"))
        await assistant.answer(an_utterance("hi", peer="other@x"))

    first, second = (context_of(request.messages) for request in model.requests)
    assert "Their API speaks JSON" in first
    assert "Their API speaks JSON" not in second


def a_call(name: str, **arguments: object) -> Completion:
    call = ToolCall(id="1", name=name, arguments=json.dumps(arguments))
    return Completion(tool_calls=(call,))


async def test_entry_tools_store_memories_of_the_person_in_the_chat(
    tmp_path: Path,
) -> None:
    stores = a_call("memory_store", content="You like tea")
    model = ScriptedProvider([stores, "noted", a_call("memory_list"), "nothing"])
    async with SQLiteMemoryBackend(tmp_path / "m.db") as backend, MemoryOutbox(None) as outbox:
        store = backend.for_owner("a@x")
        memory = MemoryBehaviour(memory=store, retriever=None, outbox=outbox)
        assistant = an_assistant(model, memory, MemoryToolSet.ENTRIES)

        await assistant.answer(an_utterance("I like tea"))
        await assistant.answer(an_utterance("what do you know?", peer="other@x"))
        (entry,) = (await store.list()).entries

    offered = {tool.name for tool in model.requests[0].tools}
    assert "memory_store" in offered
    assert "store_memory" not in offered
    assert entry.subject == "you@x"
    assert '"total": 0' in str(model.requests[-1].messages[-1]["content"])


class Forgetful:
    """A memory whose history may be away."""

    def __init__(self, memory: OwnedMemory) -> None:
        self.is_away = False
        self._memory = memory

    def __getattr__(self, name: str) -> object:
        return getattr(self._memory, name)

    async def history(
        self, conversation: str, *, limit: int = 100, before: str | None = None
    ) -> Sequence[ObservedMessage]:
        if self.is_away:
            raise PeerUnavailable("away", peer="memory@x")
        await asyncio.sleep(0)
        return await self._memory.history(conversation, limit=limit, before=before)


@asynccontextmanager
async def a_forgetful_memory() -> AsyncIterator[tuple[MemoryBehaviour, Forgetful]]:
    async with SQLiteMemoryBackend(":memory:") as backend, MemoryOutbox(None) as outbox:
        store = Forgetful(backend.for_owner("a@x"))
        memory = cast("OwnedMemory", store)  # It hands on whatever it does not do itself.
        yield MemoryBehaviour(memory=memory, retriever=None, outbox=outbox), store


def texts_read(model: ScriptedProvider) -> list[object]:
    asked = model.requests[-1].messages
    return [one["content"] for one in asked if one.get("name") != CONTEXT_NAME]


async def test_messages_sent_while_memory_was_unavailable_are_read_once() -> None:
    model = ScriptedProvider(["one", "two", "three"])
    async with a_forgetful_memory() as (memory, store):
        await an_assistant(model, memory).answer(an_utterance("before", id="0"))
        again = an_assistant(model, memory)
        store.is_away = True
        await again.answer(an_utterance("while it is away", id="1"))
        store.is_away = False

        await again.answer(an_utterance("now", id="2"))

    assert texts_read(model) == ["Be", "before", "one", "while it is away", "two", "now"]


async def test_turns_side_by_side_load_their_conversation_once() -> None:
    model = ScriptedProvider(["one", "two", "three", "four"])
    async with a_forgetful_memory() as (memory, _):
        await an_assistant(model, memory).answer(an_utterance("before", id="0"))
        again = an_assistant(model, memory)

        await asyncio.gather(*(again.answer(an_utterance(id, id=id)) for id in "12"))
        await again.answer(an_utterance("now", id="3"))

    *earlier, first, _, second, _, now = texts_read(model)
    assert (earlier, {first, second}, now) == (["Be", "before", "one"], {"1", "2"}, "now")
