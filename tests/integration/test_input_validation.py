"""What peers may send: each is refused clearly or taken, and nobody else notices."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import AssistantConfig, Services
from spade_llm.assistant.config import FileSharingOptions
from spade_llm.core.errors import RequestError, RequestNotUnderstood, RequestRefused
from spade_llm.memory.contract import MemoryDraft
from spade_llm.memory.remote import MemoryClient
from spade_llm.messaging import Encoding, OutgoingRequest
from spade_llm.providers.model import Completion
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.search.memory_query import Category
from spade_llm.tools import tool
from tests.integration.network import answer_to, calling, eventually, jid_of, next_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.agents import ChatAgent, LLMAgent, XmppAgent
    from spade_llm.providers.model import ContextMessage, ToolSpec
    from tests.integration.network import Network
    from tests.xmpp.client import Client

ACL = "urn:spade-llm:acl:1"
AS_MESSAGES = AssistantConfig(files=FileSharingOptions(long_answer_chars=0))
"""However long an answer is: not as a file."""
MEGABYTE = "x" * 1024 * 1024


async def refused(program: ChatAgent, question: OutgoingRequest) -> RequestError:
    with pytest.raises(RequestError) as caught:
        await program.node.requester.ask(question, timeout_s=5.0)
    return caught.value


async def is_unharmed(network: Network, assistant: LLMAgent) -> bool:
    """Somebody else is answered as if nothing had happened."""
    return await answer_to(await network.person("bob"), assistant, "still there?") == "still there?"


async def said(client: Client, to: XmppAgent, inner: str, *, kind: str = "chat") -> str:
    """Send a stanza as it is written here; return the answer's text."""
    client.send_raw(f"<message to='{jid_of(to)}' type='{kind}' id='raw-1'>{inner}</message>")
    return str((await client.received())["body"])


async def test_an_answer_with_characters_that_xml_forbids_still_comes(network: Network) -> None:
    assistant = await network.assistant(ScriptedProvider(["bell \x07 null \x00 half \ud83d end"]))
    ada = await network.person()

    assert await answer_to(ada, assistant, "ring") == "bell \ufffd null \ufffd half \ufffd end"


async def test_an_answer_that_is_no_unicode_does_not_stop_what_is_kept_of_later_ones(
    network: Network,
) -> None:
    memory = await network.memory()
    model = ScriptedProvider(["half \ud83d", "whole"])
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    ada = await network.person()
    await answer_to(ada, assistant, "one")
    await answer_to(ada, assistant, "two")

    async def is_kept() -> bool:
        return "two" in await kept(assistant, ada)

    await eventually(is_kept)


async def kept(assistant: LLMAgent, client: Client) -> list[str]:
    memory = assistant.memory_behaviour.memory
    assert memory is not None
    return [message.content for message in await memory.history(client.bare)]


async def test_invalid_xml_closes_only_the_stream_of_its_sender(network: Network) -> None:
    assistant = await network.assistant()

    for text in ("&#0;", "<unclosed", "&undefined;", "\x01"):
        eve = await network.person("eve")
        eve.send_raw(f"<message to='{jid_of(assistant)}' type='chat'><body>{text}</body></message>")
        await eve.dropped()

    assert await is_unharmed(network, assistant)


async def test_a_message_of_a_megabyte_is_survived(network: Network) -> None:
    assistant = await network.assistant()
    eve = await network.person("eve")

    eve.send(jid_of(assistant), MEGABYTE)
    await eve.dropped()

    assert await is_unharmed(network, assistant)


async def test_a_message_too_long_for_memory_does_not_stop_what_is_kept_of_later_ones(
    network: Network,
) -> None:
    memory = await network.memory()
    model = ScriptedProvider(["That was long.", "That was short."])
    assistant = await network.assistant(model, services=Services(memory=jid_of(memory)))
    ada = await network.person()
    assert await answer_to(ada, assistant, "long " * 60_000) == "That was long."
    assert await answer_to(ada, assistant, "short") == "That was short."

    async def is_kept() -> bool:
        return "short" in await kept(assistant, ada)

    await eventually(is_kept)


