"""Replacing: which of our messages an answer to a person takes the place of (XEP-0308).

An answer that grew, or whose question was corrected, leaves as a correction of what was shown.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.acl import CHAT_TEXT, Encoding, bare
from spade_llm.conversation.shown_answers import ShownAnswer
from spade_llm.errors import StorageFailed
from spade_llm.services.chat_place import place_with
from spade_llm.xmpp.stanza import in_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.acl import AclMessage
    from spade_llm.conversation.shown_answers import ShownAnswers
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)

REPLACED = "(…)"
"""In the place of a piece that a shorter answer does not need any more."""


Retract = Callable[[str, str, str], Awaitable[None]]
"""Takes a conversation, a turn of it and its peer: its exchange is not what was meant."""


class Replacing:
    def __init__(self, shown: ShownAnswers, retract: Retract) -> None:
        self._shown = shown
        self._retract = retract

    async def begin(self, utterance: Utterance, *, follows_corrections: bool) -> ShownAnswer:
        """Note the turn, whose answer is to come. One that is taken up again knows what was shown
        of it; one that corrects the last message of its asker takes that one's place.

        `follows_corrections`: otherwise the asker's client may show only the first correction of a
        message, and a further one would be lost: that answer is a message of its own.
        """
        message = utterance.message
        answer = ShownAnswer(
            peer=utterance.peer,
            place=utterance.conversation,
            asked=message.reply_with,
            request=message.reply_with,
            turn=utterance.id,
        )
        known = self._known(utterance)
        if known is not None and known.turn == utterance.id:
            return known
        if (last := self._corrected(utterance)) is not None:
            await self._retract(last.place, last.turn, last.peer)
            is_first = last.request == last.asked
            ids = last.ids if follows_corrections or is_first else ()
            answer = replace(answer, asked=last.asked, ids=ids)
        await self._put(answer)
        return answer

    def show(self, answer: ShownAnswer, ids: tuple[str, ...]) -> ShownAnswer:
        """Note that these show it, before they leave."""
        try:
            self._shown.show(answer, ids)
        except StorageFailed as error:
            logger.warning("what is shown to %s is not noted: %s", answer.peer, error)
        return replace(answer, ids=ids)

    def pieces(self, message: AclMessage) -> Sequence[AclMessage]:
        """As which messages it leaves."""
        pieces = list(in_pieces(message))
        answer = self._answer_of(message)
        if answer is None:
            return pieces
        places = (*answer.ids, *(one.reply_with for one in pieces[len(answer.ids) :]))
        surplus = [_surplus(message, id) for id in places[len(pieces) :]]
        self.show(answer, places)
        return [_in_place(one, id) for one, id in zip([*pieces, *surplus], places, strict=True)]

    def _answer_of(self, message: AclMessage) -> ShownAnswer | None:
        """None: nothing of it can have been shown."""
        is_answer = message.is_terminal and bool(message.in_reply_to) and not message.said.room
        if not is_answer or (message.ontology, message.encoding) != (CHAT_TEXT, Encoding.PLAIN):
            return None
        place = place_with(bare(message.receiver), message.conversation_id)
        return self._find(place, message.in_reply_to)

    def _corrected(self, utterance: Utterance) -> ShownAnswer | None:
        """What the answer to the last message shows, if this is a version of that message: an
        older one is not taken back, and this is a new one."""
        if not (corrects := utterance.message.said.corrects):
            return None
        try:
            last = self._shown.last(utterance.conversation)
        except StorageFailed as error:
            logger.warning("what is shown in %s cannot be read: %s", utterance.conversation, error)
            return None
        return last if last and corrects in (last.asked, last.request) else None

    def _known(self, utterance: Utterance) -> ShownAnswer | None:
        return self._find(utterance.conversation, utterance.message.reply_with)

    def _find(self, place: str, request: str) -> ShownAnswer | None:
        try:
            return self._shown.of_request(place, request)
        except StorageFailed as error:
            logger.warning("what is shown in %s cannot be read: %s", place, error)
            return None

    async def _put(self, answer: ShownAnswer) -> None:
        try:
            await self._shown.put(answer)
        except StorageFailed as error:
            logger.warning("what is shown to %s is not noted: %s", answer.peer, error)


def _in_place(piece: AclMessage, id: str) -> AclMessage:
    """Sent again it is no correction of itself."""
    if piece.reply_with == id:
        return piece
    return replace(piece, said=replace(piece.said, corrects=id))


def _surplus(message: AclMessage, id: str) -> AclMessage:
    return replace(message, content=REPLACED, reply_with=f"{message.reply_with}.no.{id[-64:]}")
