"""Routing of answers: functions and rules that name recipients, middleware, hop limit."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.concurrency import run_in_task, run_in_thread
from spade_llm.core.errors import RequestError, RequestRefused
from spade_llm.core.limits import ConcurrencyLimiter, LruDict
from spade_llm.messaging import CHAT_TEXT, FOR_MODELS_METADATA, AclMessage, Encoding, bare
from spade_llm.messaging.outgoing_messages import OutgoingMessages, SpawnTask, chat_message
from spade_llm.xmpp.spade_adapters import to_spade_message

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.config import AssistantConfig
    from spade_llm.assistant.history.conversation_cache import Conversation
    from spade_llm.assistant.turn.turn import CallNext, TurnMiddleware, TurnOutcome

logger = logging.getLogger(__name__)


class RoutedMessage(Protocol):
    """Message as a routing function sees it; SPADE's Message has this interface."""

    @property
    def sender(self) -> object:
        """Full JID; `str()` of it."""

    @property
    def body(self) -> str | None: ...

    @property
    def thread(self) -> str | None: ...

    def get_metadata(self, key: str) -> str | None: ...


@dataclass(slots=True)
class RoutingResponse:
    """Recipients of an answer, and changes of what they get."""

    recipients: str | list[str]
    """Bare or full JIDs."""
    transform: Callable[[str], str] | None = None
    """Makes of the answer what is sent."""
    metadata: dict[str, str] | None = None
    """Goes along with it."""


Routed = str | list[str] | RoutingResponse | None
"""Return value of a routing function: a recipient, several, or a RoutingResponse; `""`, `[]` or
None: the default recipient."""

RoutingFunction = Callable[[RoutedMessage, str, dict[str, object]], Routed | Awaitable[Routed]]
"""Takes the message, the model's answer, and `conversation_id` with the conversation's `state`."""


if TYPE_CHECKING:
    RoutingRuleFunction = Callable[..., Routed | Awaitable[Routed]]
    """A RoutingFunction, or a method that is one once it is bound."""


class RoutingRule:
    """Routing function with a priority; calling it calls the function."""

    def __init__(self, func: RoutingRuleFunction, *, priority: int, name: str | None) -> None:
        self._func = func
        self.priority = priority
        self.name = name or getattr(func, "__name__", "routing rule")
        update_wrapper(self, func)

    # Without it a decorated method would not be bound: only functions are by themselves.
    def __get__(self, instance: object, owner: type | None = None) -> RoutingRule:
        """The rule itself on the class; on an instance a rule over the bound method."""
        if instance is None:
            return self
        return RoutingRule(MethodType(self._func, instance), priority=self.priority, name=self.name)

    def __call__(
        self, message: RoutedMessage, answer: str, context: dict[str, object]
    ) -> Routed | Awaitable[Routed]:
        return self._func(message, answer, context)


def routing_rule(
    priority: int = 0, name: str | None = None
) -> Callable[[RoutingRuleFunction], RoutingRule]:
    """Mark a routing function or method as a rule; `first_of` asks higher priorities first."""

    def made(func: RoutingRuleFunction) -> RoutingRule:
        return RoutingRule(func, priority=priority, name=name)

    return made


def first_of(*rules: RoutingRule) -> RoutingFunction:
    """Routing function that follows the first rule, by priority, that names a recipient."""
    # Stable: of equal priority the first given goes first.
    in_order = sorted(rules, key=lambda rule: -rule.priority)

    async def route(message: RoutedMessage, answer: str, context: dict[str, object]) -> Routed:
        for rule in in_order:
            routed = rule(message, answer, context)
            routed = await routed if inspect.isawaitable(routed) else routed
            if routed:
                return routed
        return None

    return route


HOPS_KEY = "hops"
"""Its key in a message's metadata."""
MAX_HOPS = 32
"""Maximum number of hops of a chain; then the answer is not forwarded any further."""
MAX_REMEMBERED = 4096


