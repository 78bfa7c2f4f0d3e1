"""What an agent was asked and answered, kept across its death."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from spade_llm.core import sqlite_file
from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.messaging import (
    CHAT_TEXT,
    AnswerLog,
    Dispatcher,
    Encoding,
    Idempotency,
    Performative,
    PersistentAnswerLog,
    Route,
    VolatileAnswerLog,
    new_id,
)
from spade_llm.messaging.answer_log import PURGE_EVERY, UNFINISHED_RETENTION_S
from spade_llm.messaging.message import stable_id
from tests.conftest import DATABASES, at_most, bytes_in, places_of
from tests.messaging.node_harness import PATIENCE_S, TEST, Gate, Outbox, code_of, request
from tests.messaging.test_message import messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spade_llm.core.database import DatabasePlace
    from spade_llm.messaging import AclMessage, Handler
    from tests.conftest import PlaceOf


@pytest.fixture(params=["volatile", *DATABASES])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AnswerLog]:
    if request.param == "volatile":
        yield VolatileAnswerLog()
        return
    async with (
        places_of(request.param, request, tmp_path) as places,
        PersistentAnswerLog(places("answers.db")) as opened,
    ):
        yield opened


@asynccontextmanager
async def agent(
    path: DatabasePlace, handler: Handler, effect: Idempotency
) -> AsyncIterator[tuple[Dispatcher, Outbox]]:
    """One life of an agent on this file; it ends like a kill: nothing more is written."""
    outbox = Outbox()
    async with PersistentAnswerLog(path) as log:
        dispatcher = Dispatcher(outbox, log)
        for ontology in (TEST, CHAT_TEXT):
            dispatcher.route(ontology, Route(handler=handler, effect_of=lambda _: effect))
        try:
            yield dispatcher, outbox
        finally:
            await dispatcher.close(patience_s=0)


async def answered(log: AnswerLog, asked: AclMessage, content: str = "done") -> AclMessage:
    answer = asked.reply(Performative.INFORM, content)
    await log.start(asked)
    await log.finish(asked, answer)
    return answer


async def test_a_request_is_unknown_then_started_then_answered(log: AnswerLog) -> None:
    asked = request("1")

    assert await log.find(asked) is None
    await log.start(asked)
    started = await log.find(asked)
    answer = await answered(log, asked)
    finished = await log.find(asked)

    assert started is not None and started.answer is None and not started.is_erased
    assert finished is not None and finished.answer == answer
    assert await log.unfinished() == []
    assert await log.unsent() == [answer]


async def test_another_text_conversation_sender_or_id_is_another_request(log: AnswerLog) -> None:
    asked = request("1", id="q", conversation_id="c")
    await answered(log, asked)

    others = [
        replace(asked, content="2"),
        replace(asked, conversation_id="d"),
        replace(asked, ontology="other/1"),
        replace(asked, sender="eva@home/phone"),
        replace(asked, reply_with="r"),
    ]

    assert [await log.find(other) for other in others] == [None] * len(others)
    assert await log.find(asked) is not None


async def test_erased_answers_are_known_without_their_text(
    log: AnswerLog,
) -> None:
    asked = request("1", id="q")
    other = replace(asked, content="2")
    answer = await answered(log, asked, "one")
    await answered(log, other, "two")

    await log.erase(answer)
    row = await log.find(asked)

    assert row is not None and row.is_erased and row.answer is None
    assert [left.content for left in await log.unsent()] == ["two"]
    assert await log.unfinished() == []


async def test_a_note_does_not_undo_what_is_known(log: AnswerLog) -> None:
    waiting, asked = request("waiting"), request("asked")
    answer = await answered(log, asked)

    await log.note(asked)
    await log.note(waiting)
    row = await log.find(asked)

    assert row is not None and row.answer == answer
    assert await log.unfinished() == [waiting]


@settings(max_examples=at_most(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages)
async def test_any_message_comes_back_from_the_file_as_it_was(
    place_of: PlaceOf, message: AclMessage
) -> None:
    async with PersistentAnswerLog(place_of("answers.db")) as log:
        await log.start(message)
        (asked,) = await log.unfinished()
        await log.finish(message, message)
        row = await log.find(message)
        await log.erase(message.reply(Performative.INFORM, "another"))
        await log.forget(message)

    assert asked == message
    assert row is not None and row.answer == message
    assert row.reply_by == message.reply_by


async def test_a_reopened_file_still_knows_its_answers(place_of: PlaceOf) -> None:
    asked = request("1")
    async with PersistentAnswerLog(place_of("answers.db")) as log:
        answer = await answered(log, asked)
        await log.start(request("2", id="2"))

    async with PersistentAnswerLog(place_of("answers.db")) as log:
        row = await log.find(asked)

        assert row is not None and row.answer == answer
        assert [left.reply_with for left in await log.unfinished()] == ["2"]


async def test_old_rows_go_by_age_and_by_number(place_of: PlaceOf) -> None:
    now = [0.0]
    async with PersistentAnswerLog(
        place_of("answers.db"), keep_s=100, max_remembered=10, clock=lambda: now[0]
    ) as log:
        old = request("old")
        await answered(log, old)
        now[0] = 101.0
        assert await log.unsent() == []
        for number in range(PURGE_EVERY):
            now[0] += 0.001
            await answered(log, request(str(number)), str(number))
        left = await log.unsent()

        assert await log.find(old) is None
    assert [int(row.content) for row in left] == list(range(PURGE_EVERY - 10, PURGE_EVERY))


async def test_long_running_requests_are_not_purged(place_of: PlaceOf) -> None:
    now = [0.0]
    async with PersistentAnswerLog(
        place_of("answers.db"), keep_s=100, max_remembered=600, clock=lambda: now[0]
    ) as log:
        long, lost = request("long"), request("lost")
        await log.start(lost)
        now[0] = UNFINISHED_RETENTION_S - 3600.0
        await log.start(long)
        now[0] = UNFINISHED_RETENTION_S + 1.0
        for number in range(PURGE_EVERY):
            await answered(log, request(str(number)), str(number))

        assert [row.content for row in await log.unfinished()] == ["long"]
        answer = await answered(log, long)
        found = await log.find(long)
        assert found is not None and found.answer == answer


async def test_it_is_known_for_a_day_that_a_call_was_answered(place_of: PlaceOf) -> None:
    now, outbox, gate = [0.0], Outbox(), Gate()
    gate.open()
    call, hello = request("pay", id=stable_id("call")), request("hello", id="k2")
    chat = replace(hello, ontology=CHAT_TEXT, encoding=Encoding.PLAIN)
    async with PersistentAnswerLog(place_of("answers.db"), keep_s=100, clock=lambda: now[0]) as log:
        dispatcher = Dispatcher(outbox, log)
        dispatcher.route(TEST, Route(handler=gate, effect_of=lambda _: Idempotency.ONCE))
        dispatcher.receive(call)
        await outbox.has(1)
        await log.erase(await answered(log, chat))

        now[0] = 101.0
        for number in range(PURGE_EVERY):
            await log.start(request(str(number)))
        dispatcher.receive(replace(call, sender="ana@home/other"))
        answer = (await outbox.has(2))[1]
        found = await log.find(call), await log.find(chat)
        now[0] = UNFINISHED_RETENTION_S + 1.0
        for number in range(PURGE_EVERY):
            await log.start(request(str(number)))
        await dispatcher.close()

        assert (answer.receiver, code_of(answer)) == ("ana@home/other", "interrupted")
        assert gate.entered == ["pay"]
        assert found[0] is not None and found[0].is_erased and found[0].answer is None
        assert found[1] is None
        assert await log.find(call) is None


async def test_memory_forgets_the_oldest() -> None:
    log = VolatileAnswerLog(max_remembered=2)
    asked = [request(str(number)) for number in range(3)]
    for one in asked:
        await answered(log, one)

    assert await log.find(asked[0]) is None
    assert await log.find(asked[1]) is not None


@pytest.mark.parametrize("content", [b"not a database, but long enough to be read" * 100, None])
async def test_a_file_that_cannot_be_used_is_said_at_the_start(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "answers.db"
    path.write_bytes(content) if content else path.mkdir()

    with pytest.raises(ConfigurationError, match=r"answers\.db"):
        async with PersistentAnswerLog(path):
            pass


async def test_a_folder_that_is_not_there_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nowhere"):
        async with PersistentAnswerLog(tmp_path / "nowhere" / "answers.db"):
            pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_read_only_file_is_said_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    async with PersistentAnswerLog(path):
        pass
    path.chmod(0o400)

    with pytest.raises(ConfigurationError, match="permissions"):
        async with PersistentAnswerLog(path):
            pass


async def test_a_log_that_is_not_open_refuses(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="not open"):
        await PersistentAnswerLog(tmp_path / "a.db").find(request())


async def test_a_broken_log_fails_the_request_and_the_conversation_goes_on(
    tmp_path: Path,
) -> None:
    gate = Gate()
    gate.open()
    async with agent(tmp_path / "a.db", gate, Idempotency.WRITE) as (dispatcher, outbox):
        with closing(sqlite3.connect(tmp_path / "a.db")) as other:
            other.execute("DROP TABLE requests")
        dispatcher.receive(request("1", conversation_id="c"))
        dispatcher.receive(request("2", conversation_id="c"))

        answers = await outbox.has(2)

    assert [code_of(answer) for answer in answers] == ["storage-failed", "storage-failed"]
    assert gate.entered == []
    assert dispatcher.recent.is_storage_failing


async def test_a_request_waits_for_another_one_that_holds_the_file_and_the_loop_goes_on(
    tmp_path: Path,
) -> None:
    async with PersistentAnswerLog(tmp_path / "a.db") as log:
        with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            starting = [asyncio.create_task(log.start(request(id=id))) for id in ("1", "2")]
            done, _ = await asyncio.wait(starting, timeout=3 * sqlite_file.RETRY_S)
            other.execute("ROLLBACK")

            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*starting)

        assert not done
        assert await log.find(request(id="2")) is not None


@pytest.mark.thorough
async def test_writers_and_scrubs_at_the_same_time_are_all_served(place_of: PlaceOf) -> None:
    async def write(writer: int, log: PersistentAnswerLog) -> None:
        for number in range(40):
            asked = request(id=f"{writer}-{number}")
            await log.note(asked)
            await log.start(asked)
            await asyncio.sleep(0)
            await log.finish(asked, asked.reply(Performative.INFORM, "x" * 5000))

    async def scrub(log: PersistentAnswerLog) -> None:
        for _ in range(5):
            await log.scrub("$.entry.id", ["1"], peer=None)

    async with PersistentAnswerLog(place_of("answers.db")) as log:
        await asyncio.gather(*(write(writer, log) for writer in range(9)), scrub(log), scrub(log))

        assert len(await log.unsent()) == 360


async def test_scrubbing_leaves_no_bytes_even_with_a_concurrent_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "TRUNCATE_TIMEOUT_S", 0.0)
    path, asked = tmp_path / "a.db", request(id="1")
    async with PersistentAnswerLog(path) as log:
        await log.start(asked)
        await log.finish(asked, asked.reply(Performative.INFORM, '{"entry":{"id":"secret"}}'))
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM requests").fetchall()
            scrubbing = asyncio.create_task(log.scrub("$.entry.id", ["secret"], peer=None))
            done, _ = await asyncio.wait({scrubbing}, timeout=0.05)
            reader.execute("ROLLBACK")
            async with asyncio.timeout(PATIENCE_S):
                await scrubbing

        assert not done
        assert b"secret" not in bytes_in(tmp_path)


async def test_a_log_that_stays_locked_fails_the_request_and_names_the_error_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_TIMEOUT_S", 0.05)
    async with PersistentAnswerLog(tmp_path / "a.db") as log:
        with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for _ in range(2):
                with pytest.raises(StorageFailed, match="cannot be used"):
                    await log.start(request())

    (line,) = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert "a.db cannot be used: database is locked (SQLITE_BUSY)" in line


@pytest.mark.parametrize(
    ("effect", "runs_again"),
    [(Idempotency.WRITE, True), (Idempotency.RESUME, True), (Idempotency.ONCE, False)],
)
async def test_after_a_kill_a_retry_runs_again_unless_that_would_do_harm(
    place_of: PlaceOf, effect: Idempotency, runs_again: bool
) -> None:
    asked, gate = request("1", id="q"), Gate()
    async with agent(place_of("answers.db"), gate, effect) as (dispatcher, _):
        dispatcher.receive(asked)
        await gate.is_entered()
    again = Gate()
    again.open()
    async with agent(place_of("answers.db"), again, effect) as (dispatcher, outbox):
        dispatcher.receive(asked)
        answer = (await outbox.has(1))[0]

    assert bool(again.entered) is runs_again
    assert answer.performative == ("inform" if runs_again else "failure")
    if not runs_again:
        assert code_of(answer) == "interrupted"


async def test_after_a_kill_the_answer_given_before_is_given_again(place_of: PlaceOf) -> None:
    asked, gate, other = request("1"), Gate(), Gate()
    gate.open()
    async with agent(place_of("answers.db"), gate, Idempotency.ONCE) as (dispatcher, outbox):
        dispatcher.receive(asked)
        first = (await outbox.has(1))[0]
    async with agent(place_of("answers.db"), other, Idempotency.ONCE) as (dispatcher, outbox):
        dispatcher.receive(asked)

        assert (await outbox.has(1))[0] == first
    assert other.entered == []


async def test_a_chat_answer_that_could_not_leave_is_sent_by_the_next_life(
    place_of: PlaceOf,
) -> None:
    asked, gate = request("hello", ontology=CHAT_TEXT), Gate()
    gate.open()
    async with agent(place_of("answers.db"), gate, Idempotency.RESUME) as (dispatcher, outbox):
        outbox.is_connected = False
        dispatcher.receive(asked)
        await dispatcher.close()
    async with agent(place_of("answers.db"), gate, Idempotency.RESUME) as (dispatcher, outbox):
        await dispatcher.resume()
        await dispatcher.resend()
        await dispatcher.resend()
        dispatcher.receive(asked)
        await dispatcher.close()

    assert [answer.content for answer in outbox.sent] == ["hello"]
    assert gate.entered == ["hello"]


@pytest.mark.parametrize("effect", [Idempotency.RESUME, Idempotency.ONCE])
async def test_running_and_queued_requests_are_resumed_after_a_kill(
    tmp_path: Path, effect: Idempotency
) -> None:
    path = tmp_path / "a.db"
    await _killed(path, effect)
    gate = Gate()
    gate.open()

    async with agent(path, gate, effect) as (dispatcher, outbox):
        await dispatcher.resume()
        await dispatcher.close()

    expected = ["first", "second"] if effect is Idempotency.RESUME else []
    assert [answer.content for answer in outbox.sent] == expected


async def _killed(path: Path, effect: Idempotency) -> None:
    """Run an agent until it has begun one request and noted another, and kill it (-9)."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.messaging.killed_agent", str(path), effect.name,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(4 * PATIENCE_S):
            assert process.stdout is not None
            assert await process.stdout.readline() == b"entered\n"
    finally:
        process.kill()
        await process.wait()


