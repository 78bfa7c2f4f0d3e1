"""What one assistant does beyond answering with its services, as a person meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.agent.conduct import Conduct
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.tools import tool
from tests.interaction.network import answer_to, calling

if TYPE_CHECKING:
    from spade_llm.providers.scripted import ScriptedAnswer
    from tests.interaction.network import Network


@tool
def weather() -> str:
    """How it is outside."""
    return "It rains."


async def test_an_assistant_has_tools_in_its_own_process(network: Network) -> None:
    answers: list[ScriptedAnswer] = [calling("weather"), "Take a coat."]
    model = ScriptedProvider(answers)
    agent = await network.assistant(model, conduct=Conduct(tools=(weather,)))
    ada = await network.person()

    assert await answer_to(ada, agent, "What is the weather?") == "Take a coat."
    assert model.requests[-1].messages[-1]["content"] == "It rains."
