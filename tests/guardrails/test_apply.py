"""apply_input_guardrails and apply_output_guardrails with messages such as SPADE's."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from spade.message import Message

from spade_llm.guardrails import (
    CustomFunctionGuardrail,
    GuardrailAction,
    GuardrailResult,
    KeywordGuardrail,
    apply_input_guardrails,
    apply_output_guardrails,
)

SEEN: list[dict[str, object]] = []
RED = KeywordGuardrail("k", ["red"], blocked_message="no red")
BLUE = KeywordGuardrail("k", ["red"], GuardrailAction.MODIFY, "blue")


def note(content: str, context: dict[str, object]) -> GuardrailResult:
    SEEN.append(context)
    return GuardrailResult(action=GuardrailAction.PASS)


@dataclass(frozen=True)
class Heard:
    """A message of a program's own."""

    sender: str = "ada@x/phone"
    to: str = "bot@x"
    thread: str | None = None


@pytest.fixture
def message() -> Message:
    return Message(to="bot@x", sender="ada@x/phone", body="red", thread="t1")


async def test_blocked_messages_are_answered_through_the_given_function(
    message: Message,
) -> None:
    sent: list[Message] = []

    async def send(reply: Message) -> None:
        sent.append(reply)

    assert await apply_input_guardrails("red", message, [RED], send_reply=send) is None
    assert await apply_input_guardrails("red", message, [RED], send_reply=sent.append) is None
    assert await apply_input_guardrails("red", message, [RED]) is None

    assert [(str(one.to), one.body) for one in sent] == [("ada@x/phone", "no red")] * 2


async def test_passed_messages_are_returned_with_replacements(message: Message) -> None:
    told: list[GuardrailResult] = []

    result = await apply_input_guardrails("red", message, [BLUE], on_trigger=told.append)

    assert result == "blue"
    assert [one.action for one in told] == [GuardrailAction.MODIFY]


async def test_an_answer_is_never_none() -> None:
    assert await apply_output_guardrails("red", Heard(), [RED]) == "no red"
    assert await apply_output_guardrails("red", Heard(), [BLUE]) == "blue"
    assert await apply_output_guardrails("green", Heard(), []) == "green"


async def test_guardrails_receive_sender_conversation_and_original_message(
    message: Message,
) -> None:
    SEEN.clear()
    noting = [CustomFunctionGuardrail("note", note)]

    await apply_input_guardrails("red", message, noting)
    await apply_output_guardrails("red", Heard(), noting)

    expected = [
        {"message": message, "sender": "ada@x/phone", "conversation_id": "t1"},
        {
            "original_message": Heard(),
            "sender": "ada@x/phone",
            "llm_response": "red",
            "conversation_id": "ada@x/phone_bot@x",
        },
    ]
    assert expected == SEEN
