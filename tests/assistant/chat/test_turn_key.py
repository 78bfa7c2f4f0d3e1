"""The key of a turn, from which the ids of its tool calls are derived."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.chat.messages import ONTOLOGY, ChatReply, SayRequest
from spade_llm.assistant.chat.service import ChatService
from spade_llm.core.errors import ToolFailed
from spade_llm.messaging import CHAT_TEXT, Dispatcher, Encoding, PersistentAnswerLog
from tests.messaging.node_harness import PATIENCE_S, Outbox, request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.core.database import DatabasePlace
    from spade_llm.messaging import AclMessage
    from tests.conftest import PlaceOf


class Assistant:
    """Notes the keys of turns; they fail, or never end."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.keys: list[str] = []
        self.has_turn = asyncio.Event()
        self._hangs = hangs

    async def __call__(self, turn_input: ChatTurnInput) -> ChatReply:
        self.keys.append(turn_input.key)
        self.has_turn.set()
        if self._hangs:
            await asyncio.Event().wait()
        raise ToolFailed("it fails")

    @asynccontextmanager
    async def life(self, place: DatabasePlace) -> AsyncIterator[tuple[Dispatcher, Outbox]]:
        """One life on this log; it ends like a kill: nothing more is written."""
        outbox = Outbox()
        async with PersistentAnswerLog(place) as log:
            dispatcher = Dispatcher(outbox, log)
            ChatService(self).attach(dispatcher)
            try:
                yield dispatcher, outbox
            finally:
                await dispatcher.close(patience_s=0)


def said(id: str = "1", *, encoding: Encoding = Encoding.PLAIN) -> AclMessage:
    return replace(request("pay bob", id=id, ontology=CHAT_TEXT), encoding=encoding)


def asked(id: str = "1", *, reply_by: datetime | None = None) -> AclMessage:
    return request(SayRequest(text="pay bob").encode(), id=id, ontology=ONTOLOGY, reply_by=reply_by)


@pytest.mark.parametrize("message", [said(), said(encoding=Encoding.FORM), asked()])
async def test_a_turn_has_the_same_key_after_a_kill(place_of: PlaceOf, message: AclMessage) -> None:
    place, killed, resumed = place_of("answers.db"), Assistant(hangs=True), Assistant()
    async with killed.life(place) as (dispatcher, _):
        dispatcher.receive(message)
        await asyncio.wait_for(killed.has_turn.wait(), PATIENCE_S)
    async with resumed.life(place) as (dispatcher, outbox):
        # The server may send what was not acknowledged before the log is read, too.
        dispatcher.receive(message)
        await dispatcher.resume()
        await outbox.has(1)

    assert resumed.keys == killed.keys
    assert killed.keys[0]


@pytest.mark.parametrize("encoding", [Encoding.PLAIN, Encoding.FORM])
async def test_a_client_that_uses_an_id_again_later_begins_another_turn(
    place_of: PlaceOf, encoding: Encoding
) -> None:
    place, assistant, message = place_of("answers.db"), Assistant(), said(encoding=encoding)
    async with assistant.life(place) as (dispatcher, outbox):
        dispatcher.receive(message)
        await outbox.has(1)
    async with PersistentAnswerLog(place) as log:
        await log.forget(message)  # It was kept for some time only.
    async with assistant.life(place) as (dispatcher, outbox):
        dispatcher.receive(message)
        await outbox.has(1)

    first, second = assistant.keys
    assert first != second


async def test_a_program_that_repeats_a_failed_request_repeats_its_turn(place_of: PlaceOf) -> None:
    assistant = Assistant()
    async with assistant.life(place_of("answers.db")) as (dispatcher, outbox):
        dispatcher.receive(asked())
        await outbox.has(1)
        dispatcher.receive(asked(reply_by=datetime.now(UTC) + timedelta(minutes=1)))
        await outbox.has(2)
        dispatcher.receive(asked("2"))
        await outbox.has(3)

    first, repeated, another = assistant.keys
    assert first == repeated != another
