"""What waits for a person gives way, and what it waits for comes through to it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from spade_llm.core.errors import PeerUnavailable
from spade_llm.messaging import (
    AclMessage,
    Dispatcher,
    DispatcherLimits,
    Handler,
    Idempotency,
    Performative,
    Request,
    Route,
    VolatileAnswerLog,
)
from tests.messaging.node_harness import PATIENCE_S, TEST, Outbox, cancel, code_of, request


class Asking:
    """A handler that answers `ask` with what is said next in its conversation."""

    def __init__(self) -> None:
        self.is_asking = asyncio.Event()
        self._said: asyncio.Future[str] | None = None

    def route(self) -> Route:
        return Route(handler=self.handle, effect_of=lambda _: Idempotency.WRITE, divert=self.divert)

    async def handle(self, asked: Request) -> str:
        if asked.message.content != "ask":
            return asked.message.content
        self._said = asyncio.get_running_loop().create_future()
        async with asked.set_aside():
            self.is_asking.set()
            said = await self._said
        return f"heard {said}"

    def divert(self, message: AclMessage) -> Handler | None:
        waits = self._said is not None and not self._said.done()
        return self.take if waits and message.content.startswith("say ") else None

    async def take(self, asked: Request) -> str:
        assert self._said is not None
        self._said.set_result(asked.message.content)
        return "taken"


def dispatcher(
    asking: Asking, outbox: Outbox, limits: DispatcherLimits | None = None
) -> Dispatcher:
    made = Dispatcher(outbox, VolatileAnswerLog(), limits=limits)
    made.route(TEST, asking.route())
    return made


async def is_asking(asking: Asking) -> None:
    await asyncio.wait_for(asking.is_asking.wait(), PATIENCE_S)


async def test_a_diverted_message_passes_what_waits_for_it() -> None:
    asking, outbox = Asking(), Outbox()
    serving = dispatcher(asking, outbox)
    serving.receive(request("ask", conversation_id="c"))
    await is_asking(asking)
    serving.receive(request("later", conversation_id="c"))
    serving.receive(request("say hello", conversation_id="c"))

    sent = await outbox.has(3)

    assert [message.content for message in sent] == ["taken", "heard say hello", "later"]
    await serving.close(patience_s=0)


async def test_a_diverted_message_that_comes_twice_is_answered_once() -> None:
    asking, outbox = Asking(), Outbox()
    serving = dispatcher(asking, outbox)
    serving.receive(request("ask", conversation_id="c"))
    await is_asking(asking)
    said = request("say hello", conversation_id="c")
    serving.receive(said)
    serving.receive(said)

    await outbox.has(2)
    await serving.close(patience_s=PATIENCE_S)

    assert [message.content for message in outbox.sent] == ["taken", "heard say hello"]


async def test_a_waiting_handler_releases_its_slot() -> None:
    asking, outbox = Asking(), Outbox()
    serving = dispatcher(asking, outbox, DispatcherLimits(max_running=1))
    serving.receive(request("ask", conversation_id="c"))
    await is_asking(asking)
    serving.receive(request("other", conversation_id="d"))

    assert (await outbox.has(1))[0].content == "other"

    serving.receive(request("say hello", conversation_id="c"))
    assert (await outbox.has(3))[2].content == "heard say hello"
    serving.receive(request("again", conversation_id="d"))
    assert (await outbox.has(4))[3].content == "again"
    await serving.close(patience_s=0)


async def test_the_time_limit_of_a_waiting_handler_is_suspended() -> None:
    asking, outbox = Asking(), Outbox()
    serving = dispatcher(asking, outbox, DispatcherLimits(max_time_s=0.5))
    serving.route("slow/1", Route(handler=_for_ever, effect_of=lambda _: Idempotency.READ))
    serving.receive(request("ask", conversation_id="c"))
    await is_asking(asking)
    serving.receive(request("slow", ontology="slow/1"))
    assert (await outbox.has(1))[0].performative is Performative.FAILURE

    serving.receive(request("say hello", conversation_id="c"))

    assert (await outbox.has(3))[2].content == "heard say hello"
    await serving.close(patience_s=0)


async def test_a_handler_that_continues_after_an_error_regains_slot_and_time_limit() -> None:
    running, outbox = asyncio.Event(), Outbox()
    serving = Dispatcher(
        outbox, VolatileAnswerLog(), limits=DispatcherLimits(max_running=1, max_time_s=0.5)
    )

    async def goes_on(asked: Request) -> str:
        try:
            async with asked.set_aside():
                raise PeerUnavailable("the question cannot leave", peer="ada@localhost")
        except PeerUnavailable:
            running.set()
        return await _for_ever(asked)

    serving.route(TEST, Route(handler=goes_on, effect_of=lambda _: Idempotency.WRITE))
    serving.route("quick/1", Route(handler=_at_once, effect_of=lambda _: Idempotency.READ))
    serving.receive(request("ask", conversation_id="c"))
    await asyncio.wait_for(running.wait(), PATIENCE_S)
    serving.receive(request("quick", ontology="quick/1"))

    sent = await outbox.has(2)

    assert sent[0].performative is Performative.FAILURE
    assert sent[1].content == "quick"
    await serving.close(patience_s=0)


async def test_the_asker_s_own_deadline_holds_on() -> None:
    asking, outbox = Asking(), Outbox()
    serving = dispatcher(asking, outbox, DispatcherLimits(clock_skew=timedelta(0)))
    soon = datetime.now(UTC) + timedelta(seconds=0.1)
    serving.receive(request("ask", conversation_id="c", reply_by=soon))

    answer = (await outbox.has(1))[0]

    assert answer.performative is Performative.FAILURE
    await serving.close(patience_s=0)


@pytest.mark.parametrize("max_running", [1, 512])
async def test_a_waiting_handler_can_be_cancelled(max_running: int) -> None:
    asking, outbox = Asking(), Outbox()
    serving = dispatcher(asking, outbox, DispatcherLimits(max_running=max_running))
    asked = request("ask", conversation_id="c")
    serving.receive(asked)
    await is_asking(asking)

    serving.receive(cancel(asked))

    assert code_of((await outbox.has(1))[0]) == "cancelled"
    serving.receive(request("next", conversation_id="c"))
    assert (await outbox.has(2))[1].content == "next"
    await serving.close(patience_s=0)


async def _at_once(asked: Request) -> str:
    return asked.message.content


async def _for_ever(_request: Request) -> str:
    await asyncio.Event().wait()
    return ""


async def test_a_handler_with_several_waits_resumes_after_the_last() -> None:
    waiting, outbox = asyncio.Event(), Outbox()
    serving = Dispatcher(
        outbox, VolatileAnswerLog(), limits=DispatcherLimits(max_running=1, max_time_s=0.5)
    )
    said = [asyncio.Event(), asyncio.Event()]

    async def waits(asked: Request, one: asyncio.Event) -> None:
        async with asked.set_aside():
            await one.wait()

    async def handler(asked: Request) -> str:
        waiting.set()
        await asyncio.gather(*(waits(asked, one) for one in said))
        return "both have answered"

    serving.route(TEST, Route(handler=handler, effect_of=lambda _: Idempotency.WRITE))
    serving.route("quick/1", Route(handler=_at_once, effect_of=lambda _: Idempotency.READ))
    serving.route("slow/1", Route(handler=_for_ever, effect_of=lambda _: Idempotency.READ))
    serving.receive(request("ask", conversation_id="c"))
    await asyncio.wait_for(waiting.wait(), PATIENCE_S)
    said[0].set()
    serving.receive(request("slow", ontology="slow/1"))
    assert (await outbox.has(1))[0].performative is Performative.FAILURE
    said[1].set()

    assert (await outbox.has(2))[1].content == "both have answered"
    serving.receive(request("quick", ontology="quick/1"))
    assert (await outbox.has(3))[2].content == "quick"
    assert serving.load.running == 0
    await serving.close(patience_s=0)
