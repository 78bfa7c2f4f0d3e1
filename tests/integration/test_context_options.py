"""Turns whose asker decides what the model is told: over the wire, with real agents around."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import Services
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.turn.turn_options import ContextOptions, ToolOptions
from spade_llm.core.errors import ModelUnavailable, RequestFailed, RequestRefused
from spade_llm.guardrails import GuardrailAction, KeywordGuardrail
from spade_llm.memory import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.providers import OfflineProvider, ScriptedProvider
from spade_llm.providers.quoted_context import CONTEXT_NAME, read_context
from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient
from spade_llm.search.memory_query import MemoryType
from tests.integration.gated_model import GatedModel
from tests.integration.network import eventually, jid_of

if TYPE_CHECKING:
    from spade_llm.agents import ChatAgent, LLMAgent
    from spade_llm.providers.model import ChatModel
    from spade_llm.providers.scripted import ScriptedRequest
    from tests.integration.network import Network

pytestmark = pytest.mark.server

EMBEDDED = pytest.mark.parametrize("server", ["embedded"], indirect=True)
WISHES = ContextOptions(use_documents=True, language="en")
FILLERS = ("Trains leave at seven", "Bread is baked at night", "Cats sleep a lot", "Iron rusts")
"""So that not every memory has the words that are looked for, which would tell nothing then."""


async def stage(network: Network, model: ChatModel) -> tuple[LLMAgent, ChatAgent, ChatClient]:
    """An assistant with everything around it, and a program that talks with it."""
    memory, rag, tools = await asyncio.gather(network.memory(), network.rag(), network.tools())
    services = Services(memory=jid_of(memory), rag=jid_of(rag), tools=(jid_of(tools),))
    assistant = await network.assistant(model, services=services)
    program = await network.program()
    return assistant, program, ChatClient(program.node.requester, jid_of(assistant))


async def remember(
    assistant: LLMAgent, program: ChatAgent, *drafts: tuple[str, MemoryType]
) -> None:
    store = assistant.memory_behaviour.memory
    assert isinstance(store, MemoryClient)
    subject = jid_of(program)
    await store.add_many([MemoryDraft(content=t, type=k, subject=subject) for t, k in drafts])


async def give(
    network: Network, assistant: LLMAgent, program: ChatAgent, *texts: str, namespace: str = "docs"
) -> None:
    """Documents of the program's own, which the assistant may quote to it."""
    rag = next(jid for jid in network.passwords if jid.startswith("rag"))
    mine = RagClient(program.node.requester, rag)
    for number, text in enumerate(texts):
        await mine.ingest(Document(text=text, source=f"{number}.md", namespace=namespace))
    await mine.grant(namespace, to=jid_of(assistant))


def quoted(request: ScriptedRequest) -> str:
    return "".join(
        str(one["content"]) for one in request.messages if one.get("name") == CONTEXT_NAME
    )


async def test_the_reply_reports_the_context_of_the_model(network: Network) -> None:
    model = ScriptedProvider.echo()
    assistant, program, client = await stage(network, model)
    await remember(
        assistant,
        program,
        ("Ada rows on the river Tajo", MemoryType.SEMANTIC),
        ("Ada prefers the river to the sea", MemoryType.PROFILE),
        *((text, MemoryType.SEMANTIC) for text in FILLERS),
    )
    await give(network, assistant, program, "The river Tajo is 1007 km long.", "Bread needs flour.")
    await client.say("I saw the river yesterday", conversation_id="one", context=WISHES)

    reply = await client.say("How long is the river?", conversation_id="one", context=WISHES)

    assert reply.context is not None
    request, lines = model.requests[-1], reply.context.text.split("\n")
    assert [(one["role"], one["content"]) for one in request.messages[1:3]] == [
        ("user", "I saw the river yesterday"),
        ("assistant", "I saw the river yesterday"),
    ]
    assert request.messages[-1]["content"] == "How long is the river?"
    read = read_context(quoted(request))
    assert {one.text for one in read.memories} >= {
        "Ada rows on the river Tajo",
        "Ada prefers the river to the sea",
    }
    assert [line for line in lines if line.startswith("## ")] == [
        "## Recent History",
        "## Key Facts",
        "## User Profile",
        "## Relevant Documents (RAG)",
        "## Tools",
    ]
    assert any(line.startswith("- calculator: ") for line in lines)
    first = reply.context.sources[0]
    assert (first.source, first.namespace, first.chunk_index) == ("0.md", "docs", 0)
    assert first.content == read.documents[0].text == "The river Tajo is 1007 km long."
    assert 0 < reply.context.tokens <= 4000
    assert reply.missing == ()
    why = await client.why(conversation_id="one")
    assert (why.record.history_messages, why.record.read_messages) == (3, 3)
    assert len(why.record.passages) == len(reply.context.sources)


