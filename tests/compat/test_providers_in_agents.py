"""Providers and tools of programs written for spade_llm 0.2/0.3, in an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.tools import tool as langchain_tool

from spade_llm.agents import LLMAgent
from spade_llm.compat.own_provider import RequestedCall
from spade_llm.providers import BaseLLMProvider, FallbackModel, LLMProvider
from spade_llm.tools import LangChainToolAdapter, LLMTool
from tests.integration.network import jid_of, next_message
from tests.openai_server import Call, Say, running_server

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from spade_llm.compat.own_provider import LLMResponse, PromptSource
    from spade_llm.providers import ChatModel
    from spade_llm.tools import Tool
    from tests.integration.network import Network


@langchain_tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


def weather(city: str) -> str:
    return f"Sun in {city}"


CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = (
    LLMTool(name="weather", description="of a city", parameters=CITY, func=weather, strict=True),
    LangChainToolAdapter(multiply),
)


class Reader(BaseLLMProvider):
    """Calls each tool once, then says what they gave; fails when it is told to."""

    async def get_llm_response(
        self,
        context: PromptSource,
        tools: list[LLMTool] | None = None,
        conversation_id: str | None = None,
        output_schema: type[BaseModel] | None = None,
    ) -> LLMResponse:
        prompt = context.get_prompt(conversation_id)
        said = str([one["content"] for one in prompt if one["role"] == "user"][-1])
        if said == "fail":
            raise RuntimeError("no disk at /srv/secret")
        if prompt[-1]["role"] == "tool":
            return {"text": " and ".join(str(one["content"]) for one in prompt[-len(TOOLS) :])}
        assert tools is not None
        given: dict[str, dict[str, object]] = {
            "weather": {"city": "Lund"},
            "multiply": {"a": 6, "b": 7},
        }
        calls = [
            RequestedCall(id=f"c{n}", name=tool.name, arguments=given[tool.name])
            for n, tool in enumerate(tools)
        ]
        return {"text": None, "tool_calls": calls}


async def agent_with(network: Network, provider: ChatModel) -> LLMAgent:
    jid = await network.account("assistant")
    tools: Sequence[Tool] = TOOLS
    agent = LLMAgent(
        jid, network.passwords[jid], provider, tools=tools, options=network.options(jid)
    )
    return await network.start(agent)


async def ask(network: Network, agent: LLMAgent, *texts: str) -> list[str]:
    ada = await network.person()
    said = []
    for text in texts:
        ada.send(jid_of(agent), text)
        said.append(str((await next_message(ada))["body"]))
    return said


async def test_a_provider_of_ones_own_calls_the_tools_of_its_agent(network: Network) -> None:
    agent = await agent_with(network, Reader())

    assert await ask(network, agent, "go") == ["Sun in Lund and 42"]


async def test_a_provider_of_ones_own_that_fails_costs_one_polite_sentence(
    network: Network,
) -> None:
    agent = await agent_with(network, Reader())

    failed, after = await ask(network, agent, "fail", "go")

    assert failed.startswith("Sorry, my language model is not answering right now.")
    assert "disk" not in failed
    assert after == "Sun in Lund and 42"


async def test_a_provider_of_ones_own_is_a_fallback_for_ours(network: Network) -> None:
    ours = LLMProvider("hosted_vllm/m", base_url="http://127.0.0.1:9", num_retries=0)
    agent = await agent_with(network, FallbackModel(ours, Reader()))

    said, status = await ask(network, agent, "go", "/status")

    assert said == "Sun in Lund and 42"
    assert status.startswith("Model: Reader (for m, which is away).")
    await ours.aclose()


async def test_a_strict_server_takes_the_tools_of_such_programs(network: Network) -> None:
    async with (
        running_server() as server,
        LLMProvider("openai/test", "sk-x", server.base_url) as provider,
    ):
        agent = await agent_with(network, provider)
        server.enqueue(
            Say(calls=(Call(name="multiply", arguments='{"a": 6, "b": 7}'),)), Say(text="It is 42.")
        )

        said = await ask(network, agent, "six times seven?")

    assert said == ["It is 42."]
    messages = server.requests[-1]["messages"]
    assert isinstance(messages, list)
    assert messages[-1]["content"] == "42"


async def test_an_agent_shows_what_it_was_made_of(network: Network, tmp_path: Path) -> None:
    provider, (weather_tool, _) = Reader(), TOOLS
    jid = await network.account("bot")
    agent = LLMAgent(
        jid,
        network.passwords[jid],
        provider,
        tools=[weather_tool],
        reply_to="boss@localhost",
        interaction_memory=(True, str(tmp_path)),
        agent_base_memory=(True, str(tmp_path)),
        options=network.options(jid),
    )
    plain = LLMAgent(jid, network.passwords[jid], provider, options=network.options(jid))

    assert (agent.provider, agent.reply_to) == (provider, "boss@localhost")
    assert agent.tools[0] is weather_tool
    assert agent.interaction_memory is not None
    assert agent.agent_base_memory is not None
    assert agent.agent_base_memory.agent_id == jid
    assert (plain.tools, plain.reply_to) == ([], None)
    assert (plain.interaction_memory, plain.agent_base_memory) == (None, None)
