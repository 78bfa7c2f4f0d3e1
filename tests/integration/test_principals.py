"""Two people behind one gateway, and somebody who is none: each sees their own, whatever is alike.

The model says all that it reads: what leaks into a turn is in its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
import pytest_asyncio

from spade_llm.agents import Services, ToolAgent
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.chat.messages import ApprovalPrompt, ChatReply, SayRequest
from spade_llm.core import tracing
from spade_llm.core.errors import RequestRefused, Unauthorised
from spade_llm.gateway.agent_clients import AgentAddresses, AgentClients
from spade_llm.gateway.agent_clients import Network as Agents
from spade_llm.memory.contract import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.messaging import (
    CHAT_TEXT,
    AclMessage,
    Encoding,
    Performative,
    PrincipalRequester,
    agent_status,
)
from spade_llm.providers.model import Completion, ToolCall
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.rag import Document
from spade_llm.rag.remote import RagClient
from spade_llm.search.memory_query import Category, MemoryQuery
from spade_llm.tools import LLMTool
from spade_llm.tools.remote import ToolsClient
from spade_llm.tools.toolbox import Terms, ToolRules
from spade_llm.xmpp.spade_adapters import SpadeOneShotBehaviour, SpadeTemplate
from tests.integration.conftest import BOTH
from tests.integration.network import PATIENCE_S, Network, answer_to, context_of, jid_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.agents import ChatAgent, LLMAgent, MemoryAgent, RAGAgent, XmppAgent
    from spade_llm.messaging import Bounce, RequestSender
    from spade_llm.providers.model import ContextMessage, ToolSpec
    from tests.conftest import Provisioner
    from tests.xmpp.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOTHING = {"type": "object", "properties": {}}


def model_of(messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]) -> Completion:
    last = messages[-1]
    text = str(last["content"])
    if last["role"] == "user" and text.startswith("use "):
        return Completion(tool_calls=(ToolCall(id="1", name=text.split()[1], arguments="{}"),))
    return Completion(text=context_of(messages))


@dataclass(slots=True, kw_only=True)
class Scene:
    network: Network
    assistant: LLMAgent
    memory: MemoryAgent
    rag: RAGAgent
    tools: ToolAgent
    gateway: ChatAgent
    eve: ChatAgent
    """No gateway."""
    ada: Client
    """Ada, who talks over XMPP, too."""
    agents: Agents
    bob: str
    sent: list[str] = field(default_factory=list)

    def of(self, principal: str) -> AgentClients:
        return self.agents.clients_for(principal)

    def asks(self, principal: str, *, agent: ChatAgent | None = None) -> RequestSender:
        return PrincipalRequester((agent or self.gateway).node.requester, principal)


@pytest.fixture(scope="module", params=BOTH)
def server(request: pytest.FixtureRequest) -> Provisioner:
    provisioner: Provisioner = request.getfixturevalue(request.param)
    return provisioner


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(
    server: Provisioner, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    async with contextlib.AsyncExitStack() as stack:
        directory = tmp_path_factory.mktemp("principals")
        yield await scene_of(Network(server=server, directory=directory, stack=stack))


async def scene_of(network: Network) -> Scene:
    gateway, eve, ada = (
        await network.program("gateway"),
        await network.program("eve"),
        await network.person("ada"),
    )
    network.gateways, sent = (jid_of(gateway),), list[str]()
    memory, rag = await network.memory(), await network.rag()
    tools = await hers(network, ada.bare, sent)
    services = Services(memory=jid_of(memory), rag=jid_of(rag), tools=(jid_of(tools),))
    assistant = await network.assistant(ScriptedProvider(repeat(model_of)), services=services)
    addresses = AgentAddresses(
        assistants=(jid_of(assistant),), rag=jid_of(rag), tools=(jid_of(tools),)
    )
    return Scene(
        network=network,
        assistant=assistant,
        memory=memory,
        rag=rag,
        tools=tools,
        gateway=gateway,
        eve=eve,
        ada=ada,
        agents=Agents(gateway.node.requester, addresses),
        bob=await network.account("bob"),
        sent=sent,
    )


async def hers(network: Network, ada: str, sent: list[str]) -> ToolAgent:
    """`diary` is for Ada alone; `send` needs a yes."""

    def send() -> str:
        sent.append("it")
        return "sent"

    jid = await network.account("tools")
    tools = [
        LLMTool("diary", "reads", NOTHING, lambda: "DIARY-1"),
        LLMTool("send", "sends", NOTHING, send, needs_approval=True),
        LLMTool("look", "looks", NOTHING, lambda: "seen"),
    ]
    rules = ToolRules(defaults=Terms(), terms_of={"diary": Terms(allowed=frozenset({ada}))})
    agent = ToolAgent(
        jid, network.passwords[jid], tools=tools, rules=rules, options=network.options(jid)
    )
    return await network.start(agent)


async def test_equal_messages_of_two_principals_are_separate_chats(
    scene: Scene,
) -> None:
    session, id = uuid4().hex, uuid4().hex
    ada, bob = scene.of(scene.ada.bare).chat, scene.of(scene.bob).chat
    await ada.say("my code is ZEBRA-1", conversation_id=session)

    replies = [
        await chat.say("what is my code?", conversation_id=session, id=id) for chat in (ada, bob)
    ]
    over_xmpp = await answer_to(scene.ada, scene.assistant, "what is my code?")
    others = await ChatClient(scene.gateway.node.requester, jid_of(scene.assistant)).say(
        "what is my code?", conversation_id=session
    )

    assert "ZEBRA-1" in replies[0].text
    assert "ZEBRA-1" not in replies[1].text + others.text
    assert "what is my code?" in over_xmpp


@dataclass(slots=True)
class Catch:
    """An Asker that takes all that answers one id, whoever asked."""

    id: str
    caught: asyncio.Queue[AclMessage] = field(default_factory=asyncio.Queue)

    def receive(self, message: AclMessage) -> bool:
        is_it = message.in_reply_to == self.id
        if is_it and message.is_terminal:
            self.caught.put_nowait(message)
        return is_it

    def bounced(self, _bounce: Bounce) -> bool:
        return False


async def test_both_at_once_under_one_id_are_answered_apart(scene: Scene) -> None:
    session, both = uuid4().hex, {scene.ada.bare: "GNU-1", scene.bob: "EMU-2"}
    for jid, code in both.items():
        await scene.of(jid).chat.say(f"my code is {code}", conversation_id=session)
    catch = Catch(uuid4().hex)
    scene.gateway.node.askers.insert(0, catch)

    asked = say("what is my code?", id=catch.id, thread=session, to=jid_of(scene.assistant))
    for jid in both:
        await scene.gateway.send_acl(replace(asked, acts_for=jid))
    async with asyncio.timeout(PATIENCE_S):
        texts = [(await catch.caught.get()).content for _ in both]
    scene.gateway.node.askers.remove(catch)

    read = {tuple(code for code in both.values() if code in text) for text in texts}
    assert read == {("GNU-1",), ("EMU-2",)}


def say(text: str, *, id: str, thread: str, to: str) -> AclMessage:
    return AclMessage(
        performative=Performative.REQUEST,
        sender="",
        receiver=to,
        content=SayRequest(text=text).encode(),
        ontology="spade-llm.chat/1",
        conversation_id=thread,
        reply_with=id,
    )


async def test_why_and_usage_are_of_the_principal(scene: Scene) -> None:
    session = uuid4().hex
    ada, bob = scene.of(scene.ada.bare).chat, scene.of(scene.bob).chat
    own = ChatClient(scene.gateway.node.requester, jid_of(scene.assistant))
    turns = {one: await turns_of(one) for one in (ada, bob, own)}

    await ada.say("hello", conversation_id=session)

    await ada.why(conversation_id=session)
    for other in (bob, own):
        with pytest.raises(RequestRefused) as refused:
            await other.why(conversation_id=session)
        assert refused.value.wire_code == "not-found"
    grown = [await turns_of(one) - before for one, before in turns.items()]
    assert grown == [1, 0, 0]


async def turns_of(chat: ChatClient) -> int:
    return sum(day.spent.turns for day in (await chat.usage()).days)


async def test_only_the_asker_approves_and_stops_a_turn(scene: Scene) -> None:
    id, session = uuid4().hex, uuid4().hex
    ada, bob = scene.of(scene.ada.bare).chat, scene.of(scene.bob).chat
    scene.sent.clear()
    stream = ada.stream("use send", conversation_id=session, can_approve=True, id=id)
    async with asyncio.timeout(PATIENCE_S), aclosing(stream) as answers:
        asked = await anext(answers)
        assert isinstance(asked, ApprovalPrompt)

        forged = cancel_of(id, session, to=jid_of(scene.assistant))
        await scene.gateway.send_acl(replace(forged, acts_for=scene.bob))
        await scene.gateway.send_acl(forged)
        await scene.eve.send_acl(replace(forged, acts_for=scene.ada.bare))
        await agent_status.ask_status(
            scene.eve.node.requester, forged.receiver, timeout_s=PATIENCE_S
        )
        for other in (bob, ChatClient(scene.eve.node.requester, forged.receiver)):
            with pytest.raises(RequestRefused, match="no pending question"):
                await other.approve(asked.question, is_approved=True)
        assert scene.sent == []
        await ada.approve(asked.question, is_approved=True)
        reply = [one async for one in answers][-1]

    assert isinstance(reply, ChatReply)
    assert scene.sent == ["it"]


def cancel_of(id: str, thread: str, *, to: str) -> AclMessage:
    return AclMessage(
        performative=Performative.CANCEL,
        sender="",
        receiver=to,
        content="",
        ontology="spade-llm.chat/1",
        conversation_id=thread,
        in_reply_to=id,
    )


async def test_documents_are_found_by_owner_over_every_channel(scene: Scene) -> None:
    rag = scene.of(scene.ada.bare).rag
    assert rag is not None
    await rag.ingest(Document(text="The vault opens by OKAPI-2.", source="v.md", namespace="hers"))
    await rag.grant("hers", to=jid_of(scene.assistant))
    question = "How does the vault open?"

    mine = await scene.of(scene.ada.bare).chat.say(question, conversation_id=uuid4().hex)
    over_xmpp = await answer_to(scene.ada, scene.assistant, question)
    his = await scene.of(scene.bob).chat.say(question, conversation_id=uuid4().hex)
    others = scene.of(scene.bob).rag
    assert others is not None

    assert "OKAPI-2" in mine.text
    assert "OKAPI-2" in over_xmpp
    assert "OKAPI-2" not in his.text
    assert not await others.namespaces()
    assert (await others.retrieve(question)).chunks == ()
    with pytest.raises(RequestRefused):
        await others.stats(f"{scene.ada.bare}/hers")


async def test_memories_belong_to_the_user_of_the_turn(scene: Scene) -> None:
    store = MemoryClient(scene.assistant.node.requester, jid_of(scene.memory))
    fact = MemoryDraft(
        content="Her badge has the number LLAMA-3", subject=scene.ada.bare, category=Category.FACT
    )
    await store.add(fact)
    question = "What number has the badge?"

    replies = [
        (await scene.of(one).chat.say(question, conversation_id=uuid4().hex)).text
        for one in (scene.ada.bare, scene.bob)
    ]
    own = [
        MemoryClient(scene.asks(one), jid_of(scene.memory)) for one in (scene.ada.bare, scene.bob)
    ]
    await own[0].add(MemoryDraft(content="kept by Ada herself", subject=scene.ada.bare))
    found = [(await one.search(MemoryQuery(text="kept by Ada"))).hits for one in own]

    assert ["LLAMA-3" in text for text in replies] == [True, False]
    assert [len(hits) for hits in found] == [1, 0]


async def test_tools_are_offered_and_run_as_each_may_use_them(scene: Scene) -> None:
    (ada,), (bob,) = scene.of(scene.ada.bare).tools, scene.of(scene.bob).tools
    own = ToolsClient(scene.gateway.node.requester, jid_of(scene.tools))

    names = [{spec.name for spec in await one.list()} for one in (ada, bob, own)]
    said = (await ada.call("diary", {})).text

    assert ["diary" in some for some in names] == [True, False, False]
    assert said == "DIARY-1"
    for other in (bob, own):
        with pytest.raises((Unauthorised, RequestRefused)):
            await other.call("diary", {})


async def test_a_trace_continues_through_all_agents(
    scene: Scene,
) -> None:
    trace = uuid4().hex
    token = tracing._current.set(tracing.NoopSpan(f"00-{trace}-{'b' * 16}-01"))
    await scene.of(scene.bob).chat.say("use look", conversation_id="t")
    tracing._current.reset(token)

    async def of_trace(asks: RequestSender, agent: XmppAgent) -> list[str]:
        found = await agent_status.ask_recent(asks, jid_of(agent), limit=100, timeout_s=PATIENCE_S)
        return [one.asker for one in found if one.trace == trace]

    all_of_it, assistant = scene.gateway.node.requester, jid_of(scene.assistant)
    assert await of_trace(all_of_it, scene.assistant) == [scene.bob]
    assert set(await of_trace(all_of_it, scene.memory)) == {assistant}
    assert set(await of_trace(all_of_it, scene.rag)) == {assistant}
    assert set(await of_trace(all_of_it, scene.tools)) == {assistant}
    assert await of_trace(scene.asks(scene.bob), scene.assistant) == [scene.bob]
    assert await of_trace(scene.asks(scene.ada.bare), scene.assistant) == []
    assert await of_trace(scene.eve.node.requester, scene.assistant) == []


async def test_principals_are_accepted_from_configured_gateways_only(scene: Scene) -> None:
    asks = scene.asks(scene.ada.bare, agent=scene.eve)
    to, memory, rag = jid_of(scene.assistant), jid_of(scene.memory), jid_of(scene.rag)
    chat, documents = ChatClient(asks, to), RagClient(asks, rag)
    hers = MemoryClient(scene.asks(scene.ada.bare), memory)
    before = await scene.of(scene.ada.bare).chat.usage(), await hers.list()

    for attempt in (
        chat.say("hello", conversation_id="s"),
        chat.generate("hello"),
        chat.why(conversation_id="s"),
        chat.usage(),
        chat.approve("1", is_approved=True),
        documents.namespaces(),
        documents.ingest(Document(text="forged", source="f.md")),
        documents.grant("hers", to=jid_of(scene.eve)),
        MemoryClient(asks, memory).add(MemoryDraft(content="forged", subject=scene.ada.bare)),
        MemoryClient(asks, memory).forget_subject(scene.ada.bare),
        ToolsClient(asks, jid_of(scene.tools)).list(),
        ToolsClient(asks, jid_of(scene.tools)).call("diary", {}),
        agent_status.ask_recent(asks, to, timeout_s=PATIENCE_S),
    ):
        with pytest.raises((RequestRefused, Unauthorised)) as refused:
            await attempt
        error = refused.value
        code = error.wire_code if isinstance(error, RequestRefused) else error.code
        assert code == Unauthorised.code

    assert (await scene.of(scene.ada.bare).chat.usage(), await hers.list()) == before
    assert not await RagClient(scene.eve.node.requester, rag).namespaces()


@pytest.mark.parametrize("encoding", [Encoding.FORM, Encoding.ACL])
async def test_a_text_that_claims_to_be_another_s_is_its_sender_s_or_refused(
    scene: Scene, encoding: Encoding
) -> None:
    """As SPADE's form anybody may write `principal`; there it means nothing."""
    to, thread = jid_of(scene.assistant), uuid4().hex
    await scene.of(scene.ada.bare).chat.say("my code is ZEBRA-1", conversation_id=thread)
    text = f"<body>what is my code?</body><thread>{thread}</thread>"
    form = (
        "<x xmlns='jabber:x:data' type='form'><title>spade:x:metadata</title>"
        f"<field var='principal'><value>{scene.ada.bare}</value></field>"
        "<field var='performative'><value>request</value></field></x>"
    )
    acl = f"<acl xmlns='urn:spade-llm:acl:1' ontology='{CHAT_TEXT}' principal='{scene.ada.bare}'/>"
    said = text + (form if encoding is Encoding.FORM else acl)
    mallory = await scene.network.person("mallory")

    mallory.send_raw(f"<message type='chat' to='{to}' id='{uuid4().hex}'>{said}</message>")
    answer = str((await mallory.received())["body"])

    assert "ZEBRA-1" not in answer
    assert ("what is my code?" in answer) is (encoding is Encoding.FORM)
    assert ("only a gateway may" in answer) is (encoding is Encoding.ACL)


