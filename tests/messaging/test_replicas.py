"""Replicas on a real PostgreSQL: membership, claims, fences, and takeover."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
import pytest

from spade_llm.core.database import DatabaseUrl
from spade_llm.core.errors import ConfigurationError, PeerUnavailable
from spade_llm.core.postgres import PostgresServer
from spade_llm.messaging import CHAT_TEXT, Encoding, Performative, claimed_log
from spade_llm.messaging import replicas as replicas_module
from spade_llm.messaging.answer_log import dump_message
from spade_llm.messaging.delivery import Delivery
from spade_llm.messaging.dispatcher import Dispatcher
from spade_llm.messaging.replicas import ReplicaSet, rendezvous_owner
from tests.messaging.node_harness import request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from spade_llm.messaging import AclMessage
    from spade_llm.messaging.claimed_log import ClaimedAnswerLog, OrphanedRequest
    from tests.postgres_server import PostgresProcess

pytestmark = pytest.mark.thorough
PATIENCE_S = 10.0
PEOPLE = [f"p{n}@home" for n in range(400)]


@dataclass
class Work:
    """What a replica took over, in order."""

    taken: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    serving: set[str] = field(default_factory=set)
    resent: int = 0
    hiding: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it leaves, and tells the server to send no more messages."""
    is_hidden: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server has done it."""
    log: ClaimedAnswerLog | None = None
    """Unsent answers in it are noted when they are sent again."""

    def take_up(self, orphan: OrphanedRequest) -> bool:
        return self._take(orphan.message.content)

    def take_held(self, item: str, at: float) -> bool:
        return self._take(item)

    async def until_present(self) -> bool:
        return True

    async def until_hidden(self) -> None:
        self.hiding.set()
        await self.is_hidden.wait()

    async def until_restored(self) -> None:
        pass

    async def resend(self) -> None:
        self.resent += 1
        if self.log is None:
            return
        for answer in await self.log.unsent():
            self._take(f"resent {answer.content}")
            await self.log.erase(answer)

    def is_serving(self, key: str) -> bool:
        return key in self.serving

    def _take(self, text: str) -> bool:
        self.taken.append(text)
        self.changed.set()
        return True


@dataclass
class Member:
    replica: ReplicaSet
    work: Work
    server: PostgresServer
    stack: AsyncExitStack

    @property
    def names(self) -> list[str]:
        """Those that it gives conversations to."""
        return list(self.replica._members)

    async def sees(self, *names: str) -> None:
        """Return once it knows exactly these members."""
        await until(lambda: self.names == sorted(names))

    async def crash(self) -> None:
        """End without a word, as by kill -9."""
        assert self.replica._beating is not None
        self.replica._beating.cancel()
        self.replica._beating = None
        await self.stack.aclose()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110 - a heartbeat has no event
            await asyncio.sleep(0.02)


async def start(postgres: PostgresProcess, agent: str, name: str) -> Member:
    stack = AsyncExitStack()
    server = await stack.enter_async_context(
        PostgresServer(DatabaseUrl(postgres.url()), agent=f"{agent}@example.org")
    )
    replica, work = ReplicaSet(server, is_connected=lambda: True), Work()
    replica.work = work
    await replica.open(name)
    await stack.enter_async_context(replica.log)
    stack.push_async_callback(replica.close)
    try:
        await replica.join()
    except ConfigurationError:
        await stack.aclose()
        raise
    return Member(replica, work, server, stack)


@asynccontextmanager
async def replicas(
    postgres: PostgresProcess, agent: str, *names: str
) -> AsyncIterator[tuple[Member, ...]]:
    members = [await start(postgres, agent, name) for name in names]
    for one in members:
        await one.sees(*names)
    try:
        yield tuple(members)
    finally:
        for one in members:
            await one.stack.aclose()


def chat(text: str, *, sender: str, id: str) -> AclMessage:
    message = request(text, sender=f"{sender}/phone", id=id, ontology=CHAT_TEXT)
    object.__setattr__(message, "encoding", Encoding.PLAIN)
    return message


def person_of(member: Member) -> str:
    """A person that this replica answers."""
    return next(one for one in PEOPLE if member.replica.owns(one))


@pytest.mark.quick
def test_a_replica_that_comes_or_goes_moves_only_its_own_conversations() -> None:
    three = {one: rendezvous_owner(one, ("a", "b", "c")) for one in PEOPLE}
    two = {one: rendezvous_owner(one, ("c", "a")) for one in PEOPLE}

    assert all(three[one] in (two[one], "b") for one in PEOPLE)
    assert all(80 < count < 190 for count in Counter(three.values()).values())


async def test_each_conversation_is_answered_by_one_replica_and_moves_when_that_dies(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "members", "a", "b", "c") as (a, b, c):
        owners = [[m.replica.name for m in (a, b, c) if m.replica.owns(one)] for one in PEOPLE]
        await c.crash()
        await a.sees("a", "b")
        await b.sees("a", "b")
        after = [[m.replica.name for m in (a, b) if m.replica.owns(one)] for one in PEOPLE]

    assert all(len(one) == 1 for one in owners)
    assert after == [
        before if before != ["c"] else [rendezvous_owner(one, ("a", "b"))]
        for one, before in zip(PEOPLE, owners, strict=True)
    ]


async def test_one_of_two_replicas_gets_a_request_and_the_other_leaves_it(
    postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimed_log, "ELSEWHERE_TIMEOUT_S", 0.0)
    asked = chat("hi", sender="ada@home", id="1")
    async with replicas(postgres, "claims", "a", "b") as (a, b):
        await asyncio.gather(a.replica.log.note(asked), b.replica.log.note(asked))
        rows = [await one.replica.log.find(asked) for one in (a, b)]
        assert sorted(row is not None and row.is_elsewhere for row in rows) == [False, True]

        winner = a if rows[0] is not None and not rows[0].is_elsewhere else b
        loser = b if winner is a else a
        answer = asked.reply(Performative.INFORM, "hello")
        assert not loser.replica.is_answered_here("ada@home")
        assert not await loser.replica.log.finish(asked, answer)
        assert await winner.replica.log.finish(asked, answer)
        assert await loser.replica.log.unsent() == []
        assert await winner.replica.log.unsent() == [answer]


@pytest.mark.thorough
async def test_a_replica_waits_for_the_answer_of_another_before_the_next_message(
    postgres: PostgresProcess,
) -> None:
    asked = chat("hi", sender="ada@home", id="1")
    async with replicas(postgres, "waits", "a", "b") as (a, b):
        await a.replica.log.note(asked)
        await a.replica.log.find(asked)
        waiting = asyncio.create_task(b.replica.log.find(asked))
        await until(lambda: "ada@home" in b.replica._busy)
        assert not waiting.done()
        await a.replica.log.finish(asked, asked.reply(Performative.INFORM, "hello"))
        row = await asyncio.wait_for(waiting, PATIENCE_S)

    assert row is not None and row.is_elsewhere


async def test_what_a_dead_replica_left_is_taken_over_in_its_order(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "takeover", "a", "b") as (a, b):
        person = person_of(a)
        noted = [chat(f"m{n}", sender=person, id=f"{n}") for n in range(4)]
        answered, claimed, only_held, later = noted
        for one in noted:
            if one is not only_held:
                await a.replica.log.note(one)
            b.replica.hold(person, (one.sender, one.reply_with), one.content)
        answer = answered.reply(Performative.INFORM, "done")
        await a.replica.log.find(answered)
        await a.replica.log.finish(answered, answer)

        await a.crash()
        await until(lambda: len(b.work.taken) == 3)
        row = await b.replica.log.find(claimed)

        assert b.work.taken == ["m1", "m2", "m3"]
        assert row is not None and not row.is_elsewhere and row.answer is None
        assert await b.replica.log.unsent() == [answer]
        assert b.work.resent > 0
        assert b.replica.takeovers == 3
        assert b.replica.held == 0
        assert later in noted


async def test_what_a_crash_of_the_database_took_back_is_not_lost_nor_sent_again(
    postgres: PostgresProcess,
) -> None:
    """The last commits are gone: a claim, that an answer was sent, that a request was answered."""
    async with replicas(postgres, "taken-back", "a", "b") as (a, b):
        log, person = a.replica.log, person_of(a)
        lost, sent, answered = (chat(f"m{n}", sender=person, id=f"{n}") for n in range(3))
        replies = [one.reply(Performative.INFORM, "done") for one in (lost, sent, answered)]
        for one in (lost, sent, answered):
            await log.note(one)
            await log.find(one)
        before = await log._db.execute("SELECT question FROM requests WHERE id = '2'")
        for one, reply in ((sent, replies[1]), (answered, replies[2])):
            await log.finish(one, reply)
            await log.erase(reply)
        await log._db.execute("DELETE FROM requests WHERE id = '0'")
        unsent = dump_message(replies[1])
        await log._db.execute("UPDATE requests SET answer = ? WHERE id = '1'", unsent)
        await log._db.execute(
            "UPDATE requests SET answer = NULL, question = ? WHERE id = '2'", *before[0]
        )
        assert await b.replica.log.busy_elsewhere() == {person}

        assert await log.finish(lost, replies[0])
        assert await log.unsent() == [replies[0]]
        await log.close_answered()
        assert await b.replica.log.busy_elsewhere() == set()
        await a.crash()
        await b.sees("b")
        rows = [await b.replica.log.find(one) for one in (sent, answered)]

        assert all(row is not None and row.is_erased for row in rows)
        assert b.work.taken == []


@pytest.mark.thorough
async def test_a_message_whose_answer_a_crash_of_the_database_took_back_is_not_answered_again(
    own_postgres: PostgresProcess,
) -> None:
    """A claim with its answer is gone, and that an answer was sent; then their owner leaves, and
    another replica holds the messages."""
    async with replicas(own_postgres, "rewritten", "a", "b") as (a, b):
        log, person = a.replica.log, person_of(a)
        lost, unmarked = (chat(f"m{n}", sender=person, id=f"{n}") for n in range(2))
        for one in (lost, unmarked):
            b.replica.hold(person, (one.sender, one.reply_with), one.content)
            await log.note(one)
            await log.find(one)
            answer = one.reply(Performative.INFORM, "done")
            await log.finish(one, answer)
            await log.erase(answer)
        started = a.replica._checked_start
        await log._db.execute("DELETE FROM requests WHERE id = '0'")
        await log._db.execute("UPDATE requests SET answer = ?", dump_message(answer))

        own_postgres.kill()
        own_postgres.start()
        await asyncio.to_thread(own_postgres.wait_until_ready)
        await until(lambda: a.replica._checked_start != started)
        await a.crash()
        await b.sees("b")

        rows = [await b.replica.log.find(one) for one in (lost, unmarked)]
        assert all(row is not None and row.is_erased for row in rows)
        assert await b.replica.log.unsent() == []
        assert b.work.taken == []


@pytest.mark.thorough
async def test_the_first_that_is_back_after_an_outage_takes_nothing_of_the_others(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "outage", "a", "b") as (a, b):
        asked = chat("hi", sender=person_of(b), id="1")
        await b.replica.log.note(asked)
        await b.replica.log.find(asked)
        for one in (a, b):
            assert one.replica._beating is not None
            one.replica._beating.cancel()
        db = a.replica._db
        await db.execute("UPDATE replicas SET until = 0")
        a.replica._lease_until_s = b.replica._lease_until_s = 0.0
        a.replica._beating = asyncio.create_task(a.replica._beat_for_ever())
        await until(lambda: a.names == [])
        b.replica._beating = asyncio.create_task(b.replica._beat_for_ever())
        await a.sees("a", "b")

        assert a.work.taken == []
        assert await b.replica.log.finish(asked, asked.reply(Performative.INFORM, "done"))


@pytest.mark.thorough
async def test_a_claim_is_made_although_its_connection_is_lost(postgres: PostgresProcess) -> None:
    async with replicas(postgres, "cut", "a") as (a,):
        asked = chat("hi", sender="ada@home", id="1")
        lock = await psycopg.AsyncConnection.connect(postgres.url())
        async with lock:
            await lock.execute('LOCK TABLE "cut@example.org".requests')
            claiming = asyncio.create_task(a.replica.log.note(asked))
            waiting = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted"
            async with asyncio.timeout(PATIENCE_S):
                while not await (await lock.execute(waiting)).fetchall():  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        await claiming
        row = await a.replica.log.find(asked)
        assert row is not None and not row.is_elsewhere and row.answer is None


@pytest.mark.thorough
async def test_messages_to_a_replica_that_is_back_before_others_miss_it_are_answered(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "restarted", "a", "b") as (a, b):
        person = person_of(a)
        b.replica.hold(person, (f"{person}/phone", "1"), "while it was away")
        assert b.replica._beating is not None
        b.replica._beating.cancel()
        await a.crash()
        again = await start(postgres, "restarted", "a")
        try:
            b.replica._beating = asyncio.create_task(b.replica._beat_for_ever())
            await until(lambda: b.work.taken == ["while it was away"])

            assert again.work.taken == []
        finally:
            await again.stack.aclose()


async def test_what_one_replica_received_before_it_saw_the_owner_is_answered_by_it(
    postgres: PostgresProcess,
) -> None:
    """All lost their node: one is back first, and alone gets a message that the next one owns."""
    async with replicas(postgres, "first-back", "a", "b") as (a, b):
        person = person_of(b)
        await b.stack.aclose()
        await a.sees("a")
        a.replica.hold(person, (f"{person}/phone", "1"), "before the other was back")
        b = await start(postgres, "first-back", "b")
        try:
            await until(lambda: a.work.taken == ["before the other was back"])

            assert b.replica.owns(person)
            a.replica.hold(person, (f"{person}/phone", "2"), "since it is back")
            c = await start(postgres, "first-back", "c")
            await a.sees("a", "b", "c")
            await c.stack.aclose()
            await a.sees("a", "b")
            assert a.work.taken == ["before the other was back"]
        finally:
            await b.stack.aclose()


@pytest.mark.thorough
async def test_a_new_session_leaves_what_came_before_to_the_others(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "sessions", "a", "b") as (a, b):
        person = person_of(b)
        asked = chat("hi", sender=person, id="0")
        await b.replica.log.note(asked)
        await b.replica.log.find(asked)
        a.replica.hold(person, (f"{person}/phone", "1"), "between two sessions")
        b.replica.session_started()
        assert not b.replica.is_answered_here(person)
        await b.sees("a", "b")

        assert a.names == ["a", "b"]
        assert a.work.taken == ["hi", "between two sessions"]
        assert not await b.replica.log.finish(asked, asked.reply(Performative.INFORM, "done"))


async def test_a_request_of_an_earlier_session_runs_again_behind_what_was_not_sent(
    postgres: PostgresProcess,
) -> None:
    """Its answer would be sent at once, while the one before it waits for a takeover."""
    async with replicas(postgres, "earlier", "a") as (a,):
        first, second = (chat(f"m{n}", sender="ada@home", id=f"{n}") for n in range(2))
        for one in (first, second):
            await a.replica.log.note(one)
            await a.replica.log.find(one)
        unsent = first.reply(Performative.INFORM, "to m0")
        assert await a.replica.log.finish(first, unsent)
        a.work.log = a.replica.log
        a.replica.session_started()

        assert not await a.replica.log.finish(second, second.reply(Performative.INFORM, "early"))
        await until(lambda: a.work.taken == ["resent to m0", "m1"])


@pytest.mark.thorough
async def test_a_replica_whose_renewal_waited_for_the_database_judges_nobody(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "waited", "a", "b") as (a, b):
        asked = chat("hi", sender=person_of(b), id="1")
        await b.replica.log.note(asked)
        await b.replica.log.find(asked)
        assert b.replica._beating is not None
        b.replica._beating.cancel()
        renewed_s = a.replica._renewed_s
        lock = await psycopg.AsyncConnection.connect(postgres.url())
        async with lock:
            await lock.execute('LOCK TABLE "waited@example.org".replicas IN EXCLUSIVE MODE')
            over = """SELECT bool_and(until < extract(epoch from clock_timestamp()))
                FROM "waited@example.org".replicas"""
            async with asyncio.timeout(PATIENCE_S):
                while not (await (await lock.execute(over)).fetchone() or (False,))[0]:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        await until(lambda: a.replica._renewed_s > renewed_s)
        b.replica._beating = asyncio.create_task(b.replica._beat_for_ever())
        await until(lambda: b.names == ["a", "b"] and a.names == ["a", "b"])

        assert a.work.taken == []
        assert await b.replica.log.finish(asked, asked.reply(Performative.INFORM, "done"))


@pytest.mark.thorough
async def test_a_dead_replica_that_is_back_finds_no_request_of_a_conversation_that_was_taken(
    postgres: PostgresProcess,
) -> None:
    """Otherwise it would answer the second request before the first one is run again."""
    async with replicas(postgres, "all-at-once", "a", "b") as (a, b):
        first, second = (chat(f"m{n}", sender=person_of(a), id=f"{n}") for n in range(2))
        for one in (first, second):
            await a.replica.log.note(one)
            await a.replica.log.find(one)
        assert a.replica._beating is not None
        a.replica._beating.cancel()
        await until(lambda: b.work.taken == ["m0", "m1"])
        a.replica._beating = asyncio.create_task(a.replica._beat_for_ever())
        await b.sees("a", "b")

        assert not await a.replica.log.finish(second, second.reply(Performative.INFORM, "early"))


async def test_what_a_lost_stream_took_along_is_taken_in_its_order(
    postgres: PostgresProcess,
) -> None:
    """An answer was written and erased, the next one came when the stream was lost already."""
    async with replicas(postgres, "stream", "a", "b") as (a, b):
        written: list[str] = []
        is_up, drop = [True], asyncio.Event()

        async def write(message: AclMessage) -> None:
            written.append(message.content)

        async def confirm() -> None:
            await drop.wait()
            raise PeerUnavailable("cut", peer="a@home", wire_code="not-connected")

        delivery = Delivery(write, a.replica.log, asyncio.create_task)
        delivery.has_arrived, delivery.is_connected = confirm, lambda: is_up[0]
        first, second = (chat(f"m{n}", sender=person_of(a), id=f"{n}") for n in range(2))
        answers = [one.reply(Performative.INFORM, f"to {one.content}") for one in (first, second)]
        for one in (first, second):
            await a.replica.log.note(one)
        await a.replica.log.find(first)
        await a.replica.log.finish(first, answers[0])
        await delivery.deliver(answers[0])
        is_up[0] = False
        drop.set()
        await a.replica.log.find(second)
        await a.replica.log.finish(second, answers[1])
        await delivery.deliver(answers[1])
        await delivery.until_restored()
        await a.crash()
        await b.sees("b")

        assert written == ["to m0"]
        assert await b.replica.log.unsent() == answers


@pytest.mark.thorough
async def test_a_new_session_sends_first_what_the_last_one_left(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "settled", "a") as (a,):
        written: list[str] = []

        async def write(message: AclMessage) -> None:
            written.append(message.content)

        dispatcher = Dispatcher(write, a.replica.log)
        delivery = dispatcher.delivery
        delivery.is_connected = lambda: True
        delivery.is_settled = lambda: a.replica.is_settled
        asked = [chat(f"m{n}", sender="ada@home", id=f"{n}") for n in range(2)]
        answers = [one.reply(Performative.INFORM, f"to {one.content}") for one in asked]
        for one, answer in zip(asked, answers, strict=True):
            await a.replica.log.note(one)
            await a.replica.log.find(one)
            await a.replica.log.finish(one, answer)
        assert a.replica._beating is not None
        a.replica._beating.cancel()
        a.replica.session_started()
        await delivery.deliver(answers[1])
        assert written == []

        a.work.resend = dispatcher.resend  # type: ignore[method-assign]
        a.replica._beating = asyncio.create_task(a.replica._beat_for_ever())
        await until(lambda: written == ["to m0", "to m1"])
        await until(lambda: a.replica.is_settled)


@pytest.mark.thorough
async def test_a_replica_that_was_taken_for_dead_sends_nothing(postgres: PostgresProcess) -> None:
    async with replicas(postgres, "fence", "a", "b") as (a, b):
        asked = chat("hi", sender=person_of(a), id="1")
        await a.replica.log.note(asked)
        assert (await a.replica.log.find(asked)) is not None
        assert a.replica._beating is not None
        a.replica._beating.cancel()  # It stalls, and comes back later.
        await until(lambda: b.work.taken == ["hi"])
        await b.replica.log.find(asked)

        assert not await a.replica.log.finish(asked, asked.reply(Performative.INFORM, "late"))
        assert not a.replica.owns(asked.owner)
        assert await b.replica.log.finish(asked, asked.reply(Performative.INFORM, "once"))


@pytest.mark.thorough
async def test_a_conversation_stays_where_a_request_of_it_runs(postgres: PostgresProcess) -> None:
    async with replicas(postgres, "busy", "a") as (a,):
        joiner = next(one for one in PEOPLE if rendezvous_owner(one, ("a", "b")) == "b")
        asked = chat("slow", sender=joiner, id="1")
        await a.replica.log.note(asked)
        a.work.serving.add(joiner)
        b = await start(postgres, "busy", "b")
        try:
            await a.sees("a", "b")
            assert a.replica.is_answered_here(joiner)
            assert not b.replica.is_answered_here(joiner)
            b.replica.hold(joiner, (asked.sender, "2"), "next")

            await a.replica.log.find(asked)
            await a.replica.log.finish(asked, asked.reply(Performative.INFORM, "done"))
            a.work.serving.clear()
            await until(lambda: b.work.taken == ["next"])

            assert b.replica.is_answered_here(joiner)
            assert not a.replica.is_answered_here(joiner)
        finally:
            await b.stack.aclose()


@pytest.mark.thorough
async def test_replicas_know_how_many_turns_of_a_quota_group_run_in_the_others(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "turns", "a", "b", "c") as (a, b, c):
        a.replica.count_turns = lambda: {"@far": 2, "*": 1}
        b.replica.count_turns = lambda: {"@far": 1}

        await until(lambda: c.replica.turns_elsewhere("@far") == 3)
        await until(lambda: a.replica.turns_elsewhere("@far") == 1)
        assert (c.replica.turns_elsewhere("*"), a.replica.turns_elsewhere("*")) == (1, 0)
        # One of an earlier version does not say it.
        await a.replica._db.execute(
            "INSERT INTO replicas(name, token, is_leaving, conversations, takeovers, until)"
            " VALUES ('old', 'token', 0, 0, 0, 1e12)"
        )
        await until(lambda: "old" in [one.name for one in c.replica.members])
        assert c.replica.turns_elsewhere("@far") == 3


@pytest.mark.thorough
async def test_a_replica_that_leaves_keeps_its_claims_until_it_has_gone(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "leaving", "a", "b") as (a, b):
        asked = chat("slow", sender=person_of(a), id="1")
        await a.replica.log.note(asked)
        await a.replica.log.find(asked)
        a.work.is_hidden.set()
        await a.replica.leave()

        assert not a.replica.owns(asked.owner)
        assert b.replica.owns(asked.owner)
        assert b.work.taken == []
        assert await a.replica.log.finish(asked, asked.reply(Performative.INFORM, "done"))


@pytest.mark.thorough
async def test_the_last_replicas_answer_all_until_the_server_sends_them_no_more_messages(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "last", "a", "b") as (a, b):
        leaving = [asyncio.create_task(one.replica.leave()) for one in (a, b)]
        async with asyncio.timeout(PATIENCE_S):
            await a.work.hiding.wait()
            await b.work.hiding.wait()

        assert all(a.replica.is_answered_here(one) for one in PEOPLE)
        a.work.is_hidden.set()
        await leaving[0]
        assert not any(a.replica.is_answered_here(one) for one in PEOPLE)
        assert all(b.replica.is_answered_here(one) for one in PEOPLE)
        b.work.is_hidden.set()
        await leaving[1]


@pytest.mark.thorough
async def test_what_was_held_for_a_replica_that_left_is_taken_by_one_that_leaves_after_it(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "both-leave", "a", "b") as (a, b):
        ada = person_of(a)
        # Its heartbeats are late, as on a busy machine: it has not seen that the other one leaves.
        assert b.replica._beating is not None
        b.replica._beating.cancel()
        a.work.is_hidden.set()
        b.work.is_hidden.set()
        await a.replica.leave()
        assert not b.replica.is_answered_here(ada)
        b.replica.hold(ada, (f"{ada}/phone", "1"), "are you there?")

        leaving = asyncio.create_task(b.replica.leave())
        await until(lambda: b.work.taken == ["are you there?"])
        assert b.replica.is_answered_here(ada)
        await leaving


@pytest.mark.thorough
async def test_a_replica_that_leaves_others_behind_answers_no_more_while_the_server_hides_it(
    postgres: PostgresProcess,
) -> None:
    async with replicas(postgres, "first", "a", "b") as (a, b):
        leaving = asyncio.create_task(a.replica.leave())
        async with asyncio.timeout(PATIENCE_S):
            await a.work.hiding.wait()

        assert not any(a.replica.is_answered_here(one) for one in PEOPLE)
        assert all(b.replica.is_answered_here(one) for one in PEOPLE)
        a.work.is_hidden.set()
        await leaving


@pytest.mark.thorough
async def test_two_processes_cannot_be_the_same_replica(
    postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas_module, "JOIN_TIMEOUT_S", 2.5)
    async with replicas(postgres, "twins", "a"):
        with pytest.raises(ConfigurationError, match="another process is the replica 'a'"):
            await start(postgres, "twins", "a")