class HopCounter:
    """Counter of the hops of forwarded messages. Programs that ignore the number answer without it,
    so it is remembered by recipient and thread."""

    def __init__(self, *, max_remembered: int = MAX_REMEMBERED) -> None:
        self._sent: LruDict[tuple[str, str], int] = LruDict(max_remembered)

    def passed_on(self, to: str, thread: str, hops: int) -> None:
        self._sent[to, thread] = hops

    def of(self, sender: str, thread: str, metadata: Mapping[str, str]) -> int:
        """Hop count of a message; 0: it was not forwarded."""
        said = metadata.get(HOPS_KEY, "")
        # Bounded: it is the peer's word, and int() refuses more than 4300 digits.
        if said.isdecimal() and len(said) <= 6:
            return int(said)
        return self._sent.get((sender, thread), 0)


DECISION_S = 10.0
"""Timeout of a routing function and its transform, in seconds."""
MAX_DECIDING = 32
"""Maximum number of concurrent routing calls; one that never ends occupies its slot forever."""
MAX_RECIPIENTS = 100
MAX_METADATA = 32
MAX_VALUE_CHARS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingDecision:
    """Routing decision: recipients, text and metadata of an answer."""

    text: str
    recipients: tuple[str, ...] = ()
    """Empty: as without a routing function."""
    metadata: Mapping[str, str] = field(default_factory=dict)


class RoutingDecider:
    """Calls the routing function of a program, with a timeout and a limit of concurrent calls."""

    def __init__(self, function: RoutingFunction, *, decision_s: float = DECISION_S) -> None:
        self._function = function
        self._decision_s = decision_s
        self._limiter = ConcurrencyLimiter(MAX_DECIDING, name="the routing function")

    async def on(
        self, answer: str, *, turn_input: ChatTurnInput, conversation: Conversation
    ) -> RoutingDecision | None:
        """Call the routing function; None: it failed or timed out, as logged."""
        task = asyncio.create_task(self._decide(answer, turn_input, conversation))
        try:
            # asyncio.wait raises no TimeoutError: one that the function raises is told apart.
            await asyncio.wait({task}, timeout=self._decision_s)
        finally:
            is_late = not task.done()
            task.cancel()
        if is_late:
            logger.error(
                "%s: the routing function timed out after %g s", conversation.key, self._decision_s
            )
            return None
        if task.cancelled():
            logger.error("%s: the routing function was cancelled", conversation.key)
            return None
        if error := task.exception():
            logger.error("%s: the routing function failed", conversation.key, exc_info=error)
            return None
        return task.result()

    async def _decide(
        self, answer: str, turn_input: ChatTurnInput, conversation: Conversation
    ) -> RoutingDecision:
        message = to_spade_message(turn_input.message, body=turn_input.text)
        call = partial(self._function, message, answer, _context(conversation))
        # Only a coroutine function may run on the event loop: any other may block.
        routed = await self._ended(call, is_async=inspect.iscoroutinefunction(self._function))
        if not isinstance(routed, RoutingResponse):
            return RoutingDecision(text=answer, recipients=_listed(routed))
        decision = RoutingDecision(
            text=answer,
            recipients=_listed(routed.recipients),
            metadata=_checked(routed.metadata or {}),
        )
        if routed.transform is None:
            return decision
        return replace(decision, text=str(await self._ended(partial(routed.transform, answer))))

    async def _ended(self, call: Callable[[], object], *, is_async: bool = False) -> object:
        """A function that blocks holds a thread of its own, not the event loop."""
        await self._limiter.acquire()
        run = run_in_task if is_async else run_in_thread
        value = await run(call, on_done=self._limiter.release)
        # An object with __call__ may return an awaitable without being a coroutine function.
        return await value if inspect.isawaitable(value) else value


def _context(conversation: Conversation) -> dict[str, object]:
    before = sum(message["role"] == "user" for message in conversation.messages)
    return {"conversation_id": conversation.key, "state": {"interaction_count": before + 1}}


