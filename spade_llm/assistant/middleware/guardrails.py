"""Guardrail middleware: checks input, streamed parts, structured output and approval questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.assistant.turn.approval import ApprovalQuestion, ApprovalVerdict, AskApproval
from spade_llm.assistant.turn.context_builder import AssembledContext
from spade_llm.assistant.turn.prompt import without_text
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.assistant.turn.structured_output import AnswerSchema, AnswerSchemaError
from spade_llm.assistant.turn.tool_loop import AnswerBuffer, TurnResult
from spade_llm.assistant.turn.turn import CallNext, TurnOutcome
from spade_llm.assistant.turn.turn_recorder import current_recorder, record_phase
from spade_llm.core.errors import Failure, InvalidAnswer, Refusal
from spade_llm.guardrails.chain import ChainResult, OnTrigger, combine_part_guards, run_chain
from spade_llm.guardrails.guardrail import GuardrailDirection, default_message
from spade_llm.xmpp.spade_adapters import to_spade_message

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.history.conversation_cache import Conversation
    from spade_llm.assistant.turn.turn_options import OnDelta
    from spade_llm.guardrails import Guardrail, PartGuard

Scalar = str | int | float


def json_texts(answer: str) -> list[str]:
    """Keys and values, each as text, in order. `answer`: valid JSON."""
    return [str(one) for one in _scalars(json.loads(answer))]


def replace_json_texts(answer: str, texts: Mapping[str, str]) -> str:
    """JSON with each text that is named replaced, numbers by text if need be. Keys that become
    equal are one."""
    return json.dumps(_replaced(json.loads(answer), texts), ensure_ascii=False)


def _scalars(value: object) -> Iterator[Scalar]:
    match value:
        case dict():
            for key, inner in value.items():
                yield from (key, *_scalars(inner))
        case list():
            for inner in value:
                yield from _scalars(inner)
        # Before int, of which bool is a subclass.
        case bool() | None:
            return
        case str() | int() | float():
            yield value


def _replaced(value: object, texts: Mapping[str, str]) -> object:
    match value:
        case dict():
            return {texts.get(key, key): _replaced(one, texts) for key, one in value.items()}
        case list():
            return [_replaced(one, texts) for one in value]
        case bool() | None:
            return value
        case _:
            return texts.get(str(value), value)


class GuardrailMiddleware:
    """Turn middleware that applies guardrails. Its lists may be changed while the assistant runs:
    the next turn has them.

    Raises Refusal or Failure for what is blocked where an answer must have a form.
    """

    def __init__(
        self,
        input_guardrails: Iterable[Guardrail] = (),
        output_guardrails: Iterable[Guardrail] = (),
        *,
        on_trigger: OnTrigger | None = None,
    ) -> None:
        self.input_guardrails = list(input_guardrails)
        self.output_guardrails = list(output_guardrails)
        self._on_trigger = on_trigger

    async def __call__(
        self, turn_input: ChatTurnInput, conversation: Conversation, call_next: CallNext
    ) -> TurnOutcome:
        said = await self._judged_input(turn_input, turn_input.text, self._on_trigger)
        if said.is_blocked:
            _note("a guardrail, which withheld your message")
            if turn_input.answer_schema is not None:
                raise Refusal(said.text)
            # What was blocked is stored nowhere: not even the question.
            return TurnOutcome(question="", result=_answer(said.text), is_kept=False)
        if said.text != turn_input.text:
            _note("a guardrail, which changed your message")
        turn_input = await self._with_judged_quotations(replace(turn_input, text=said.text))
        guardrails = [one for one in self.output_guardrails if one.enabled]
        if not guardrails:
            return await call_next(turn_input)
        turn = _GuardedTurn(turn_input, guardrails, self._on_trigger)
        try:
            return await turn.judged(await call_next(turn.turn_input))
        except InvalidAnswer as fault:
            # from None: the original error may quote what is blocked.
            raise await turn.judged_fault(fault) from None

    async def _with_judged_quotations(self, turn_input: ChatTurnInput) -> ChatTurnInput:
        """Apply input guardrails to the quoted message and to the room's messages, which other
        people wrote. Blocked texts are left out without a notice, since the sender may not be their
        author."""
        replied_to = await self._judged_input(turn_input, turn_input.replied_to, None)
        heard = await self._judged_input(turn_input, "\n".join(turn_input.heard), None)
        return replace(
            turn_input,
            replied_to="" if replied_to.is_blocked else replied_to.text,
            # "".split("\n") would give one empty message.
            heard=() if heard.is_blocked or not heard.text else tuple(heard.text.split("\n")),
        )

    async def _judged_input(
        self, turn_input: ChatTurnInput, text: str, on_trigger: OnTrigger | None
    ) -> ChainResult:
        guardrails = [one for one in self.input_guardrails if one.enabled]
        if not (guardrails and text):
            return ChainResult(text=text)
        context = {"message": _message(replace(turn_input, text=text)), **_context(turn_input)}
        judging = run_chain(
            text, context, guardrails, side=GuardrailDirection.INPUT, on_trigger=on_trigger
        )
        return await _timed(judging, GuardrailDirection.INPUT)


class _GuardedTurn:
    """Turn with output guardrails."""

    def __init__(
        self, turn_input: ChatTurnInput, guardrails: list[Guardrail], on_trigger: OnTrigger | None
    ) -> None:
        self._guardrails = guardrails
        self._on_trigger = on_trigger
        self._context = {"original_message": _message(turn_input), **_context(turn_input)}
        # None, where one of them judges whole answers only: then nothing is streamed.
        guard, on_delta = combine_part_guards(guardrails), turn_input.on_delta
        self.turn_input = replace(
            turn_input,
            on_delta=_GuardedDeltas(guard, on_delta).add if guard and on_delta else None,
            ask=self._guarded_ask(turn_input.ask) if turn_input.ask else None,
        )
        """Turn input as passed to the inner middleware."""

    async def judged(self, outcome: TurnOutcome) -> TurnOutcome:
        text, schema = outcome.result.text, self.turn_input.answer_schema
        answer = await (self._judged(text) if schema is None else self._judged_object(text, schema))
        # Replacements may make it longer than a message: then it is blocked.
        if answer.text != text and not _fits(answer.text):
            answer = self._withheld()
        if (recorder := current_recorder()) is not None:
            # Why a tool failed is text that no guardrail has judged.
            recorder.leave_reasons_out()
        if answer.is_blocked:
            _note("a guardrail, which withheld my answer")
            if schema is not None:
                # The result of a failed turn is stored: nothing blocked may be in it.
                outcome.result.text = ""
                outcome.result.added.clear()
                raise Failure(answer.text)
            return _blocked(outcome, answer.text)
        if answer.text != outcome.result.text:
            _note("a guardrail, which changed my answer")
        built = outcome.built and await self._judged_built(outcome.built)
        return replace(outcome, result=_changed(outcome.result, answer.text), built=built)

    async def _judged_built(self, built: AssembledContext) -> AssembledContext:
        """A reply shows documents and memories word for word. What is blocked there is not shown,
        nor what stands beside it."""
        joined = "\n".join(built.texts)
        whole = await self._judged(joined)
        if whole.is_blocked or whole.text == joined:
            return AssembledContext() if whole.is_blocked else built
        found = await asyncio.gather(*map(self._judged, built.texts))
        if any(one.is_blocked for one in found):
            return AssembledContext()
        return built.shown_as([one.text for one in found])

    async def judged_fault(self, fault: InvalidAnswer) -> InvalidAnswer:
        """Check an error message, which may quote the invalid answer."""
        found = await self._judged(str(fault))
        if found.is_blocked or found.text != str(fault):
            return InvalidAnswer("no answer matches the requested schema")
        return fault

    async def _judged_object(self, answer: str, schema: AnswerSchema) -> ChainResult:
        """Check an object's texts; after replacements it must still match the schema."""
        texts = list(dict.fromkeys(json_texts(answer)))
        # One run over all texts covers the usual case, in which nothing is found.
        whole = await self._judged("\n".join(texts))
        if whole.is_blocked or whole.text == "\n".join(texts):
            return whole if whole.is_blocked else ChainResult(text=answer)
        found = await asyncio.gather(*map(self._judged, texts))
        changed = {old: new.text for old, new in zip(texts, found, strict=True)}
        blocked = next((one for one in found if one.is_blocked), None)
        if blocked is not None:
            return blocked
        try:
            return ChainResult(text=schema.checked(replace_json_texts(answer, changed)))
        except AnswerSchemaError:
            return self._withheld()

    def _withheld(self) -> ChainResult:
        text = default_message(GuardrailDirection.OUTPUT, self.turn_input.text)
        return ChainResult(text=text, is_blocked=True)

    async def _judged(self, text: str) -> ChainResult:
        context = {**self._context, "llm_response": text}
        judging = run_chain(
            text,
            context,
            self._guardrails,
            side=GuardrailDirection.OUTPUT,
            on_trigger=self._on_trigger,
        )
        return await _timed(judging, GuardrailDirection.OUTPUT)

    def _guarded_ask(self, ask: AskApproval) -> AskApproval:
        """A question shows what the model wrote as arguments: it passes the guardrails, too. One
        that they block is not asked, and counts as no."""

        async def guarded(question: ApprovalQuestion) -> ApprovalVerdict:
            shown = await asyncio.gather(*map(self._judged, question.arguments))
            if any(line.is_blocked for line in shown):
                return ApprovalVerdict.NO
            return await ask(replace(question, arguments=tuple(line.text for line in shown)))

        return guarded