async def test_an_answer_of_a_megabyte_is_cut_and_says_so(network: Network) -> None:
    model = ScriptedProvider([MEGABYTE, "still there?"])
    assistant = await network.assistant(model, config=AS_MESSAGES)
    ada = await network.person()

    ada.send(jid_of(assistant), "tell me all")
    pieces = [str((await next_message(ada))["body"])]
    while "(This answer was cut off" not in pieces[-1]:
        pieces.append(str((await next_message(ada))["body"]))

    assert 50_000 < len("".join(pieces)) < 100_000
    assert await is_unharmed(network, assistant)


async def test_a_long_answer_comes_in_several_messages(network: Network) -> None:
    text = "\n".join(f"line {number} of the long answer" for number in range(300))
    assistant = await network.assistant(ScriptedProvider([text]))
    ada = await network.person()

    ada.send(jid_of(assistant), "tell me all")
    pieces = [str((await next_message(ada))["body"]) for _ in range(3)]

    assert "\n".join(pieces) == text


async def test_a_tool_result_of_200_kilobytes_comes_in_pages_and_the_model_is_told(
    network: Network,
) -> None:
    @tool
    def everything() -> str:
        """All there is."""
        return "y" * 200 * 1024

    def last(messages: Sequence[ContextMessage], _tools: Sequence[ToolSpec]) -> Completion:
        return Completion(text=str(messages[-1]["content"])[-200:])

    tools = await network.tools(tools=[everything])
    model = ScriptedProvider([calling("everything"), last, "still there?"])
    assistant = await network.assistant(model, services=Services(tools=(jid_of(tools),)))
    ada = await network.person()

    answer = await answer_to(ada, assistant, "all of it")

    assert "yyy" in answer
    assert "page 1 of 7" in answer
    assert "_read_more with result" in answer
    assert await is_unharmed(network, assistant)


async def test_a_storm_of_errors_changes_nothing(network: Network) -> None:
    assistant = await network.assistant()
    eve = await network.person("eve")
    error = (
        f"<message to='{jid_of(assistant)}' type='error' id='storm'><body>hello</body>"
        "<error type='cancel'>"
        "<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
    )

    for _ in range(2000):
        eve.send_raw(error)

    assert await is_unharmed(network, assistant)
    await asyncio.wait_for(eve.ping(), 30)
    assert await answer_to(eve, assistant, "and me?") == "and me?"
    assert eve.waiting() == []


async def test_a_message_from_itself_is_not_answered(network: Network) -> None:
    model = ScriptedProvider(["still there?"])
    assistant = await network.assistant(model)

    for to in (jid_of(assistant), assistant.address):
        assistant.client.send_raw(f"<message to='{to}' type='chat'><body>hm</body></message>")
    await assistant.client["xep_0199"].send_ping(assistant.jid.domain, timeout=5)

    assert await is_unharmed(network, assistant)
    assert len(model.requests) == 1


@pytest.mark.parametrize("encoding", [Encoding.ACL, Encoding.FORM])
async def test_an_unknown_ontology_is_not_understood(network: Network, encoding: Encoding) -> None:
    assistant, program = await network.assistant(), await network.program()
    question = OutgoingRequest(
        peer=jid_of(assistant), ontology="cookery/7", content="{}", encoding=encoding
    )

    error = await refused(program, question)

    assert isinstance(error, RequestNotUnderstood)
    assert error.wire_code == "unknown-ontology"
    assert "cookery/7" in error.detail
    assert await is_unharmed(network, assistant)


REFUSED_BODIES = {
    '{"op": "explode"}': "malformed",
    '{"op": "search", "query": 7}': "invalid-arguments",
    '{"op": "search"}': "invalid-arguments",
    "no JSON at all": "malformed",
    "[]": "malformed",
    "": "malformed",
    '{"op": {"op": 1}}': "malformed",
    '{"op": "list", "owner": "queen@localhost"}': "unauthorised",
    "[" * 50_000: "malformed",
}


