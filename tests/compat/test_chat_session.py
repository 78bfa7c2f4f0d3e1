"""What agents of programs for spade_llm 0.3 say to each other, on a real server."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from spade_llm.agents import ChatAgent, LLMAgent, RetrievalAgent
from spade_llm.assistant.config import AssistantConfig
from spade_llm.compat.retrieval_agent import RetrievalBehaviour
from spade_llm.core.errors import RequestRefused
from spade_llm.providers import Completion, ScriptedProvider
from spade_llm.rag import BaseRetriever, Document
from spade_llm.tools import LLMTool, RetrievalTool
from spade_llm.xmpp.spade_adapters import SpadeMessage, SpadeTemplate
from tests.integration.network import WAIT_S, Network, calling, context_of, jid_of
from tests.integration.test_spade_agents import Hear, Say, plain_agent, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.providers.model import ContextMessage

FACTS = [
    Document("The lighthouse has 199 steps", {"source": "guide.md"}),
    Document("The harbour has two cranes", {"source": "harbour.md"}),
]


class Shelf(BaseRetriever):
    """Finds by shared words, and remembers how it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, object]] = []

    async def retrieve(self, query: str, k: int = 4, **keywords: Any) -> list[Document]:
        self.asked.append((query, k, keywords.get("filters")))
        if query == "break":
            raise RuntimeError("a shelf of secrets broke")
        words = set(query.lower().split())
        return [one for one in FACTS if words & set(one.text.lower().split())][:k]


async def retrieval_agent(
    network: Network, shelf: BaseRetriever, **keywords: Any
) -> RetrievalAgent:
    jid = await network.account("retrieval")
    agent = RetrievalAgent(
        jid, network.passwords[jid], shelf, options=network.options(jid), **keywords
    )
    return await network.start(agent)


async def asked(network: Network, agent: RetrievalAgent, body: str, kind: str) -> Any:
    plain = await plain_agent(network)
    metadata = {"message_type": "retrieval"}
    message = SpadeMessage(to=jid_of(agent), body=body, thread="t 1", metadata=metadata)
    return await said(plain, message, SpadeTemplate(metadata={"message_type": kind}))


async def test_a_plain_agent_asks_for_documents_in_json(network: Network) -> None:
    shelf = Shelf()
    agent = await retrieval_agent(network, shelf)
    body = json.dumps({"query": "lighthouse steps", "k": 1, "filters": {"source": "guide.md"}})

    answer = await asked(network, agent, body, "retrieval_response")

    found = {"content": "The lighthouse has 199 steps", "metadata": {"source": "guide.md"}}
    assert json.loads(answer.body) == {"documents": [found]}
    assert answer.thread == "t 1"
    assert answer.get_metadata("query") == "lighthouse steps"
    assert answer.get_metadata("num_results") == "1"
    assert float(answer.get_metadata("retrieval_time")) >= 0
    assert shelf.asked == [("lighthouse steps", 1, {"source": "guide.md"})]


async def test_a_query_may_be_plain_text(network: Network) -> None:
    shelf = Shelf()
    told: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
    agent = await retrieval_agent(
        network,
        shelf,
        default_k=2,
        on_retrieval_complete=lambda query, found: told.put_nowait((query, len(found))),
    )

    await asked(network, agent, "the harbour", "retrieval_response")

    assert shelf.asked == [("the harbour", 2, None)]
    assert told.get_nowait() == ("the harbour", 2)
    assert agent.get_retrieval_stats()["total_documents_retrieved"] == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [('{"query": ""}', "query"), ('{"query": "x", "k": 0}', "k"), ("break", "in the log")],
)
async def test_errors_are_shown_without_internals(network: Network, body: str, reason: str) -> None:
    agent = await retrieval_agent(network, Shelf())

    answer = await asked(network, agent, body, "retrieval_error")

    said = json.loads(answer.body)
    assert reason in said["error"]
    assert "secrets" not in said["error"]
    assert said["query"] == body
    assert agent.get_retrieval_stats()["failed_retrievals"] == 1


