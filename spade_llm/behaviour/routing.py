"""RoutingLayer: an answer goes to whom routing names, instead of who asked. Knows no model.

A person or a plain SPADE agent that asked gets nothing then, unless it is one of them; a program's
request still ends with the answer. What cannot be passed on is told to who asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.acl import CHAT_TEXT, FOR_MODELS, Encoding, bare
from spade_llm.behaviour.deciding import Decision
from spade_llm.errors import RequestError, RequestRefused
from spade_llm.routing.hops import HOPS, MAX_HOPS, Hops
from spade_llm.services.correspondence import chat_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.acl import AclMessage
    from spade_llm.behaviour.deciding import Deciding
    from spade_llm.behaviour.layers import Outcome, Proceed
    from spade_llm.conversation.history import Conversation
    from spade_llm.services.chat import Utterance
    from spade_llm.services.correspondence import Correspondence, Run

logger = logging.getLogger(__name__)


class RoutingLayer:
    def __init__(
        self,
        letters: Correspondence,
        *,
        reply_to: str | None,
        deciding: Deciding | None,
        run: Run,
        max_hops: int = MAX_HOPS,
    ) -> None:
        """`reply_to`: for answers for which `deciding` names nobody."""
        self._letters = letters
        self._reply_to = reply_to
        self._deciding = deciding
        self._run = run
        self._max_hops = max_hops
        self._hops = Hops()

    async def __call__(
        self, utterance: Utterance, conversation: Conversation, proceed: Proceed
    ) -> Outcome:
        # Whose the answer is, and as what, is known when it is there: no part goes before.
        on_delta = utterance.on_delta if self._deciding is None else None
        outcome = await proceed(replace(utterance, on_delta=on_delta))
        if not outcome.is_kept or outcome.result.is_apology:
            return outcome
        heard = replace(utterance, text=outcome.question)  # As guardrails have left it.
        decision = await self._decision(outcome.result.text, heard, conversation)
        return await self._follow(decision, utterance, outcome)

    async def _decision(
        self, answer: str, utterance: Utterance, conversation: Conversation
    ) -> Decision:
        """Without recipients: who asked gets it; also where the function fails."""
        if self._deciding is None:
            decided: Decision | None = Decision(text=answer)
        else:
            decided = await self._deciding.on(
                answer, utterance=utterance, conversation=conversation
            )
        if decided is None:
            return Decision(text=answer)
        if decided.recipients or not self._reply_to:
            return decided
        return replace(decided, recipients=(self._reply_to,))

    async def _follow(self, decision: Decision, utterance: Utterance, outcome: Outcome) -> Outcome:
        way = self._way(decision, utterance)
        others = [one for one in decision.recipients if not way.is_answer(one)]
        outcome = replace(outcome, said=decision.text, routed_to=decision.recipients)
        if not others:
            return outcome
        is_for_asker = len(others) < len(decision.recipients)
        outcome = replace(outcome, is_for_asker=is_for_asker)
        if way.hops >= self._max_hops:
            logger.warning("%s: passed on %d times: it ends here", way.thread, way.hops)
            return replace(outcome, routed_to=())
        failures = await asyncio.gather(*(self._send(one, way) for one in others))
        return _told(outcome, way, dict(filter(None, failures)))

    def _way(self, decision: Decision, utterance: Utterance) -> _Way:
        message = utterance.message
        thread, hops = message.conversation_id or _digest(utterance.conversation)[:16], 0
        if message.encoding is Encoding.FORM:
            hops = self._hops.of(message.owner, thread, message.extra)
        return _Way(message, utterance.id, thread, hops, decision)

    async def _send(self, to: str, way: _Way) -> tuple[str, str] | None:
        """None: it is on its way; else to whom it is not, and why."""
        letter = way.letter(to)
        if HOPS in letter.extra:
            self._hops.passed_on(bare(to), way.thread, way.hops + 1)
        try:
            if bare(to) == bare(way.message.receiver):
                raise RequestRefused("an agent routes nothing to itself", peer=to)
            await self._letters.say(letter, on_return=partial(self._returned, way, to))
        except RequestError as error:
            logger.warning("%s: not passed on to %s: %s", way.thread, to, error)
            return to, error.wire_code
        return None

    def _returned(self, way: _Way, to: str, condition: str) -> None:
        """It came back after the asker's request had ended."""
        logger.warning("%s: %s returned what was passed on: %s", way.thread, to, condition)
        if way.message.ontology == CHAT_TEXT and not way.hops:
            self._run(self._letters.tell(way.back(_note({to: condition}))))


@dataclass(frozen=True, slots=True)
class _Way:
    """What is passed on, and where it comes from."""

    message: AclMessage
    """That is answered."""
    utterance_id: str
    thread: str
    """Of the message, or one for its conversation: those that it goes to keep it together, too."""
    hops: int
    """How often that message was passed on itself; 0: somebody said it to us."""
    decision: Decision

    def is_answer(self, to: str) -> bool:
        """Whether `to` gets it as the answer to its own request. Who only passed something on
        waits for none, and an answer carries no metadata."""
        is_form = self.message.encoding is Encoding.FORM
        needs_letter = self.hops > 0 or (is_form and bool(self.decision.metadata))
        return bare(to) == self.message.owner and not needs_letter

    def letter(self, to: str) -> AclMessage:
        """With the same id when a turn is taken up again: it is not sent twice."""
        hops = {HOPS: str(self.hops + 1)}
        is_back = bare(to) == self.message.owner and not self.hops
        metadata = {**FOR_MODELS, **self.decision.metadata, **({} if is_back else hops)}
        id = _digest(f"{self.utterance_id} {to}")[:32]
        return chat_message(to, self.decision.text, thread=self.thread, id=id, metadata=metadata)

    def back(self, text: str) -> AclMessage:
        """To who asked, in the form in which they did."""
        asked = self.message
        metadata = None if asked.encoding is Encoding.PLAIN else FOR_MODELS
        return chat_message(asked.sender, text, thread=asked.conversation_id, metadata=metadata)


def _told(outcome: Outcome, way: _Way, failures: Mapping[str, str]) -> Outcome:
    """Who asked learns what did not go (of an object, by `routed_to`); an agent that passed
    something on takes it for an answer, and is not told."""
    if not failures or way.hops:
        return outcome
    gone = tuple(one for one in outcome.routed_to if one not in failures)
    if outcome.result.is_formed and way.message.ontology != CHAT_TEXT:
        return replace(
            outcome, routed_to=gone, is_for_asker=True
        )  # Nothing may be said beside an object.
    gets_text = outcome.is_for_asker or way.message.ontology != CHAT_TEXT
    said = f"{outcome.said}\n\n{_note(failures)}" if gets_text else _note(failures)
    return replace(outcome, said=said, routed_to=gone, is_for_asker=True)


def _note(failures: Mapping[str, str]) -> str:
    names = ", ".join(f"{to} ({why})" for to, why in failures.items())
    return f"(My answer could not be passed on to {names}.)"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