@EMBEDDED
async def test_each_wish_leaves_out_what_it_does_not_name(network: Network) -> None:
    model = ScriptedProvider.echo()
    assistant, program, client = await stage(network, model)
    await remember(
        assistant,
        program,
        ("The river is blue", MemoryType.SEMANTIC),
        ("Short answers about the river", MemoryType.PROFILE),
        *((text, MemoryType.SEMANTIC) for text in FILLERS),
    )
    await give(network, assistant, program, "The river is long.")
    await give(network, assistant, program, "The river is deep.", namespace="other")
    no_tools = ToolOptions(tool_choice="none")

    async def told(wishes: ContextOptions, conversation: str = "two") -> str:
        reply = await client.say(
            "The river?", conversation_id=conversation, context=wishes, wishes=no_tools
        )
        assert reply.context is not None
        assert quoted(model.requests[-1]).count("The river is") == reply.context.text.count(
            "The river is"
        )
        return reply.context.text

    forgetful = await told(ContextOptions(use_memory=False))
    profile = await told(ContextOptions(memory_types=(MemoryType.PROFILE,)), "three")
    other = await told(
        ContextOptions(use_memory=False, use_documents=True, namespaces=("other",), top_k=1)
    )
    unknown = await told(
        ContextOptions(use_memory=False, use_documents=True, namespaces=("nowhere",))
    )
    again = await told(ContextOptions(memory_types=()))

    assert (forgetful, unknown) == ("", "")
    head, _, date = profile.partition(" (since ")
    assert head == "## Perfil del Usuario\n\n- Short answers about the river"
    assert len(date) == len("2026-11-23)")
    assert other == "## Documentos Relevantes (RAG)\n\n- [0.md, passage 1] The river is deep."
    assert again.count("The river?") == 6  # Kept, though it was not read meanwhile.


@EMBEDDED
async def test_facts_of_one_session_are_recalled_in_the_next(network: Network) -> None:
    model = ScriptedProvider(["Fine."] * 9)
    assistant, program, client = await stage(network, model)
    for text in ("My boat is called Zephyr", *FILLERS):
        await client.say(text, conversation_id="one", context=WISHES)
    store = assistant.memory_behaviour.memory
    assert isinstance(store, MemoryClient)

    async def is_kept() -> bool:
        return len(await store.history(f"{jid_of(program)}#one", limit=100)) == 10

    await eventually(is_kept)
    reply = await client.say("What is my boat called?", conversation_id="two", context=WISHES)
    facts = ContextOptions(memory_types=(MemoryType.SEMANTIC,))
    other = await client.say("What is my boat called?", conversation_id="three", context=facts)

    assert reply.context is not None
    assert other.context is not None
    # The fact, which says the same as the message, and by its type alone, too.
    for built in (reply.context, other.context):
        assert "- My boat is called Zephyr (" in built.text
    assert "- user: My boat" not in reply.context.text