class _GuardedDeltas:
    def __init__(self, guard: PartGuard, on_delta: OnDelta) -> None:
        self._guard = guard
        self._on_delta = on_delta

    async def add(self, text: str) -> None:
        """Feed a piece and forward the text that is safe. Text held back at the end arrives with
        the terminal answer, which repeats everything."""
        ready = self._guard.feed(text)
        if ready:
            await self._on_delta(ready)


async def _timed(judging: Awaitable[ChainResult], side: GuardrailDirection) -> ChainResult:
    """Record the time of a guardrail run, for /why and traces."""
    with record_phase("guardrails") as span:
        found = await judging
        span.note({"spade_llm.side": side.value, "spade_llm.is_blocked": found.is_blocked})
        return found


def _note(what: str) -> None:
    """Record a change for /why."""
    if (recorder := current_recorder()) is not None:
        recorder.changed(what)


def _message(turn_input: ChatTurnInput) -> object:
    """SPADE message with the current text, after changes by guardrails."""
    return to_spade_message(turn_input.message, body=turn_input.text)


def _context(turn_input: ChatTurnInput) -> Mapping[str, object]:
    return {"sender": turn_input.peer, "conversation_id": turn_input.conversation}


def _answer(text: str) -> TurnResult:
    return TurnResult(text=text, added=[{"role": "assistant", "content": text}])


def _fits(answer: str) -> bool:
    spoken = AnswerBuffer()
    spoken.add(answer)
    return not spoken.is_full


def _blocked(outcome: TurnOutcome, text: str) -> TurnOutcome:
    """Outcome of a blocked answer. Usage stays; the sources are removed, since they may contain the
    blocked text. It is an apology, and so goes to the sender even if answers are routed."""
    result = replace(
        _answer(text),
        usage=outcome.result.usage,
        model_calls=outcome.result.model_calls,
        is_apology=True,
        finish="content_filter",
    )
    return replace(outcome, result=result, recalled=RecallResult(), built=None, missing=())


def _changed(result: TurnResult, text: str) -> TurnResult:
    """Result with the text changed by guardrails. Only the answer was checked: the model's text
    between calls is not stored, and programs do not receive arguments and results of calls."""
    exchanges = [
        without_text(message)
        for message in result.added
        # Tool calls and their results.
        if message["role"] == "tool"
        or (message["role"] == "assistant" and message.get("tool_calls"))
    ]
    called = [replace(one, arguments="", result="") for one in result.called]
    return replace(result, text=text, added=[*exchanges, *_answer(text).added], called=called)
