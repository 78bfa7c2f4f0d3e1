"""A person corrects what they said last (XEP-0308): it counts as if it had been said so at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.agents import AssistantConfig, Services
from spade_llm.providers.scripted import ScriptedProvider
from tests.integration.gated_model import GatedModel
from tests.integration.network import (
    PATIENCE_S,
    answer_to,
    context_of,
    eventually,
    jid_of,
    next_message,
)
from tests.integration.test_streaming_messages import replaced, said

if TYPE_CHECKING:
    from spade_llm.agents import LLMAgent
    from tests.integration.network import Network
    from tests.xmpp.client import Client


def say(client: Client, assistant: LLMAgent, text: str, *, id: str, corrects: str = "") -> None:
    replace = f"<replace xmlns='urn:xmpp:message-correct:0' id='{corrects}'/>" if corrects else ""
    client.send_raw(
        f"<message to='{jid_of(assistant)}' type='chat' id='{id}'><body>{text}</body>{replace}"
        "</message>"
    )


async def test_the_new_answer_takes_the_place_of_the_old_one(network: Network) -> None:
    model = ScriptedProvider(["first", "seven", "eight", "nine", "done"])
    assistant, ada = await network.assistant(model), await network.person()
    say(ada, assistant, "one", id="m0")
    await next_message(ada)
    say(ada, assistant, "3+4?", id="m1")
    wrong = await next_message(ada)

    say(ada, assistant, "4+4?", id="c1", corrects="m1")
    right = await next_message(ada)
    say(ada, assistant, "4+5?", id="c2", corrects="m1")
    again = await next_message(ada)
    say(ada, assistant, "thanks", id="m2")
    last = await next_message(ada)

    assert [said(one) for one in (wrong, right, again, last)] == ["seven", "eight", "nine", "done"]
    # This client is not known to show a second correction of one message: it would lose "nine".
    assert [replaced(one) for one in (right, again, last)] == [wrong["id"], "", ""]
    read = [str(one["content"]) for one in model.requests[-1].messages[1:]]
    assert read == ["one", "first", "4+5?", "nine", "thanks"]


async def test_a_correction_of_an_older_message_is_a_new_message(network: Network) -> None:
    model = ScriptedProvider(["one", "two", "three"])
    assistant, ada = await network.assistant(model), await network.person()
    for id in ("m1", "m2"):
        say(ada, assistant, id, id=id)
        await next_message(ada)

    say(ada, assistant, "m1, better", id="c1", corrects="m1")

    answer = await next_message(ada)
    assert (said(answer), replaced(answer)) == ("three", "")
    read = [str(one["content"]) for one in model.requests[-1].messages[1:]]
    assert read == ["m1", "one", "m2", "two", "m1, better"]


async def test_a_correction_stops_the_turn_of_what_it_corrects(network: Network) -> None:
    model = GatedModel()
    assistant, ada = await network.assistant(model), await network.person()
    say(ada, assistant, "wait for what I did not mean", id="m1")
    await asyncio.wait_for(model.was_asked.wait(), PATIENCE_S)

    say(ada, assistant, "what I meant", id="c1", corrects="m1")

    assert said(await next_message(ada)) == "what I meant"
    assert ada.waiting() == []
    conversation = assistant.llm_behaviour.conversations.find(ada.bare)
    assert conversation is not None
    assert [one["content"] for one in conversation.messages] == ["what I meant"] * 2


async def test_a_conversation_that_ended_by_what_was_not_meant_goes_on(network: Network) -> None:
    model = ScriptedProvider(["Bye. <DONE>", "It is noon."])
    config = AssistantConfig(termination_markers=("<DONE>",))
    assistant, ada = await network.assistant(model, config=config), await network.person()
    say(ada, assistant, "bye", id="m1")
    assert said(await next_message(ada)) == "Bye."

    say(ada, assistant, "by the way, what time is it?", id="c1", corrects="m1")

    assert said(await next_message(ada)) == "It is noon."


async def test_memory_has_only_what_was_meant(network: Network) -> None:
    memory = await network.memory()
    services, model = Services(memory=jid_of(memory)), ScriptedProvider.echo()
    assistant = await network.assistant(model, services=services)
    ada = await network.person()
    say(ada, assistant, "the parrot is called Cocoa", id="m1")
    await next_message(ada)
    store = assistant.memory_behaviour.memory
    assert store is not None

    async def is_kept() -> bool:
        return len(await store.history(ada.bare)) == 2

    await eventually(is_kept)
    say(ada, assistant, "the parrot is called Coco", id="c1", corrects="m1")
    await next_message(ada)

    async def is_corrected() -> bool:
        return [one.content for one in await store.history(ada.bare)] == [
            "the parrot is called Coco"
        ] * 2

    await eventually(is_corrected)


async def test_it_is_corrected_also_after_a_restart(network: Network) -> None:
    memory = await network.memory()
    services, model = Services(memory=jid_of(memory)), ScriptedProvider(["seven", "eight"])
    assistant = await network.assistant(model, services=services)
    ada = await network.person()
    say(ada, assistant, "3+4?", id="m1")
    wrong = await next_message(ada)
    await assistant.stop()

    again = await network.assistant(model, services=services, jid=jid_of(assistant))
    say(ada, again, "4+4?", id="c1", corrects="m1")

    right = await next_message(ada)
    assert (said(right), replaced(right)) == ("eight", wrong["id"])
    assert "3+4?" not in context_of(model.requests[-1].messages)


async def test_a_shorter_answer_leaves_no_piece_of_the_longer_one(network: Network) -> None:
    model = ScriptedProvider(["word " * 1500, "short"])
    assistant, ada = await network.assistant(model), await network.person()
    say(ada, assistant, "long", id="m1")
    first, second = await next_message(ada), await next_message(ada)

    say(ada, assistant, "short", id="c1", corrects="m1")

    instead, surplus = await next_message(ada), await next_message(ada)
    assert (said(instead), replaced(instead)) == ("short", first["id"])
    assert (said(surplus), replaced(surplus)) == ("(…)", second["id"])


async def test_messages_of_a_forgotten_person_cannot_be_corrected(network: Network) -> None:
    memory = await network.memory()
    assistant = await network.assistant(services=Services(memory=jid_of(memory)))
    ada = await network.person()
    say(ada, assistant, "hello", id="m1")
    await next_message(ada)
    assert "Forgotten" in await answer_to(ada, assistant, "/forget all yes")

    say(ada, assistant, "hello again", id="c1", corrects="m1")

    answer = await next_message(ada)
    assert (said(answer), replaced(answer)) == ("hello again", "")