async def test_an_answer_that_did_not_arrive_after_all_is_unsent_again(log: AnswerLog) -> None:
    asked = request("1", ontology=CHAT_TEXT)
    answer = asked.reply(Performative.INFORM, "hello")
    await log.start(asked)
    await log.finish(asked, answer)
    await log.erase(answer)
    sent = await log.unsent()

    await log.restore(answer)

    assert sent == []
    assert await log.unsent() == [answer]


async def test_scrubbed_values_are_in_no_answer_and_leave_no_bytes(
    place_of: PlaceOf, tmp_path: Path
) -> None:
    shown = '{"entry":{"id":"7","content":"swordfish"}}'
    kept = '{"entry":{"id":"8","content":"herring"}}'
    async with PersistentAnswerLog(place_of("answers.db")) as log:
        asked = [request("swordfish", id=str(n)) for n in range(3)]
        for one, answer in zip(asked, (shown, kept, "no JSON"), strict=True):
            await log.start(one)
            await log.finish(one, one.reply(Performative.INFORM, answer))

        await log.scrub("$.entry.id", ["7"], peer="ana@home")
        await log.scrub("$.entry.id", ["8"], peer="an")
        found = [row.answer for one in asked if (row := await log.find(one)) and row.answer]
        bytes_left = bytes_in(tmp_path)

    assert [answer.performative for answer in found] == ["refuse", "inform", "inform"]
    assert code_of(found[0]) == "not-found"
    assert [answer.content for answer in found[1:]] == [kept, "no JSON"]
    assert b"swordfish" not in bytes_left