@EMBEDDED
async def test_unavailable_services_are_named_in_metadata_not_in_the_text(network: Network) -> None:
    services = Services(
        memory=await network.account("memory"),
        rag=await network.account("rag"),
        tools=(await network.account("tools"),),
    )
    assistant = await network.assistant(services=services)
    program = await network.program()
    client = ChatClient(program.node.requester, jid_of(assistant))

    reply = await client.say("hello", context=WISHES)
    without = await client.say("hello", context=WISHES, wishes=ToolOptions(tool_choice="none"))

    assert set(reply.missing) == {"memory", "documents", "tools"}
    assert set(without.missing) == {"memory", "documents"}
    assert reply.text == "hello"


@EMBEDDED
async def test_wishes_out_of_range_are_refused_and_a_model_that_fails_is_a_failure(
    network: Network,
) -> None:
    assistant = await network.assistant(ScriptedProvider([ModelUnavailable("gone"), "back"]))
    program = await network.program()
    client = ChatClient(program.node.requester, jid_of(assistant))

    with pytest.raises(RequestFailed) as failed:
        await client.say("hello", conversation_id="c", context=ContextOptions())
    reply = await client.say("hello?", conversation_id="c", context=ContextOptions())
    with pytest.raises(RequestRefused) as refused:
        await client.say("hello", wishes=ToolOptions(tool_choice="fly"), context=ContextOptions())

    assert failed.value.wire_code == "model-unavailable"
    assert reply.text == "back"
    assert refused.value.wire_code == "invalid-arguments"


@EMBEDDED
@pytest.mark.parametrize("is_rules", [True, False])
async def test_a_named_tool_is_called_and_the_steps_say_so(
    network: Network, is_rules: bool
) -> None:
    script = ScriptedProvider(["no", "still no", "It is 42."])
    _, _, client = await stage(network, OfflineProvider() if is_rules else script)
    wishes = ToolOptions(tool_choice="calculator", tools=("calculator",))

    reply = await client.say("Work out 6*7 for me please", context=ContextOptions(), wishes=wishes)

    (call,), (step,) = reply.tool_calls, reply.steps
    assert (call.name, call.success, call.result) == ("calculator", True, "42")
    assert (step.round, step.tools) == (1, ("calculator",))
    assert "42" in reply.text
    assert reply.context is not None
    assert reply.context.text.startswith("## Herramientas\n\n- calculator: ")


@EMBEDDED
@pytest.mark.parametrize("action", [GuardrailAction.MODIFY, GuardrailAction.BLOCK])
async def test_guardrails_judge_what_a_reply_shows(
    network: Network, action: GuardrailAction
) -> None:
    model = ScriptedProvider.echo()
    assistant, program, client = await stage(network, model)
    await give(network, assistant, program, "The river is secretly deep.", "The river is long.")
    is_blocking = action is GuardrailAction.BLOCK
    assistant.add_output_guardrail(KeywordGuardrail("k", ["secretly"], action, "[…]"))

    reply = await client.say("The river?", context=WISHES)

    assert reply.context is not None
    assert "secretly" in quoted(model.requests[-1])
    assert "secretly" not in reply.model_dump_json()
    assert reply.text == "The river?"
    assert is_blocking == (reply.context.text == "")
    shown = {source.content for source in reply.context.sources}
    assert shown == (set() if is_blocking else {"The river is […] deep.", "The river is long."})


@EMBEDDED
async def test_a_turn_is_stopped_when_its_asker_has_left(network: Network) -> None:
    model = GatedModel()
    assistant = await network.assistant(model)
    program = await network.program()
    client = ChatClient(program.node.requester, jid_of(assistant))
    asked = asyncio.create_task(
        client.say("wait for me", conversation_id="c", context=ContextOptions())
    )
    await asyncio.wait_for(model.was_asked.wait(), 30)

    asked.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asked
    reply = await client.say("next", conversation_id="c", context=ContextOptions())

    assert reply.text == "next"
    assert reply.context is not None
    assert "- user: wait for me" in reply.context.text