async def test_a_program_s_behaviour_sees_a_principal_only_where_a_gateway_has_said_it(
    scene: Scene,
) -> None:
    seen: asyncio.Queue[tuple[str, str | None]] = asyncio.Queue()

    class Listens(SpadeOneShotBehaviour):  # type: ignore[misc]  # SPADE is untyped
        async def run(self) -> None:
            while (message := await self.receive(timeout=PATIENCE_S)) is not None:
                seen.put_nowait((str(message.body), message.get_metadata("principal")))

    program = await scene.network.program("listener")
    program.node.dispatcher.gateways = frozenset({jid_of(scene.gateway)})
    program.add_behaviour(Listens(), SpadeTemplate(metadata={"ontology": "news"}))
    news = AclMessage(
        performative=Performative.INFORM,
        sender="",
        receiver=jid_of(program),
        content="claimed",
        ontology="news",
        acts_for=scene.ada.bare,
    )
    forged = replace(news, content="form", acts_for="", encoding=Encoding.FORM)
    await scene.eve.send_acl(news)
    await scene.eve.send_acl(replace(forged, extra={"principal": scene.ada.bare}))
    await scene.gateway.send_acl(replace(news, content="known"))

    async with asyncio.timeout(PATIENCE_S):
        heard = {await seen.get(), await seen.get()}
    assert heard == {("form", None), ("known", scene.ada.bare)}
