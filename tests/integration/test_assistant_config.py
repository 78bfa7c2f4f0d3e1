"""What one assistant does beyond answering with its services, as a person meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from spade_llm.agents import AssistantConfig
from spade_llm.assistant.chat.client import ChatClient
from spade_llm.assistant.chat.messages import AnswerDelta, ChatReply
from spade_llm.core.errors import RequestFailed, RequestRefused
from spade_llm.providers import LLMProvider
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.tools import tool
from tests.integration.network import answer_to, calling, jid_of
from tests.openai_server import Say, running_server

if TYPE_CHECKING:
    from spade_llm.providers.scripted import ScriptedAnswer
    from tests.integration.network import Network


@tool
def weather() -> str:
    """How it is outside."""
    return "It rains."


async def test_an_assistant_has_tools_in_its_own_process(network: Network) -> None:
    answers: list[ScriptedAnswer] = [calling("weather"), "Take a coat."]
    model = ScriptedProvider(answers)
    agent = await network.assistant(model, config=AssistantConfig(tools=(weather,)))
    ada = await network.person()

    assert await answer_to(ada, agent, "What is the weather?") == "Take a coat."
    assert model.requests[-1].messages[-1]["content"] == "It rains."


class City(BaseModel):
    """Whose fields are also words of our wire."""

    owner: str
    people: int


PARIS = City(owner="nobody", people=2)


async def test_a_program_gets_an_object_of_its_own_model(network: Network) -> None:
    async with (
        running_server() as server,
        LLMProvider.create_vllm("test", server.base_url) as model,
    ):
        server.enqueue(Say(text="Paris!"), Say(text=PARIS.model_dump_json()))
        assistant, program = await network.assistant(model), await network.program()
        client = ChatClient(program.node.requester, jid_of(assistant))

        assert await client.say_as("Which city?", City) == PARIS

        assert [one["response_format"]["type"] for one in server.requests] == ["json_schema"] * 2  # type: ignore[index]
        server.enqueue(Say(text="Paris!"), Say(text="Paris, I said!"))
        with pytest.raises(RequestFailed, match="second answer") as failure:
            await client.say_as("Which city?", City)
        assert failure.value.wire_code == "invalid-answer"
        assert (await client.say("hello")).text == "You said: hello"


async def test_structured_output_is_not_streamed_in_parts(network: Network) -> None:
    model = ScriptedProvider([PARIS.model_dump_json()])
    assistant = await network.assistant(model, config=AssistantConfig(output_schema=City))
    program = await network.program()
    client = ChatClient(program.node.requester, jid_of(assistant))

    parts = [part async for part in client.stream("Which city?")]

    assert [type(part) for part in parts] == [ChatReply]


async def test_a_person_is_told_when_the_model_misses_the_form(network: Network) -> None:
    model = ScriptedProvider(["Paris", "Paris", PARIS.model_dump_json()])
    agent = await network.assistant(model, config=AssistantConfig(output_schema=City))
    ada = await network.person()

    assert "does not match the requested schema" in await answer_to(ada, agent, "Which city?")
    assert await answer_to(ada, agent, "Which city?") == PARIS.model_dump_json()


async def test_a_conversation_ends_with_the_model_s_own_word(network: Network) -> None:
    ends: list[tuple[str, str]] = []
    config = AssistantConfig(
        termination_markers=("<DONE>",),
        on_conversation_end=lambda id, reason: ends.append((id, reason)),
    )
    agent = await network.assistant(ScriptedProvider(["Bye. <DONE>"] * 3), config=config)
    ada, program = await network.person(), await network.program()
    client = ChatClient(program.node.requester, jid_of(agent))

    assert await answer_to(ada, agent, "bye") == "Bye."
    assert (
        await answer_to(ada, agent, "wait") == "This conversation is over. /new begins another one."
    )
    parts = [part async for part in client.stream("bye", conversation_id="c")]
    with pytest.raises(RequestRefused) as refusal:
        await client.say("wait", conversation_id="c")

    assert "".join(part.text for part in parts if isinstance(part, AnswerDelta)) == "Bye."
    assert refusal.value.wire_code == "conversation-over"
    key = f"{jid_of(program)}#c"
    assert ends == [(ada.bare, "completed"), (key, "completed")]
    assert agent.get_conversation_state(key) == {"state": "completed", "interaction_count": 1}
    assert agent.reset_conversation(key)
    assert (await client.say("again", conversation_id="c")).text == "Bye."
    assert not agent.reset_conversation("nobody@nowhere")
