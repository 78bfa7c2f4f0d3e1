"""A prompt for the model alone: op `generate` of spade-llm.chat/1, through a real assistant."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import AssistantConfig, Services
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.chat.messages import AnswerDelta, ChatReply
from spade_llm.assistant.middleware.quota import PeerQuota
from spade_llm.core.errors import ModelUnavailable, RequestFailed, RequestRefused
from spade_llm.guardrails import KeywordGuardrail
from spade_llm.providers import ScriptedProvider
from spade_llm.providers.model import Sampling
from tests.integration.network import jid_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from spade_llm.messaging import AclMessage, RequestSender
    from spade_llm.messaging.requester import OutgoingRequest
    from tests.integration.network import Network

pytestmark = pytest.mark.server


async def test_a_prompt_reaches_the_model_alone_and_leaves_no_trace_but_its_cost(
    network: Network,
) -> None:
    memory = await network.memory()
    model = ScriptedProvider.echo()
    services = Services(memory=jid_of(memory))
    assistant = await network.assistant(model, services=services)
    program = await network.program()
    client = ChatClient(program.node.requester, jid_of(assistant))
    cool = Sampling(temperature=0.1, max_tokens=20)

    reply = await client.generate("/forget all", sampling=cool)
    parts = [part async for part in client.stream_generated("one two", id="g1")]
    again = await client.generate("one two", id="g1")

    first, second = model.requests
    assert reply.text == "/forget all"
    assert [message["content"] for message in first.messages] == ["/forget all"]
    assert (first.tools, first.sampling) == ((), cool)
    assert "".join(part.text for part in parts if isinstance(part, AnswerDelta)) == "one two"
    assert parts[-1] == again == ChatReply(text="one two")
    assert second.sampling is None
    assert (await client.usage()).days[0].spent.turns == 2
    assert len(assistant.llm_behaviour.conversations) == 0


async def test_guardrails_and_limits_hold_for_it_and_a_model_that_is_away_is_an_error(
    network: Network,
) -> None:
    config = AssistantConfig(
        input_guardrails=(KeywordGuardrail("words", ["forbidden"]),),
        peer_limits=PeerQuota(turns=3),
    )
    model = ScriptedProvider(["said", ModelUnavailable("gone")])
    assistant = await network.assistant(model, config=config)
    program = await network.program()
    client = ChatClient(program.node.requester, jid_of(assistant))

    blocked = await client.generate("something forbidden")
    with pytest.raises(ValueError, match="temperature must be"):
        await client.generate("go", sampling=Sampling(temperature=3.0))
    said = await client.generate("go")
    with pytest.raises(RequestFailed) as failed:
        await client.generate("go")
    with pytest.raises(RequestRefused) as refused:
        await client.generate("go")

    assert "forbidden" not in blocked.text
    assert said.text == "said"
    assert failed.value.wire_code == "model-unavailable"
    assert failed.value.detail == ModelUnavailable.told
    assert refused.value.wire_code == "quota-reached"


class _Listening:
    """A requester that keeps whatever comes for its questions, parts among it."""

    def __init__(self, requester: RequestSender) -> None:
        self._requester = requester
        self.heard: list[AclMessage] = []

    async def ask(self, question: OutgoingRequest, *, timeout_s: float) -> AclMessage:
        async with aclosing(self.stream(question, timeout_s=timeout_s)) as answers:
            return [answer async for answer in answers][-1]

    async def stream(
        self, question: OutgoingRequest, *, timeout_s: float
    ) -> AsyncGenerator[AclMessage]:
        async with aclosing(self._requester.stream(question, timeout_s=timeout_s)) as answers:
            async for answer in answers:
                self.heard.append(answer)
                yield answer


async def test_parts_are_sent_only_to_streaming_clients(network: Network) -> None:
    assistant = await network.assistant(ScriptedProvider.echo())
    program = await network.program()
    requester = _Listening(program.node.requester)
    client = ChatClient(requester, jid_of(assistant))

    assert (await client.say("said whole")).text == "said whole"
    assert (await client.generate("made whole")).text == "made whole"
    assert [answer.is_terminal for answer in requester.heard] == [True, True]

    async with aclosing(client.stream("in parts")) as parts:
        assert [type(part) async for part in parts][-2:] == [AnswerDelta, ChatReply]
