"""Guardrails of an assistant, as people and programs meet them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.assistant.chat.messages import AnswerDelta, ChatReply
from spade_llm.guardrails import GuardrailAction, KeywordGuardrail, RegexGuardrail
from spade_llm.providers import ScriptedProvider
from tests.integration.network import answer_to, jid_of

if TYPE_CHECKING:
    from tests.integration.network import Network

MODIFY = GuardrailAction.MODIFY
SECRET = "Rosebud"


async def test_blocked_input_reaches_no_model(network: Network) -> None:
    model = ScriptedProvider.echo()
    assistant = await network.assistant(model)
    assistant.add_input_guardrail(KeywordGuardrail("k", [SECRET], blocked_message="Not that."))
    ada = await network.person()

    assert await answer_to(ada, assistant, "It is r\u200bosebud") == "Not that."
    assert await answer_to(ada, assistant, "/why") != ""
    assert await answer_to(ada, assistant, "It is a rose") == "It is a rose"
    assert [len(one.messages) for one in model.requests] == [2]


async def test_blocked_output_is_not_sent_to_anyone(network: Network) -> None:
    assistant = await network.assistant(ScriptedProvider([f"It is {SECRET}.", "Good."]))
    assistant.add_output_guardrail(KeywordGuardrail("k", [SECRET], blocked_message="Not that."))
    ada = await network.person()

    assert await answer_to(ada, assistant, "What is it?") == "Not that."
    why = await answer_to(ada, assistant, "/why")
    assert "a guardrail, which withheld my answer" in why
    assert SECRET not in why
    assert await answer_to(ada, assistant, "Well?") == "Good."


async def test_a_program_gets_parts_that_are_the_beginning_of_the_guarded_answer(
    network: Network,
) -> None:
    words = " ".join(f"word{number}" for number in range(200))
    assistant = await network.assistant(ScriptedProvider([f"{words} {SECRET} 555-1234 {words}"]))
    assistant.add_output_guardrail(KeywordGuardrail("k", [SECRET], MODIFY, "[name]"))
    assistant.add_output_guardrail(RegexGuardrail("r", {r"\d{3}-\d{4}": "[phone]"}))
    program = await network.program()

    came = [part async for part in program.stream(jid_of(assistant), "Go on")]

    *parts, reply = came
    assert isinstance(reply, ChatReply)
    assert reply.text == f"{words} [name] [phone] {words}"
    joined = "".join(part.text for part in parts if isinstance(part, AnswerDelta))
    assert joined
    assert reply.text.startswith(joined)