async def test_scrubbed_answers_of_one_asker_leave_no_bytes(log: AnswerLog, tmp_path: Path) -> None:
    ana, bob = (
        request(id="1", sender="gateway@home/1", conversation_id="s"),
        request(id="2", sender="gateway@home/1", conversation_id="s"),
    )
    ana, bob = replace(ana, principal="ana@home"), replace(bob, principal="bob@home")
    elsewhere = replace(ana, reply_with="3", conversation_id="t")
    said = request(id="4", ontology=CHAT_TEXT, conversation_id="s")
    for asked in (ana, bob, elsewhere, said):
        await log.start(asked)
        answer = "swordfish" if asked in (ana, said) else "lobster"
        await log.finish(asked, asked.reply(Performative.INFORM, answer))

    await log.scrub_asked("ana@home", ["s", "unknown"])
    rows = [await log.find(asked) for asked in (ana, bob, elsewhere, said)]
    bytes_left = bytes_in(tmp_path)
    await log.scrub_asked("ana@home", None)
    last = await log.find(elsewhere)

    answers = [row.answer for row in rows if row and row.answer]
    assert [answer.performative for answer in answers] == ["refuse", "inform", "inform"]
    assert [answer.content for answer in answers[1:]] == ["lobster"] * 2
    assert rows[3] is not None
    assert rows[3].is_erased
    assert b"swordfish" not in bytes_left
    assert last is not None
    assert last.answer is not None
    assert last.answer.performative == "refuse"


