"""Guardrails around a turn: what they block is nowhere, and parts are no more than the answer."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.history.conversation_cache import Conversation
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.middleware.conversation_end import (
    ConversationEndMiddleware,
    TerminationMarkers,
)
from spade_llm.assistant.middleware.guardrails import GuardrailMiddleware
from spade_llm.assistant.turn.approval import ApprovalVerdict
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer
from spade_llm.assistant.turn.structured_output import PydanticAnswerSchema
from spade_llm.assistant.turn.tool_loop import TurnResult
from spade_llm.assistant.turn.turn import TurnOutcome
from spade_llm.context import NoContextManagement
from spade_llm.core.errors import Failure, InvalidAnswer, Refusal
from spade_llm.guardrails import (
    CustomFunctionGuardrail,
    Guardrail,
    GuardrailAction,
    GuardrailResult,
    KeywordGuardrail,
    RegexGuardrail,
)
from spade_llm.memory import SQLiteMemoryBackend
from spade_llm.providers import Completion, ScriptedProvider, ToolCall
from spade_llm.providers.model import TextDelta
from spade_llm.tools import LLMTool, LocalToolbox
from tests.assistant.turn.test_turn_failures import an_utterance
from tests.conftest import at_most
from tests.guardrails.streamed_parts import UNHURRIED, pieces_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from spade_llm.assistant.chat.messages import ChatReply
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.turn.approval import ApprovalQuestion
    from spade_llm.providers.model import ContextMessage, Sampling, ToolSpec
    from spade_llm.providers.scripted import ScriptedAnswer

MODIFY = GuardrailAction.MODIFY
KEY = "sk-12345"
BLOCK_KEY = RegexGuardrail("keys", {r"sk-\d{5}": GuardrailAction.BLOCK}, blocked_message="No keys.")
HIDE_KEY = RegexGuardrail("keys", {r"sk-\d{5}": "[KEY]"})


class InPieces(ScriptedProvider):
    """Says its answers cut as it is told."""

    def __init__(self, pieces: Sequence[str]) -> None:
        super().__init__(["".join(pieces)])
        self._pieces = pieces

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        completion = await self.complete(messages, tools, tool_choice=tool_choice)
        for piece in self._pieces:
            yield TextDelta(piece)
        yield completion


@dataclass(kw_only=True)
class Stage:
    assistant: LLMBehaviour
    model: ScriptedProvider
    outbox: MemoryOutbox
    asked: list[ApprovalQuestion] = field(default_factory=list)

    async def say(self, text: str) -> ChatReply:
        return await self.assistant.answer(an_utterance(text))

    async def say_as_program(self, text: str) -> tuple[ChatReply, list[str]]:
        """The answer, and its parts."""
        parts: list[str] = []

        async def add(part: str) -> None:
            parts.append(part)

        reply = await self.assistant.answer(replace(an_utterance(text), on_delta=add))
        return reply, parts

    async def say_and_agree(self, text: str) -> ChatReply:
        async def ask(question: ApprovalQuestion) -> ApprovalVerdict:
            self.asked.append(question)
            return ApprovalVerdict.YES

        return await self.assistant.answer(replace(an_utterance(text), ask=ask))

    def history(self) -> str:
        conversation = self.assistant.conversations.get("you@x", peer="you@x")
        return json.dumps(list(conversation.messages))

    async def kept(self) -> str:
        """Everything that is on its way to memory."""
        waiting = await self.outbox.of_conversation("you@x")
        return " ".join(one.content for one in waiting)


@asynccontextmanager
async def staged(
    model: ScriptedProvider,
    *,
    heard: Sequence[Guardrail] = (),
    answered: Sequence[Guardrail] = (),
    tools: Sequence[LLMTool] = (),
    folder: Path | None = None,
) -> AsyncIterator[Stage]:
    """With a memory, if there is a folder for it."""
    async with AsyncExitStack() as stack:
        outbox = await stack.enter_async_context(MemoryOutbox(None))
        store = None
        if folder is not None:
            backend = SQLiteMemoryBackend(folder / "m.db")
            store = (await stack.enter_async_context(backend)).for_owner("a@x")
        memory = MemoryBehaviour(memory=store, retriever=None, outbox=outbox)
        assistant = LLMBehaviour(
            model,
            strategy=NoContextManagement(),
            system_prompt="Be",
            memory=memory,
            memory_offer=MemoryOffer(owner="a@x"),
            toolboxes=[LocalToolbox(tools)],
            limits=TurnLimits(),
            layers=[
                ConversationEndMiddleware(),
                GuardrailMiddleware(heard, answered),
                TerminationMarkers(["<DONE>"]),
            ],
        )
        yield Stage(assistant=assistant, model=model, outbox=outbox)


async def test_a_blocked_message_reaches_no_model_no_history_and_no_memory(tmp_path: Path) -> None:
    async with staged(ScriptedProvider(["hello"]), heard=[BLOCK_KEY], folder=tmp_path) as stage:
        reply = await stage.say(f"my key is {KEY}")
        after = await stage.say("hi")

        assert (reply.text, after.text) == ("No keys.", "hello")
        assert KEY not in str(stage.model.requests)
        assert "No keys." not in str(stage.model.requests)
        assert KEY not in stage.history()
        assert KEY not in await stage.kept()


async def test_a_changed_message_is_what_model_history_and_memory_get(tmp_path: Path) -> None:
    async with staged(ScriptedProvider.echo(), heard=[HIDE_KEY], folder=tmp_path) as stage:
        reply = await stage.say(f"my key is {KEY}")

        assert reply.text == "my key is [KEY]"
        assert KEY not in str(stage.model.requests)
        assert KEY not in stage.history()
        assert "my key is [KEY]" in await stage.kept()
        assert KEY not in await stage.kept()


async def test_quoted_context_passes_the_guardrails_too() -> None:
    async with staged(ScriptedProvider(["one", "two"]), heard=[HIDE_KEY]) as stage:
        said = replace(an_utterance("which?"), replied_to=f"use {KEY}", heard=("bob: hi", KEY))
        await stage.assistant.answer(said)

    assert KEY not in str(stage.model.requests)
    assert "use [KEY]" in str(stage.model.requests[0].messages)
    assert "bob: hi" in str(stage.model.requests[0].messages)


async def test_blocked_quoted_context_is_removed_completely() -> None:
    async with staged(ScriptedProvider(["one"]), heard=[BLOCK_KEY]) as stage:
        said = replace(an_utterance("which?"), replied_to=f"use {KEY}", heard=("bob: hi", KEY))
        reply = await stage.assistant.answer(said)

    assert reply.text == "one"
    assert "bob" not in str(stage.model.requests)
    assert KEY not in str(stage.model.requests)


async def test_a_blocked_answer_is_nowhere(tmp_path: Path) -> None:
    async with staged(
        ScriptedProvider([f"it is {KEY}", "ok"]), answered=[BLOCK_KEY], folder=tmp_path
    ) as stage:
        reply, parts = await stage.say_as_program("what is the key?")
        await stage.say("and now?")

        assert (reply.text, parts) == ("No keys.", [])
        assert KEY not in str(stage.model.requests[1])
        assert KEY not in stage.history()
        assert KEY not in await stage.kept()
        assert "what is the key?" in stage.history()
        assert "No keys." in stage.history()


async def test_a_changed_answer_is_what_is_kept_and_sent(tmp_path: Path) -> None:
    async with staged(
        ScriptedProvider([f"it is {KEY}, yes"]), answered=[HIDE_KEY], folder=tmp_path
    ) as stage:
        reply, parts = await stage.say_as_program("what is the key?")

        assert reply.text == "it is [KEY], yes"
        assert reply.text.startswith("".join(parts))
        assert parts
        assert KEY not in stage.history()
        assert KEY not in await stage.kept()


def a_secret() -> str:
    return f"the key is {KEY}"


LOOK_UP = LLMTool(
    name="look_up",
    description="Look it up.",
    parameters={"type": "object", "properties": {"what": {"type": "string"}}},
    func=lambda what="": a_secret(),
)
LOOKS_UP = Completion(
    text=f"I look up {KEY}",
    tool_calls=(ToolCall(id="1", name="look_up", arguments='{"what": "key"}'),),
)


@pytest.mark.parametrize(
    ("guardrail", "answer"), [(BLOCK_KEY, "No keys."), (HIDE_KEY, "it is [KEY]")]
)
async def test_tool_results_are_not_sent_with_a_guarded_answer(
    guardrail: Guardrail, answer: str
) -> None:
    script: list[ScriptedAnswer] = [LOOKS_UP, f"it is {KEY}"]
    async with staged(ScriptedProvider(script), answered=[guardrail], tools=[LOOK_UP]) as stage:
        reply, parts = await stage.say_as_program("what is the key?")

        assert reply.text.endswith(answer)
        assert KEY not in reply.model_dump_json()
        assert KEY not in "".join(parts)
        assert f"I look up {KEY}" not in stage.history()


async def test_calls_without_their_texts_stay_in_history_with_their_results() -> None:
    script: list[ScriptedAnswer] = [LOOKS_UP, "done", "again"]
    async with staged(ScriptedProvider(script), answered=[HIDE_KEY], tools=[LOOK_UP]) as stage:
        reply = await stage.say("look it up")
        await stage.say("more")

        roles = [message["role"] for message in stage.model.requests[-1].messages]
        assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
        assert [(one.name, one.success) for one in reply.tool_calls] == [("look_up", True)]


async def test_a_question_for_approval_passes_the_guardrails_too() -> None:
    tool = LLMTool(
        name="post",
        description="Post it.",
        parameters={"type": "object", "properties": {"text": {"type": "string"}}},
        func=lambda text="": "posted",
        needs_approval=True,
    )
    posts = Completion(
        tool_calls=(ToolCall(id="1", name="post", arguments=f'{{"text": "{KEY}"}}'),)
    )
    for guardrail, asked in ((HIDE_KEY, ['text = "[KEY]"']), (BLOCK_KEY, [])):
        script: list[ScriptedAnswer] = [posts, "done"]
        async with staged(ScriptedProvider(script), answered=[guardrail], tools=[tool]) as stage:
            reply = await stage.say_and_agree("post it")

            assert [line for one in stage.asked for line in one.arguments] == asked
            assert [one.success for one in reply.tool_calls] == [bool(asked)]


async def test_a_guardrail_that_judges_the_whole_lets_no_part_out_before() -> None:
    def long(content: str, context: Mapping[str, object]) -> GuardrailResult:
        action = GuardrailAction.BLOCK if len(content) > 20 else GuardrailAction.PASS
        return GuardrailResult(action=action)

    judge = [CustomFunctionGuardrail("long", long)]
    async with staged(ScriptedProvider(["a" * 10, "a " * 15]), answered=judge) as stage:
        short, no_parts = await stage.say_as_program("short, please")
        blocked, still_none = await stage.say_as_program("long, please")

        assert (short.text, no_parts, still_none) == ("a" * 10, [], [])
        assert blocked.text.startswith("I may not")


async def test_guardrails_of_a_running_assistant_can_be_added_and_disabled() -> None:
    guarding = GuardrailMiddleware()
    async with staged(ScriptedProvider.echo()) as stage:
        stage.assistant._program_layers = [guarding]
        assert (await stage.say(KEY)).text == KEY

        guarding.output_guardrails.append(HIDE_KEY)
        assert (await stage.say(KEY)).text == "[KEY]"

        HIDE_KEY.enabled = False
        assert (await stage.say(KEY)).text == KEY
        HIDE_KEY.enabled = True


async def test_guardrails_receive_sender_conversation_and_original_message() -> None:
    seen: list[Mapping[str, object]] = []

    def note(content: str, context: Mapping[str, object]) -> GuardrailResult:
        seen.append(context)
        return GuardrailResult(action=GuardrailAction.PASS)

    noting = [CustomFunctionGuardrail("note", note)]
    async with staged(ScriptedProvider(["ok"]), heard=noting, answered=noting) as stage:
        await stage.say("hi")

    heard, answered = seen
    assert (heard["sender"], heard["conversation_id"]) == ("you@x", "you@x")
    assert answered["llm_response"] == "ok"
    message = answered["original_message"]
    assert (message.body, str(message.sender), message.thread) == ("hi", "you@x/1", None)  # type: ignore[attr-defined]


async def test_commands_are_obeyed_whatever_the_guardrails_say() -> None:
    everything = [RegexGuardrail("all", {".": GuardrailAction.BLOCK})]
    async with staged(ScriptedProvider([]), heard=everything, answered=everything) as stage:
        assert "Commands:" in (await stage.say("/help")).text


FEWER = settings(UNHURRIED, max_examples=at_most(40))
"""tests/guardrails/ have the many: these are about what stands around."""
BITS = ["sk-", "s", "12", "3", " ", "\n", "SEC", "RET", "\u200b", "Ünï", "secret", "sk-123", "k-1"]


async def test_an_answer_that_replacements_make_too_long_for_a_message_is_blocked() -> None:
    longer = KeywordGuardrail("k", ["a"], MODIFY, "[" + "x" * 1000 + "]")
    async with staged(ScriptedProvider(["a" * 50, "a " * 500]), answered=[longer]) as stage:
        assert len((await stage.say("short, please")).text) == 50 * 1002
        assert (await stage.say("long, please")).text.startswith("I may not give")


class Card(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    phone: str | int = ""
    notes: list[str] = []
    is_new: bool = False


async def answered_as_card(answer: str, *guardrails: Guardrail, heard: str = "a card") -> str:
    async with staged(ScriptedProvider([answer] * 2), answered=guardrails) as stage:
        turn_input = replace(an_utterance(heard), answer_schema=PydanticAnswerSchema(Card))
        return (await stage.assistant.answer(turn_input)).text


async def test_replacements_in_structured_output_keep_it_valid() -> None:
    answer = '{"name": "Ada", "notes": ["the key is\\nsk\\u002d12345", "fine"], "is_new": true}'

    guarded = await answered_as_card(answer, HIDE_KEY)

    assert json.loads(guarded) == {
        "name": "Ada",
        "notes": ["the key is\n[KEY]", "fine"],
        "is_new": True,
    }
    assert await answered_as_card('{"name":   "Ada"}', HIDE_KEY) == '{"name":   "Ada"}'


@pytest.mark.parametrize(
    "answer",
    [
        '{"name": "s\\u006b-12345"}',
        '{"name": "Ada", "notes": ["sk-12345"]}',
        '{"name": "Ada", "phone": 5551234}',
    ],
)
async def test_an_object_that_is_blocked_fails_in_words_of_the_guardrail(answer: str) -> None:
    phone = RegexGuardrail("p", {"5551234": GuardrailAction.BLOCK}, blocked_message="No keys.")

    with pytest.raises(Failure, match=r"^No keys\.$"):
        await answered_as_card(answer, BLOCK_KEY, phone)


async def test_only_the_question_is_kept_of_a_blocked_object() -> None:
    script: list[ScriptedAnswer] = [LOOKS_UP, f'{{"name": "{KEY}"}}']
    async with staged(ScriptedProvider(script), answered=[BLOCK_KEY], tools=[LOOK_UP]) as stage:
        with pytest.raises(Failure):
            await stage.assistant.answer(
                replace(an_utterance("a card"), answer_schema=PydanticAnswerSchema(Card))
            )

        assert "a card" in stage.history()
        assert KEY not in stage.history()


async def test_an_object_that_would_lose_its_form_is_blocked() -> None:
    names = RegexGuardrail("names", {"^name$": "field"})

    with pytest.raises(Failure, match="I may not give the answer"):
        await answered_as_card('{"name": "Ada"}', RegexGuardrail("n", {r"(?m)^name$": "field"}))
    assert await answered_as_card('{"name": "Ada"}', names) == '{"name": "Ada"}'


async def test_errors_about_invalid_output_quote_no_guarded_text() -> None:
    with pytest.raises(InvalidAnswer) as plain:
        await answered_as_card(f'{{"name": "Ada", "{KEY}": 1}}')
    with pytest.raises(InvalidAnswer) as guarded:
        await answered_as_card(f'{{"name": "Ada", "{KEY}": 1}}', HIDE_KEY)

    assert KEY in str(plain.value)
    assert KEY not in str(guarded.value)


async def test_a_blocked_message_that_wants_an_object_is_refused() -> None:
    async with staged(ScriptedProvider([]), heard=[BLOCK_KEY]) as stage:
        with pytest.raises(Refusal, match="No keys"):
            await stage.assistant.answer(
                replace(an_utterance(KEY), answer_schema=PydanticAnswerSchema(Card))
            )

        assert KEY not in stage.history()


async def test_a_blocked_answer_goes_only_to_the_asker() -> None:
    async def call_next(turn_input: ChatTurnInput) -> TurnOutcome:
        return TurnOutcome(question="?", result=TurnResult(text=KEY))

    conversation = Conversation("you@x", "you@x")
    outcome = await GuardrailMiddleware([], [BLOCK_KEY])(an_utterance("?"), conversation, call_next)

    assert outcome.result.is_apology


ANSWERS = st.lists(st.sampled_from(BITS), min_size=1, max_size=12).map("".join).filter(str.strip)


@FEWER
@given(ANSWERS, st.data())
async def test_no_way_of_cutting_an_answer_leaks_what_is_replaced(
    answer: str, data: st.DataObject
) -> None:
    guardrails = [
        RegexGuardrail("keys", {r"sk-\d{2,3}": "[KEY]"}),
        KeywordGuardrail("words", ["secret", "12 3"], MODIFY),
    ]
    model = InPieces(pieces_of(answer, data))
    async with staged(model, answered=guardrails) as stage:
        reply, parts = await stage.say_as_program("?")

    assert reply.text.startswith("".join(parts).lstrip())


@FEWER
@given(ANSWERS, st.booleans(), st.data())
async def test_no_way_of_cutting_an_answer_leaks_what_is_blocked(
    answer: str, early_parts: bool, data: st.DataObject
) -> None:
    words = KeywordGuardrail("words", ["sk-12"], blocked_message="No.", early_parts=early_parts)
    model = InPieces(pieces_of(answer, data))
    async with staged(model, answered=[words]) as stage:
        reply, parts = await stage.say_as_program("?")
        sent = "".join(parts)

        if reply.text == "No.":
            assert early_parts or sent == ""
            assert not words._search.contains_keyword(sent)
            assert answer.strip() not in stage.history()
        else:
            assert reply.text.startswith(sent.strip())


@FEWER
@given(ANSWERS, st.data())
async def test_a_guarded_answer_that_ends_the_conversation_ends_it_and_shows_no_marker(
    answer: str, data: st.DataObject
) -> None:
    guardrails = [KeywordGuardrail("words", ["secret", "12 3", "done"], MODIFY, "[x]")]
    model = InPieces(pieces_of(f"{answer.strip()} <DONE>", data))
    async with staged(model, answered=guardrails) as stage:
        reply, parts = await stage.say_as_program("?")
        conversation = stage.assistant.conversations.get("you@x", peer="you@x")

    assert conversation.ended == "completed"
    assert "DONE" not in reply.text
    assert reply.text.startswith("".join(parts))


async def test_a_blocked_answer_does_not_end_the_conversation() -> None:
    async with staged(ScriptedProvider([f"{KEY} <DONE>", "ok"]), answered=[BLOCK_KEY]) as stage:
        assert (await stage.say("what is the key?")).text == "No keys."
        assert (await stage.say("and now?")).text == "ok"