def _listed(routed: object) -> tuple[str, ...]:
    """Recipients without duplicates. Raises TypeError for an invalid value."""
    names = [routed] if isinstance(routed, str) else routed or []
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise TypeError(f"{type(routed).__name__}: return a JID, a list, a RoutingResponse or None")
    if len(names) > MAX_RECIPIENTS:
        raise TypeError(f"{len(names)} recipients: {MAX_RECIPIENTS} at most")
    return tuple(dict.fromkeys(filter(None, names)))


def _checked(metadata: Mapping[str, object]) -> dict[str, str]:
    """Raises ValueError where it is more than a message's names may be."""
    values = {str(key): str(value) for key, value in metadata.items()}
    longest = max(map(len, (*values, *values.values())), default=0)
    if len(values) > MAX_METADATA or longest > MAX_VALUE_CHARS:
        raise ValueError(f"metadata: {MAX_METADATA} keys of {MAX_VALUE_CHARS} characters at most")
    return values


class RoutingMiddleware:
    """Turn middleware that forwards answers to the recipients that routing names."""

    def __init__(
        self,
        letters: OutgoingMessages,
        *,
        reply_to: str | None,
        deciding: RoutingDecider | None,
        run: SpawnTask,
        max_hops: int = MAX_HOPS,
    ) -> None:
        """Create the middleware. `reply_to` receives answers for which `deciding` names no
        recipient."""
        self._letters = letters
        self._reply_to = reply_to
        self._deciding = deciding
        self._run = run
        self._max_hops = max_hops
        self._hops = HopCounter()

    async def __call__(
        self, turn_input: ChatTurnInput, conversation: Conversation, call_next: CallNext
    ) -> TurnOutcome:
        # Whose the answer is, and as what, is known when it is there: no part goes before.
        on_delta = turn_input.on_delta if self._deciding is None else None
        outcome = await call_next(replace(turn_input, on_delta=on_delta))
        if not outcome.is_kept or outcome.result.is_apology:
            return outcome
        heard = replace(turn_input, text=outcome.question)  # As guardrails have left it.
        decision = await self._decision(outcome.result.text, heard, conversation)
        return await self._follow(decision, turn_input, outcome)

    async def _decision(
        self, answer: str, turn_input: ChatTurnInput, conversation: Conversation
    ) -> RoutingDecision:
        """Decide on the recipients; none, or a failure, means that the sender gets the answer."""
        if self._deciding is None:
            decided: RoutingDecision | None = RoutingDecision(text=answer)
        else:
            decided = await self._deciding.on(
                answer, turn_input=turn_input, conversation=conversation
            )
        if decided is None:
            return RoutingDecision(text=answer)
        if decided.recipients or not self._reply_to:
            return decided
        return replace(decided, recipients=(self._reply_to,))

    async def _follow(
        self, decision: RoutingDecision, turn_input: ChatTurnInput, outcome: TurnOutcome
    ) -> TurnOutcome:
        message = turn_input.message
        thread, hops = message.conversation_id or _digest(turn_input.conversation)[:16], 0
        if message.encoding is Encoding.FORM:
            hops = self._hops.of(message.owner, thread, message.extra)
        way = _ForwardedAnswer(message, turn_input.id, thread, hops, decision)
        others = [one for one in decision.recipients if not way.is_answer(one)]
        outcome = replace(outcome, said=decision.text, routed_to=decision.recipients)
        if not others:
            return outcome
        is_for_asker = len(others) < len(decision.recipients)
        outcome = replace(outcome, is_for_asker=is_for_asker)
        if way.hops >= self._max_hops:
            logger.warning(
                "%s: hop limit reached (%d); the answer is not forwarded", way.thread, way.hops
            )
            return replace(outcome, routed_to=())
        failures = await asyncio.gather(*(self._send(one, way) for one in others))
        return _with_failures(outcome, way, dict(filter(None, failures)))

    async def _send(self, to: str, way: _ForwardedAnswer) -> tuple[str, str] | None:
        """Send the answer to one recipient; None if sent, else the recipient and the error code."""
        letter = way.letter(to)
        if HOPS_KEY in letter.extra:
            # Before it leaves: an answer may come back while `say` still waits.
            self._hops.passed_on(bare(to), way.thread, way.hops + 1)
        try:
            if bare(to) == bare(way.message.receiver):
                raise RequestRefused("an answer cannot be routed to the agent itself", peer=to)
            await self._letters.say(letter, on_return=partial(self._returned, way, to))
        except RequestError as error:
            logger.warning("%s: could not be forwarded to %s: %s", way.thread, to, error)
            return to, error.wire_code
        return None

    def _returned(self, way: _ForwardedAnswer, to: str, condition: str) -> None:
        """Report an answer that was returned after the sender's request had ended."""
        logger.warning("%s: %s returned a forwarded answer: %s", way.thread, to, condition)
        if way.message.ontology == CHAT_TEXT and not way.hops:
            self._run(self._letters.tell(way.back(_failure_note({to: condition}))))