async def test_a_log_of_an_older_version_goes_on(tmp_path: Path) -> None:
    asked = request(id="1")
    async with PersistentAnswerLog(tmp_path / "log.db") as log:
        await log.start(asked)
        await log.finish(asked, asked.reply(Performative.INFORM, "done"))
    with closing(sqlite3.connect(tmp_path / "log.db")) as file:
        file.execute("ALTER TABLE requests DROP COLUMN asker")

    async with PersistentAnswerLog(tmp_path / "log.db") as log:
        await log.scrub_asked("ana@home", None)
        row = await log.find(asked)

    assert row is not None
    assert row.answer is not None
    assert row.answer.content == "done"


async def test_unsolicited_messages_are_kept_until_sent_and_remembered(
    log: AnswerLog,
) -> None:
    said = request("hello", id="1", ontology=CHAT_TEXT)

    assert await log.keep(said)
    assert not await log.keep(said)
    assert await log.unsent() == [said]
    await log.erase(said)
    assert await log.unsent() == []
    assert not await log.keep(said)
    await log.restore(said)

    assert await log.unsent() == [said]
    assert await log.unfinished() == []


@pytest.mark.parametrize("place_of", DATABASES, indirect=True)
async def test_a_request_that_another_process_of_its_gateway_repeats_has_the_same_answer(
    place_of: PlaceOf,
) -> None:
    id = stable_id("ada@home", "key")
    first, second = (
        replace(request("hello", sender=f"gateway@home/{name}", id=id), principal="ada@home")
        for name in "ab"
    )
    others = [
        replace(second, sender="gateway@evil/b"),
        replace(second, principal="eve@home"),
        replace(second, content="goodbye"),
        replace(second, reply_with=new_id()),
    ]
    async with PersistentAnswerLog(place_of("answers.db")) as log:
        answer = await answered(log, first)
        await log.note(second)
        found = await log.find(second)

        assert found is not None
        assert found.answer == replace(answer, receiver=second.sender)
        assert [await log.find(one) for one in others] == [None] * len(others)
        assert await log.unfinished() == []