async def test_a_model_searches_by_the_tool_and_reads_what_was_found(network: Network) -> None:
    shelf = await retrieval_agent(network, Shelf())
    tool = RetrievalTool(jid_of(shelf), k=1)
    model = ScriptedProvider(
        [calling("retrieve_documents", '{"query": "lighthouse"}'), _what_was_found]
    )
    assistant = await program(network, model, tools=[tool])
    ada = await network.program("ada")

    reply = await ada.say(jid_of(assistant), "How many steps?")

    assert "The lighthouse has 199 steps" in reply.text


async def test_a_tool_says_what_a_retrieval_agent_could_not_do(network: Network) -> None:
    shelf = await retrieval_agent(network, Shelf())
    call = calling("retrieve_documents", '{"query": "break"}')
    model = ScriptedProvider([call, _what_was_found])
    assistant = await program(network, model, tools=[RetrievalTool(jid_of(shelf))])
    ada = await network.program("ada")

    reply = await ada.say(jid_of(assistant), "Break it")

    assert "the search failed" in reply.text


async def test_a_tool_that_asks_an_agent_that_cannot_retrieve_learns_it_at_once(
    network: Network,
) -> None:
    rag = await network.rag()
    call = calling("retrieve_documents", '{"query": "harbour"}')
    model = ScriptedProvider([call, _what_was_found])
    tool = RetrievalTool(jid_of(rag), timeout=500)
    assistant = await program(network, model, tools=[tool])
    ada = await network.program("ada")

    reply = await asyncio.wait_for(ada.say(jid_of(assistant), "Where are cranes?"), WAIT_S)

    assert "cannot be searched now" in reply.text


async def test_an_assistant_answers_nothing_that_is_for_other_behaviours(network: Network) -> None:
    model = ScriptedProvider.echo()
    assistant = await program(network, model)
    plain = await plain_agent(network)
    for kind in ("retrieval_response", "retrieval_error"):
        stray = SpadeMessage(to=jid_of(assistant), body="stray", metadata={"message_type": kind})
        plain.add_behaviour(Say(stray))
    asking = SpadeMessage(
        to=jid_of(assistant), body="hello", metadata={"message_type": "llm"}, thread="t 2"
    )

    template = SpadeTemplate(metadata={"message_type": "llm"})
    answer = await said(plain, asking, template)

    assert "hello" in answer.body
    assert answer.get_metadata("message_type") == "llm"
    assert answer.thread == "t 2"
    assert [context_of(one.messages[-1:]) for one in model.requests] == ["hello"]


async def test_a_retrieval_behaviour_works_in_a_plain_agent(network: Network) -> None:
    plain = await plain_agent(network)
    asked_for = SpadeTemplate(metadata={"message_type": "retrieval"})
    plain.add_behaviour(RetrievalBehaviour(Shelf()), asked_for)
    tool = RetrievalTool(str(plain.jid))
    model = ScriptedProvider(
        [calling("retrieve_documents", '{"query": "harbour"}'), _what_was_found]
    )
    assistant = await program(network, model, tools=[tool])
    ada = await network.program("ada")

    reply = await ada.say(jid_of(assistant), "Where are cranes?")

    assert "The harbour has two cranes" in reply.text


async def test_a_tool_that_is_added_is_offered_from_then_on(network: Network) -> None:
    model = ScriptedProvider([calling("shout", '{"word": "ahoy"}'), _what_was_found])
    assistant = await program(network, model)
    schema = {"type": "object", "properties": {"word": {"type": "string"}}}
    assistant.add_tool(LLMTool("shout", "Says it loud", schema, func=lambda word: word.upper()))
    ada = await network.program("ada")

    reply = await ada.say(jid_of(assistant), "Shout!")

    assert "AHOY" in reply.text
    assert [tool.spec.name for tool in assistant.get_tools()] == ["shout"]


async def test_a_keyword_that_there_is_not_is_named(network: Network) -> None:
    with pytest.raises(TypeError, match="LLMAgent takes no context_manager: .* reply_to"):
        LLMAgent("a@localhost", "x", ScriptedProvider.echo(), context_manager=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="ChatAgent takes no colour"):
        ChatAgent("a@localhost", "x", "b@localhost", colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="reply_to is given by keyword"):
        LLMAgent("a@localhost", "x", ScriptedProvider.echo(), "b@localhost")  # type: ignore[arg-type]