async def test_bodies_that_cannot_be_taken_are_refused_each_with_its_reason(
    network: Network,
) -> None:
    memory, program = await network.memory(), await network.program()

    for content, code in REFUSED_BODIES.items():
        error = await refused(
            program,
            OutgoingRequest(peer=jid_of(memory), ontology="spade-llm.memory/1", content=content),
        )
        assert isinstance(error, RequestNotUnderstood | RequestRefused)
        assert (error.wire_code, bool(error.detail)) == (code, True), content[:80]

    await MemoryClient(program.node.requester, jid_of(memory)).list()


async def test_anothers_memories_cannot_be_forgotten_by_their_ids(network: Network) -> None:
    memory = await network.memory()
    ada, eve = await network.program("ada"), await network.program("eve")
    hers = MemoryClient(ada.node.requester, jid_of(memory))
    entry = await hers.add(MemoryDraft(category=Category.FACT, content="mine"))

    count = await MemoryClient(eve.node.requester, jid_of(memory)).forget([entry.id])

    assert count == 0
    assert [one.id for one in (await hers.list()).entries] == [entry.id]


async def test_an_id_that_another_used_is_not_anothers_answer(network: Network) -> None:
    memory = await network.memory()
    ada, eve = await network.program("ada"), await network.program("eve")
    draft = MemoryDraft(category=Category.FACT, content="the same words")

    hers = await MemoryClient(ada.node.requester, jid_of(memory)).add(draft, key="k1")
    other = await MemoryClient(eve.node.requester, jid_of(memory)).add(draft, key="k1")

    assert hers.id != other.id


FORM = "<x xmlns='jabber:x:data' type='form'><title>spade:x:metadata</title>{fields}</x>"
UNREADABLE = (
    f"<acl xmlns='{ACL}' performative='dance'/>",
    f"<acl xmlns='{ACL}' performative='request' reply-by='soon'/>",
    f"<acl xmlns='{ACL}' performative='inform' sequence='-1'/>",
    FORM.format(fields="<field var='performative'><value>dance</value></field>"),
)
ODD = (
    f"<acl xmlns='{ACL}'/>",
    f"<acl xmlns='{ACL}' performative='inform' in-reply-to='nothing'/>",
    f"<acl xmlns='{ACL}' performative='cancel' in-reply-to='nothing'/>",
    f"<acl xmlns='{ACL}' performative='dance' in-reply-to='nothing'/>",
    f"<acl xmlns='{ACL}'><acl xmlns='{ACL}'/></acl><acl xmlns='{ACL}'/>",
    FORM.format(fields="<field/><reported/>"),
    "<x xmlns='jabber:x:data'/>",
    "<thread/><thread>2</thread><error/><delay xmlns='urn:xmpp:delay' stamp='never'/>",
)
HUGE = "t" * 100_000
HUGE_NAMES = {
    "thread": f"id='1'><body>hi</body><thread>{HUGE}</thread>",
    "id": f"id='{HUGE}'><body>hi</body>",
    "ontology": f"id='1'><body>hi</body><acl xmlns='{ACL}' ontology='{HUGE}'/>",
    "conversation-id": f"id='1'><body>hi</body><acl xmlns='{ACL}' conversation-id='{HUGE}'/>",
}


async def test_unreadable_metadata_is_not_understood(network: Network) -> None:
    assistant = await network.assistant()
    eve = await network.person("eve")

    for metadata in UNREADABLE:
        assert "malformed" in await said(eve, assistant, f"<body>{{}}</body>{metadata}"), metadata

    assert await is_unharmed(network, assistant)


async def test_malformed_metadata_is_survived(network: Network) -> None:
    assistant = await network.assistant()
    eve = await network.person("eve")

    for metadata in ODD:
        eve.send_raw(
            f"<message to='{jid_of(assistant)}' type='chat'><body>odd</body>{metadata}</message>"
        )
    await eve.ping()

    assert await is_unharmed(network, assistant)


async def test_huge_names_are_refused(network: Network) -> None:
    assistant = await network.assistant()
    eve = await network.person("eve")

    for name, rest in HUGE_NAMES.items():
        eve.send_raw(f"<message to='{jid_of(assistant)}' type='chat' {rest}</message>")
        answer = await eve.received()
        assert f"the {name} is longer than 1024 characters" in answer["body"]
        assert len(str(answer)) < 2000

    assert await is_unharmed(network, assistant)
