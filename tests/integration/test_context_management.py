"""What of a conversation reaches the model can be changed and asked while an assistant runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context import AdaptiveSmartContext
from spade_llm.providers.quoted_context import CONTEXT_NAME, read_earlier
from spade_llm.providers.scripted import ScriptedProvider
from tests.integration.network import answer_to

if TYPE_CHECKING:
    from tests.integration.network import Network

BUDGET = 500


async def test_a_strategy_is_changed_while_conversations_go_on_and_tells_of_each(
    network: Network,
) -> None:
    model = ScriptedProvider.echo()
    assistant = await network.assistant(model)
    ada, bob = await network.person("ada"), await network.person("bob")
    await answer_to(ada, assistant, "The gate of the garden opens with 4711")
    for number in range(20):
        await answer_to(ada, assistant, f"Parcel {number} came with a very long story behind it")
    everything = assistant.get_context_stats()

    assistant.update_context_management(AdaptiveSmartContext(BUDGET))
    await answer_to(bob, assistant, "hello")
    await answer_to(ada, assistant, "Which number opens the gate of the garden?")

    of_ada, of_bob = assistant.get_context_stats(ada.bare), assistant.get_context_stats(bob.bare)
    messages = model.requests[-1].messages
    assert everything["messages_dropped"] == 0
    assert of_ada["messages_dropped"] > 10
    assert of_ada["tokens_in_context"] <= BUDGET
    assert (of_bob["total_messages"], of_bob["messages_dropped"]) == (2, 0)
    assert "4711" in str([one["content"] for one in messages])
    (summary,) = [one for one in messages if one.get("name") == CONTEXT_NAME]
    assert read_earlier(str(summary["content"]))
