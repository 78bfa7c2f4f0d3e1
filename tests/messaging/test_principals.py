"""A gateway asks for others: each of them is somebody of their own, and nobody else is believed."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import RequestRefused, Unauthorised
from spade_llm.messaging import (
    CHAT_TEXT,
    Dispatcher,
    DispatcherLimits,
    Encoding,
    Idempotency,
    Performative,
    PersistentAnswerLog,
    PrincipalRequester,
    Route,
    VolatileAnswerLog,
    from_metadata,
    to_metadata,
)
from spade_llm.messaging.message import with_checked_principal
from tests.messaging.node_harness import (
    PATIENCE_S,
    TEST,
    Gate,
    Outbox,
    cancel,
    code_of,
    network_of,
    request,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.messaging import AclMessage, AnswerLog, Handler, Request

GATEWAY, EVE = "gateway@home/1", "eve@home/1"
ANA, BOB = "ana@home", "bob@home"


def asked_for(
    principal: str, text: str = "same", *, id: str = "q", sender: str = GATEWAY, thread: str = "s"
) -> AclMessage:
    asked = request(text, sender=sender, id=id, conversation_id=thread)
    return replace(asked, acts_for=principal)


@asynccontextmanager
async def serving(
    handler: Handler,
    effect: Idempotency = Idempotency.RESUME,
    *,
    log: AnswerLog | None = None,
    limits: DispatcherLimits | None = None,
    gateways: tuple[str, ...] = ("gateway@home",),
) -> AsyncIterator[tuple[Dispatcher, Outbox]]:
    outbox = Outbox()
    dispatcher = Dispatcher(outbox, log or VolatileAnswerLog(), limits=limits)
    dispatcher.gateways = frozenset(gateways)
    dispatcher.route(TEST, Route(handler=handler, effect_of=lambda _: effect))
    try:
        yield dispatcher, outbox
    finally:
        await dispatcher.close(patience_s=0)


def receive(dispatcher: Dispatcher, *messages: AclMessage) -> None:
    """As Node and Inbox do."""
    for message in messages:
        if known := dispatcher.identified(message):
            dispatcher.receive(known)


class Owners(Gate):
    """Says whose it is."""

    async def __call__(self, asked: Request) -> str:
        await super().__call__(asked)
        return f"{asked.message.owner} {asked.message.asker}"


@pytest.mark.parametrize("effect", list(Idempotency))
@pytest.mark.parametrize("thread", ["s", ""])
async def test_two_principals_with_one_id_text_and_thread_at_once_are_two_requests(
    effect: Idempotency, thread: str
) -> None:
    owners = Owners()
    both = [asked_for(one, thread=thread) for one in (ANA, BOB)]
    async with serving(owners, effect) as (dispatcher, outbox):
        receive(dispatcher, *both, *both)
        await owners.is_entered(2)
        owners.open()
        await outbox.has(2)
        if effect is not Idempotency.READ:
            receive(dispatcher, *both)
            await outbox.has(4)

        answers = {answer.content for answer in outbox.sent}
        count = len(owners.entered)

    assert answers == {f"{ANA} {ANA}", f"{BOB} {BOB}"}
    assert count == 2
    assert {(one.receiver, one.in_reply_to) for one in outbox.sent} == {(GATEWAY, "q")}
    assert not any(one.acts_for or one.principal for one in outbox.sent)


@pytest.mark.parametrize("thread", ["s", ""])
async def test_only_its_own_principal_cancels_a_request(thread: str) -> None:
    gate = Gate()
    mine, theirs = (asked_for(one, thread=thread) for one in (ANA, BOB))
    async with serving(gate) as (dispatcher, outbox):
        receive(dispatcher, mine, theirs)
        await gate.is_entered(2)

        receive(dispatcher, cancel(replace(mine, acts_for="")), cancel(mine, sender=EVE))
        receive(dispatcher, cancel(replace(mine, acts_for="cid@home")), cancel(theirs))
        (cancelled,) = await outbox.has(1)
        gate.open()
        await outbox.has(2)

    assert code_of(cancelled) == "cancelled"
    assert [answer.performative for answer in outbox.sent] == ["failure", "inform"]


async def test_a_person_stops_what_a_gateway_asked_for_them_and_nothing_else() -> None:
    gate = Gate()
    async with serving(gate) as (dispatcher, _):
        receive(dispatcher, asked_for(ANA, "hers"), asked_for(BOB, "his"))
        await gate.is_entered(2)

        assert not dispatcher.stop("gateway@home", "s", (TEST,)).jobs
        stopped = dispatcher.stop(ANA, "s", (TEST,))

        assert [one.content for one in stopped.requests] == ["hers"]
        assert await stopped.has_ended(timeout_s=PATIENCE_S)


async def test_one_principal_s_flood_leaves_room_for_the_others() -> None:
    gate = Gate()
    async with serving(gate, limits=DispatcherLimits(max_per_peer=2)) as (dispatcher, outbox):
        receive(dispatcher, *(asked_for(ANA, id=str(n), thread=str(n)) for n in range(3)))
        receive(dispatcher, asked_for(BOB), request(sender=GATEWAY))
        await gate.is_entered(4)
        (refused,) = await outbox.has(1)

    assert code_of(refused) == "busy"
    assert refused.in_reply_to == "2"


@pytest.mark.parametrize(
    "claim",
    [
        asked_for(ANA, sender=EVE),
        asked_for("eve@home", sender=EVE),
        asked_for(ANA, sender="gateway@elsewhere/1"),
        asked_for(ANA, sender="gateway@home.evil/1"),
        asked_for("ana"),
        asked_for("ana@home/phone"),
        asked_for("ana@home#s"),
        asked_for("ana in@home"),
        asked_for("service@home"),
        asked_for("a" * 1024 + "@home"),
        replace(asked_for(ANA), ontology=CHAT_TEXT),
    ],
)
async def test_a_claim_that_is_not_believed_is_refused_and_changes_nothing(
    claim: AclMessage,
) -> None:
    gate, running = Gate(), request("running", sender=EVE, id="r", conversation_id="s")
    async with serving(gate) as (dispatcher, outbox):
        receive(dispatcher, running)
        await gate.is_entered()

        receive(dispatcher, claim, replace(cancel(running), acts_for=ANA))
        (refused,) = await outbox.has(1)
        gate.open()
        await outbox.has(2)

    assert refused.performative is Performative.REFUSE
    assert gate.left == ["running"]
    if claim.ontology != CHAT_TEXT:
        assert code_of(refused) == Unauthorised.code


def test_a_principal_is_read_as_servers_write_it() -> None:
    known = with_checked_principal(asked_for("Ana@Home"), {"gateway@home"})

    assert (known.owner, known.asker) == (ANA, ANA)
    assert with_checked_principal(request(sender=GATEWAY), {"gateway@home"}).owner == "gateway@home"


@pytest.mark.parametrize("encoding", Encoding)
def test_only_acl_encoding_carries_the_principal(encoding: Encoding) -> None:
    said = replace(asked_for(ANA), encoding=encoding, extra={"principal": BOB})
    forged = {**to_metadata(said), "principal": BOB}

    read = from_metadata(forged, sender=EVE, receiver="x@home", content="", encoding=encoding)

    is_acl = encoding is Encoding.ACL
    assert to_metadata(replace(said, extra={})).get("principal") == (ANA if is_acl else None)
    assert read.acts_for == (BOB if is_acl else "")
    assert read.principal == ""
    assert "principal" not in read.extra


async def test_agents_believe_the_gateways_they_were_told_of_over_a_network() -> None:
    async with network_of("gateway@home/1", "eve@home/1", "service@home/1") as members:
        gateway, eve, service = members
        owners = Owners()
        owners.open()
        service.serves(owners)
        service.node.dispatcher.gateways = frozenset({"gateway@home"})
        question = gateway.question(service.jid)

        async def asked_by(requester: PrincipalRequester) -> str:
            return (await requester.ask(question, timeout_s=PATIENCE_S)).content

        assert await asked_by(PrincipalRequester(gateway.node.requester, ANA)) == f"{ANA} {ANA}"
        with pytest.raises(RequestRefused) as refused:
            await asked_by(PrincipalRequester(eve.node.requester, ANA))

    assert refused.value.wire_code == Unauthorised.code
    assert len(owners.entered) == 1


async def test_an_answer_that_claims_to_be_for_others_is_no_answer() -> None:
    async with network_of("asker@home/1", "liar@home/1") as (asker, liar):

        async def lying(asked: Request) -> str:
            await liar.send(replace(asked.message.reply(Performative.INFORM, "1"), acts_for=ANA))
            return "2"

        liar.serves(lying)

        assert await asker.ask(liar.jid) == "2"


async def test_requests_for_a_principal_are_resumed_for_that_principal(tmp_path: Path) -> None:
    path, gate, owners = tmp_path / "a.db", Gate(), Owners()
    async with PersistentAnswerLog(path) as log, serving(gate, log=log) as (dispatcher, _):
        receive(dispatcher, asked_for(ANA), asked_for(BOB))
        await gate.is_entered(2)
    owners.open()

    async with PersistentAnswerLog(path) as log, serving(owners, log=log) as (dispatcher, outbox):
        await dispatcher.resume()
        await outbox.has(2)

    assert {one.content for one in outbox.sent} == {f"{ANA} {ANA}", f"{BOB} {BOB}"}


async def test_a_removed_gateway_is_refused_after_a_kill(tmp_path: Path) -> None:
    path, gate = tmp_path / "a.db", Gate()
    async with PersistentAnswerLog(path) as log, serving(gate, log=log) as (dispatcher, _):
        receive(dispatcher, asked_for(ANA))
        await gate.is_entered()
    gate.open()

    async with (
        PersistentAnswerLog(path) as log,
        serving(gate, log=log, gateways=()) as (dispatcher, outbox),
    ):
        await dispatcher.resume()
        (refused,) = await outbox.has(1)

    assert code_of(refused) == Unauthorised.code
    assert gate.left == []


async def test_data_that_a_principal_deleted_is_scrubbed_from_its_own_answers_only(
    tmp_path: Path,
) -> None:
    shown, gateways = '{"entry":{"subject":"ana"}}', {"gateway@home"}
    async with PersistentAnswerLog(tmp_path / "a.db") as log:
        rows = [
            with_checked_principal(asked_for(one), gateways) for one in (ANA, BOB, "ana@home.evil")
        ]
        rows += [request(sender=GATEWAY), request(sender=f"{ANA}/phone")]
        for row in rows:
            await log.start(row)
            await log.finish(row, row.reply(Performative.INFORM, shown))

        await log.scrub("$.entry.subject", ["ana"], peer=ANA)
        found = [known.answer for row in rows if (known := await log.find(row))]

    acts = [answer.performative for answer in found if answer]
    assert acts == ["refuse", "inform", "inform", "inform", "refuse"]