@dataclass(frozen=True, slots=True)
class _ForwardedAnswer:
    """Forwarded answer with the data of its origin."""

    message: AclMessage
    """Message that is being answered."""
    utterance_id: str
    thread: str
    """Thread of the message, or one from its conversation: recipients keep answers together."""
    hops: int
    """Number of times that the message was forwarded before; 0: it was addressed to us."""
    decision: RoutingDecision

    def is_answer(self, to: str) -> bool:
        """True if `to` receives the answer as the response to its own request. An agent that only
        forwarded a message waits for no response, and a response carries no metadata."""
        is_form = self.message.encoding is Encoding.FORM
        needs_letter = self.hops > 0 or (is_form and bool(self.decision.metadata))
        return bare(to) == self.message.owner and not needs_letter

    def letter(self, to: str) -> AclMessage:
        """Outgoing message. A resumed turn gives it the same id: it is not sent twice."""
        hops = {HOPS_KEY: str(self.hops + 1)}
        is_back = bare(to) == self.message.owner and not self.hops
        metadata = {**FOR_MODELS_METADATA, **self.decision.metadata, **({} if is_back else hops)}
        id = _digest(f"{self.utterance_id} {to}")[:32]
        return chat_message(to, self.decision.text, thread=self.thread, id=id, metadata=metadata)

    def back(self, text: str) -> AclMessage:
        """Message to the sender, in the encoding of their own."""
        asked = self.message
        metadata = None if asked.encoding is Encoding.PLAIN else FOR_MODELS_METADATA
        return chat_message(asked.sender, text, thread=asked.conversation_id, metadata=metadata)


def _with_failures(
    outcome: TurnOutcome, way: _ForwardedAnswer, failures: Mapping[str, str]
) -> TurnOutcome:
    """Report failed deliveries to the sender (for an object answer by `routed_to`). An agent that
    forwarded the message would take the report for an answer, and is not told."""
    if not failures or way.hops:
        return outcome
    gone = tuple(one for one in outcome.routed_to if one not in failures)
    if outcome.result.is_formed and way.message.ontology != CHAT_TEXT:
        # Nothing may be said beside an object.
        return replace(outcome, routed_to=gone, is_for_asker=True)
    gets_text = outcome.is_for_asker or way.message.ontology != CHAT_TEXT
    said = f"{outcome.said}\n\n{_failure_note(failures)}" if gets_text else _failure_note(failures)
    return replace(outcome, said=said, routed_to=gone, is_for_asker=True)


def _failure_note(failures: Mapping[str, str]) -> str:
    names = ", ".join(f"{to} ({why})" for to, why in failures.items())
    return f"(My answer could not be passed on to {names}.)"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def routing_middleware(
    config: AssistantConfig, letters: OutgoingMessages, *, run: SpawnTask
) -> list[TurnMiddleware]:
    if not (config.reply_to or config.routing_function):
        return []
    deciding = RoutingDecider(config.routing_function) if config.routing_function else None
    return [RoutingMiddleware(letters, reply_to=config.reply_to, deciding=deciding, run=run)]