async def test_the_configuration_is_also_read_by_its_former_keyword(network: Network) -> None:
    former = LLMAgent(
        "a@localhost",
        "x",
        ScriptedProvider.echo(),
        conduct=AssistantConfig(reply_to="b@localhost"),
    )

    assert former.reply_to == "b@localhost"


class Town(BaseModel):
    name: str
    people: int


async def test_a_chat_agent_gets_an_object_of_a_model(network: Network) -> None:
    oslo = Town(name="Oslo", people=700_000)
    assistant = await network.assistant(ScriptedProvider([oslo.model_dump_json()]))
    jid = await network.account("ada")
    ada = await network.start(ChatAgent(jid, network.passwords[jid], options=network.options(jid)))

    assert await ada.say_as(jid_of(assistant), "Which town?", Town) == oslo


async def test_an_empty_message_is_refused_before_it_is_sent(network: Network) -> None:
    jid = await network.account("ada")
    ada = await network.start(ChatAgent(jid, network.passwords[jid], options=network.options(jid)))

    with pytest.raises(RequestRefused, match="text: String should have at least 1 character"):
        await ada.say("assistant@localhost", "")


async def test_messages_of_others_are_shown_once(network: Network) -> None:
    """A routed answer comes from somebody else than who was asked."""
    shown: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    jid = await network.account("ada")
    ada = ChatAgent(
        jid,
        network.passwords[jid],
        "nobody@localhost",
        display_callback=lambda text, sender: shown.put_nowait((text, sender)),
        options=network.options(jid),
    )
    await network.start(ada)
    other = await network.person("other")
    is_waiting = ada.is_waiting_response()

    other.send(jid, "from elsewhere")
    text, sender = await asyncio.wait_for(shown.get(), WAIT_S)

    assert text == "from elsewhere"
    assert sender.startswith(str(other.jid))
    assert is_waiting
    assert not ada.is_waiting_response()


class Talkative(Hear):
    """As a model of spade_llm 0.3 does it: whatever comes is answered."""

    async def run(self) -> None:
        if message := await self.receive(timeout=WAIT_S):
            answer = message.make_reply()
            answer.set_metadata("message_type", "llm")
            answer.body = f"you said {message.body}"
            await self.send(answer)
            self.heard.put_nowait(message.body)

    async def next(self) -> object:
        return await asyncio.wait_for(self.heard.get(), WAIT_S)


async def test_a_chat_session_does_not_answer_the_answers_of_a_program(
    network: Network,
) -> None:
    plain = await plain_agent(network)
    talkative = Talkative()
    plain.add_behaviour(talkative)
    jid = await network.account("ada")
    shown: asyncio.Queue[str] = asyncio.Queue()
    ada = ChatAgent(
        jid,
        network.passwords[jid],
        str(plain.jid.bare),
        display_callback=lambda text, _sender: shown.put_nowait(text),
        options=network.options(jid),
    )
    await network.start(ada)

    for text in ("one", "two"):
        ada.send_message(text)
        assert await asyncio.wait_for(shown.get(), WAIT_S) == f"you said {text}"

    assert [await talkative.next(), await talkative.next()] == ["one", "two"]


async def test_an_agent_that_does_not_talk_leaves_a_talkative_program_alone(
    network: Network,
) -> None:
    rag = await network.rag()
    plain = await plain_agent(network)
    talkative = Talkative()
    plain.add_behaviour(talkative)
    metadata = {"message_type": "llm"}
    plain.add_behaviour(Say(SpadeMessage(to=jid_of(rag), body="hello", metadata=metadata)))
    request = SpadeMessage(
        to=jid_of(rag), body="{}", metadata={"performative": "request", "ontology": "dance/1"}
    )

    template = SpadeTemplate(metadata={"ontology": "dance/1"})
    answer = await said(plain, request, template)

    assert answer.get_metadata("performative") == "not-understood"
    assert await talkative.next() == answer.body


async def program(network: Network, model: ScriptedProvider, **keywords: Any) -> LLMAgent:
    """As such a program makes it, but for the connection."""
    jid = await network.account("assistant")
    options = network.options(jid)
    agent = LLMAgent(jid, network.passwords[jid], model, options=options, **keywords)
    return await network.start(agent)


def _what_was_found(messages: Sequence[ContextMessage], _tools: object) -> Completion:
    return Completion(text=context_of(messages[-1:]))
