"""Message correction (XEP-0308): answers to a corrected message replace the earlier ones, growing
answers are edited (streaming); typing indicator (XEP-0085)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from spade_llm.assistant.history.conversation_cache import conversation_key_for
from spade_llm.core.database import DatabasePlace, DialectSql, StoreTables
from spade_llm.core.errors import StorageFailed
from spade_llm.messaging import CHAT_TEXT, AclMessage, Encoding, bare
from spade_llm.xmpp.stanzas.message_codec import split_message

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.turn.approval import ApprovalQuestion, ApprovalVerdict, AskApproval


logger = logging.getLogger(__name__)

MAX_ROWS = 10_000
"""Answers, of all people: beyond, the oldest is forgotten and nothing can replace it."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS shown (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    peer TEXT NOT NULL,
    place TEXT NOT NULL,
    asked TEXT NOT NULL,
    request TEXT NOT NULL,
    turn TEXT NOT NULL,
    ids TEXT NOT NULL,
    UNIQUE (place, asked)
);
CREATE INDEX IF NOT EXISTS shown_peer ON shown(peer);
CREATE INDEX IF NOT EXISTS shown_request ON shown(place, request);
"""
SHOWN_TABLES = StoreTables(name="shown", what="the list of shown answers", schema=_SCHEMA)
# REPLACE gives the row a new number: the answer is the latest of its place again.
_PUT = DialectSql(
    sqlite="""INSERT OR REPLACE INTO shown(peer, place, asked, request, turn, ids)
    VALUES (?,?,?,?,?,?)""",
    postgres="""INSERT INTO shown(peer, place, asked, request, turn, ids)
    VALUES (?,?,?,?,?,?) ON CONFLICT (place, asked) DO UPDATE SET number = DEFAULT,
    peer = excluded.peer, request = excluded.request, turn = excluded.turn, ids = excluded.ids""",
)
_IDS = "UPDATE shown SET ids = ? WHERE place = ? AND asked = ?"
_OF_REQUEST = """SELECT peer, place, asked, request, turn, ids FROM shown
    WHERE place = ? AND request = ? ORDER BY number DESC LIMIT 1"""
_OF_PLACE = """SELECT peer, place, asked, request, turn, ids FROM shown
    WHERE place = ? ORDER BY number DESC LIMIT 1"""
_FORGET = "DELETE FROM shown WHERE peer = ?"
_FORGET_PLACE = "DELETE FROM shown WHERE place = ?"
_BOUND = "DELETE FROM shown WHERE number <= (SELECT max(number) FROM shown) - ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    peer: str
    """Bare JID of the sender."""
    place: str
    """The conversation."""
    asked: str
    """Id of the message that was asked, as it was before its asker corrected it."""
    request: str
    """Id of its latest version."""
    turn: str
    """Turn id of that version, under which the exchange is stored."""
    ids: tuple[str, ...] = ()
    """Ids of our messages that show the answer, in order; empty: none was sent yet."""


class ShownAnswers:
    """Store of shown answers. Every method raises StorageFailed if the disk refuses."""

    def __init__(self, place: DatabasePlace) -> None:
        self._db = SHOWN_TABLES.at(place)

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        await self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._db.close()

    async def put(self, answer: ShownAnswer) -> None:
        """Store an answer as the latest of its conversation."""
        ids = json.dumps(answer.ids)
        known_by = (answer.peer, answer.place, answer.asked, answer.request, answer.turn)
        await self._db.execute(_PUT, *known_by, ids)
        await self._db.prune_periodically(_BOUND, MAX_ROWS)

    async def show(self, answer: ShownAnswer, ids: tuple[str, ...]) -> None:
        await self._db.execute(_IDS, json.dumps(ids), answer.place, answer.asked)

    async def of_request(self, place: str, request: str) -> ShownAnswer | None:
        return _answer(await self._db.execute(_OF_REQUEST, place, request))

    async def last(self, place: str) -> ShownAnswer | None:
        return _answer(await self._db.execute(_OF_PLACE, place))

    async def forget_place(self, place: str) -> None:
        await self._db.execute(_FORGET_PLACE, place)

    async def forget(self, peer: str) -> None:
        await self._db.execute(_FORGET, peer)


def _answer(rows: list[tuple[object, ...]]) -> ShownAnswer | None:
    for peer, place, asked, request, turn, ids in rows:
        return ShownAnswer(
            peer=str(peer),
            place=str(place),
            asked=str(asked),
            request=str(request),
            turn=str(turn),
            ids=tuple(json.loads(str(ids))),
        )
    return None


REPLACED_TEXTS = "(…)"
"""Replacement text of a message that a shorter answer no longer needs."""


RetractExchange = Callable[[str, str, str], Awaitable[None]]
"""Takes a conversation, a turn of it and its peer: its exchange is not what was meant."""


class MessageCorrection:
    """Corrections (XEP-0308) of questions and of the answers to them."""

    def __init__(self, shown: ShownAnswers, retract: RetractExchange) -> None:
        self._shown = shown
        self._retract = retract

    async def begin(self, turn_input: ChatTurnInput, *, follows_corrections: bool) -> ShownAnswer:
        """Register a turn before its answer. A resumed turn finds the messages shown so far; a
        correction of the sender's last message replaces its answer.

        `follows_corrections=False`: the sender's client may display only the first correction of a
        message, and would lose a further one; then the answer is a new message.
        """
        message = turn_input.message
        answer = ShownAnswer(
            peer=turn_input.peer,
            place=turn_input.conversation,
            asked=message.reply_with,
            request=message.reply_with,
            turn=turn_input.id,
        )
        known = await self._find(turn_input.conversation, message.reply_with)
        if known is not None and known.turn == turn_input.id:
            return known
        if (last := await self._corrected(turn_input)) is not None:
            await self._retract(last.place, last.turn, last.peer)
            is_first = last.request == last.asked
            ids = last.ids if follows_corrections or is_first else ()
            answer = replace(answer, asked=last.asked, ids=ids)
        try:
            await self._shown.put(answer)
        except StorageFailed as error:
            logger.warning(
                "the message ids of an answer to %s could not be stored: %s", answer.peer, error
            )
        return answer

    async def show(self, answer: ShownAnswer, ids: tuple[str, ...]) -> ShownAnswer:
        """Note that these show it, before they leave."""
        try:
            await self._shown.show(answer, ids)
        except StorageFailed as error:
            logger.warning(
                "the message ids of an answer to %s could not be stored: %s", answer.peer, error
            )
        return replace(answer, ids=ids)

    async def pieces(self, message: AclMessage) -> Sequence[AclMessage]:
        """Messages into which an answer is split, as corrections of those shown before."""
        pieces = list(split_message(message))
        is_answer = message.is_terminal and bool(message.in_reply_to) and not message.said.room
        if not is_answer or (message.ontology, message.encoding) != (CHAT_TEXT, Encoding.PLAIN):
            return pieces
        place = conversation_key_for(bare(message.receiver), message.conversation_id)
        answer = await self._find(place, message.in_reply_to)
        if answer is None:
            return pieces
        places = (*answer.ids, *(one.reply_with for one in pieces[len(answer.ids) :]))
        for id in places[len(pieces) :]:
            # Only the end of the id: whole, it would grow with each correction.
            own_id = f"{message.reply_with}.no.{id[-64:]}"
            pieces.append(replace(message, content=REPLACED_TEXTS, reply_with=own_id))
        # Written before they leave: after a kill the answer must find its bubble.
        await self.show(answer, places)
        return [
            # Sent again, a message is no correction of itself.
            one if one.reply_with == id else replace(one, said=replace(one.said, corrects=id))
            for one, id in zip(pieces, places, strict=True)
        ]

    async def _corrected(self, turn_input: ChatTurnInput) -> ShownAnswer | None:
        """Answer to the last message, if this message corrects it. A correction of an older message
        retracts nothing, and is treated as a new message."""
        if not (corrects := turn_input.message.said.corrects):
            return None
        try:
            last = await self._shown.last(turn_input.conversation)
        except StorageFailed as error:
            logger.warning(
                "the answers shown in %s could not be read: %s", turn_input.conversation, error
            )
            return None
        return last if last and corrects in (last.asked, last.request) else None

    async def _find(self, place: str, request: str) -> ShownAnswer | None:
        try:
            return await self._shown.of_request(place, request)
        except StorageFailed as error:
            logger.warning("the answers shown in %s could not be read: %s", place, error)
            return None


ShowText = Callable[[str], Awaitable[bool]]
"""Takes all that the answer is so far; returns whether anything of it is shown now."""


class StreamingMessage:
    """Message that is edited at intervals while text is added, from `first_s` after entry on."""

    def __init__(
        self,
        show: ShowText,
        *,
        may_show: Callable[[], Awaitable[bool]],
        first_s: float,
        every_s: float,
    ) -> None:
        """`may_show` is asked once, when there is something to show."""
        self._show = show
        self._may_show = may_show
        self._first_s = first_s
        self._every_s = every_s
        self._pieces: list[str] = []
        self._has_more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._editing = asyncio.Lock()
        self.is_shown = False

    @property
    def text(self) -> str:
        """Text added so far."""
        return "".join(self._pieces)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._grow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is None:
            return
        try:
            # An edit is not left in its middle: its ids may be stored, and it must leave then.
            async with self._editing:
                self._task.cancel()
        finally:
            self._task.cancel()
            # Ended before the answer leaves: a late edit would replace it.
            await asyncio.wait([self._task])

    async def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._has_more.set()

    def before(self, ask: AskApproval) -> AskApproval:
        """Wrap `ask`, so that the text so far is shown before the question."""

        async def asked(question: ApprovalQuestion) -> ApprovalVerdict:
            if self.is_shown and self._has_more.is_set():
                await self._edit()
            return await ask(question)

        return asked

    async def _grow(self) -> None:
        await asyncio.sleep(self._first_s)
        await self._has_more.wait()
        if not await self._may_show():
            return
        while True:
            await self._has_more.wait()
            await self._edit()
            await asyncio.sleep(self._every_s)

    async def _edit(self) -> None:
        async with self._editing:
            self._has_more.clear()
            self.is_shown = await self._show(self.text)


DELAY_S = 1.0
"""Delay of the typing indicator, in seconds: a fast answer needs none."""
REPEAT_S = 20.0
"""Clients take back after a while what is not said again."""
COMPOSING = "composing"
PAUSED = "paused"


class TypingIndicator:
    """Typing indicator (XEP-0085): shown after a delay and repeated, and restarted after each
    answered question. If no answer follows, it is withdrawn."""

    def __init__(
        self,
        show: Callable[[str], None],
        *,
        after_s: float = DELAY_S,
        again_s: float = REPEAT_S,
    ) -> None:
        """`show` takes the state."""
        self._show = show
        self._after_s = after_s
        self._again_s = again_s
        self._next: asyncio.TimerHandle | None = None
        self._is_shown = False

    async def __aenter__(self) -> Self:
        self._begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._end()
        if kind is not None:
            self.pause()

    def pause(self) -> None:
        """Withdraw the indicator, since no answer will follow."""
        self._end()
        if self._is_shown:
            self._is_shown = False
            self._show(PAUSED)

    def pausing(self, ask: AskApproval) -> AskApproval:
        """Wrap `ask`, so that the indicator is off until the question is answered."""

        async def paused(question: ApprovalQuestion) -> ApprovalVerdict:
            self._end()
            # The question itself takes back what was shown.
            self._is_shown = False
            verdict = await ask(question)
            self._begin()
            return verdict

        return paused

    def _begin(self) -> None:
        self._show_after(self._after_s)

    def _end(self) -> None:
        if self._next is not None:
            self._next.cancel()

    def _show_after(self, pause_s: float) -> None:
        self._next = asyncio.get_running_loop().call_later(pause_s, self._show_composing)

    def _show_composing(self) -> None:
        self._show_after(self._again_s)
        self._is_shown = True
        self._show(COMPOSING)
