"""Replicas of an assistant: people write while replicas are killed, join and leave."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from spade_llm.messaging.replicas import LEASE_S, rendezvous_owner
from spade_llm.xmpp.connection.jids import resource_of
from spade_llm.xmpp.features.rooms import OWNERSHIP_EVERY_S
from tests.integration.room_guest import Guest
from tests.processes.deployment import READY_S, Deployment, running_deployment
from tests.processes.test_kill_and_cut import first_line, messages_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.postgres_server import PostgresProcess
    from tests.xmpp.client import Client

pytestmark = [pytest.mark.server, pytest.mark.thorough, pytest.mark.timeout(180)]

ASSISTANT = "assistant@localhost"
ROOM = "lab@conference.localhost"
MORE = """
[storage]
database_url = "{url}"
[[rooms]]
jid = "lab@conference.localhost"
nick = "assistant"
"""
PEOPLE = 12
ANSWER_S = 45.0
MODEL_S = 0.2


@pytest_asyncio.fixture
async def deployment(tmp_path: Path, own_postgres: PostgresProcess) -> AsyncIterator[Deployment]:
    async with running_deployment(tmp_path, names=()) as running:
        await running.account("assistant")
        running._write_file("assistant", MORE.format(url=own_postgres.url()))
        running.model.delay_s = MODEL_S
        yield running


async def start(deployment: Deployment, number: int) -> None:
    await deployment.start("assistant", "--replica", str(number), label=f"replica-{number}")


@dataclass
class Person:
    """Writes two messages at a time, one right behind the other, and waits for both answers."""

    client: Client
    name: str
    answers: Counter[str] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)
    """A kill between sending an answer and marking it as sent repeats it under its id, by which a
    client recognises it (docs/known-issues.md)."""
    lost: list[str] = field(default_factory=list)
    out_of_order: list[tuple[str, str]] = field(default_factory=list)
    errors: int = 0
    slowest_s: float = 0.0
    replicas: Counter[str] = field(default_factory=Counter)

    async def talk(self, is_over: asyncio.Event) -> None:
        number = 0
        while not is_over.is_set():
            pair = [f"{self.name} says {number + one}" for one in range(2)]
            number += 2
            since_s = asyncio.get_running_loop().time()
            for text in pair:
                self.client.send(ASSISTANT, text)
            got = [await self.answer() for _ in pair]
            self.slowest_s = max(self.slowest_s, asyncio.get_running_loop().time() - since_s)
            self.lost += [text for text in pair if text not in got]
            if sorted(got) == sorted(pair) and got != pair:
                self.out_of_order.append((got[0], got[1]))

    async def answer(self) -> str:
        """The next answer, without those that are repeated; empty when none comes in time."""
        try:
            async with asyncio.timeout(ANSWER_S):
                while not (text := self._note(await self.client.messages.get())):
                    continue
        except TimeoutError:
            return ""
        return text

    def end(self) -> None:
        """Count what came and was not expected."""
        for message in self.client.waiting():
            self._note(message)
        self.errors += self.client.errors.qsize()

    def _note(self, message: Any) -> str:
        """The text of an answer; empty for one that is repeated under its id."""
        if message["id"] in self.ids:
            return ""
        self.ids.add(message["id"])
        text = first_line(message).removeprefix("You said: ")
        self.answers[text] += 1
        self.replicas[str(message["from"])] += 1
        return text


@dataclass
class Crowd:
    people: list[Person]
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    async def end(self) -> None:
        """Let all finish, and wait for what comes late."""
        self.is_over.set()
        await self.talking
        for one in self.people:
            await one.client.ping()
            one.end()

    def begin(self) -> None:
        self.talking = asyncio.gather(*(one.talk(self.is_over) for one in self.people))

    async def answered(self, more: int) -> None:
        """Return after so many further answers."""
        wanted = self.total + more
        async with asyncio.timeout(ANSWER_S):
            while self.total < wanted:  # noqa: ASYNC110 - counted by the people
                await asyncio.sleep(0.02)

    @property
    def total(self) -> int:
        return sum(one.answers.total() for one in self.people)

    def report(self) -> dict[str, Any]:
        people = self.people
        return {
            "lost": [text for one in people for text in one.lost],
            "doubled": [t for one in people for t, count in one.answers.items() if count > 1],
            "errors": sum(one.errors for one in people),
            "out of order": [pair for one in people for pair in one.out_of_order],
        }


FAULTLESS = {"lost": [], "doubled": [], "errors": 0, "out of order": []}


async def crowd_of(deployment: Deployment) -> Crowd:
    names = [f"p{number}" for number in range(PEOPLE)]
    # One after the other: a login has 5 s.
    clients = [await deployment.person(name) for name in names]
    return Crowd([Person(one, name) for one, name in zip(clients, names, strict=True)])


async def test_replicas_that_are_killed_join_and_leave_answer_each_message_once_in_order(
    deployment: Deployment,
) -> None:
    await asyncio.gather(start(deployment, 1), start(deployment, 2))
    crowd = await crowd_of(deployment)
    crowd.begin()
    await crowd.answered(2 * PEOPLE)

    await deployment.kill("replica-1")
    await crowd.answered(4 * PEOPLE)
    await start(deployment, 3)
    await crowd.answered(4 * PEOPLE)
    await start(deployment, 1)
    await crowd.answered(4 * PEOPLE)
    await deployment.end("replica-2")
    await crowd.answered(4 * PEOPLE)
    await deployment.kill("replica-3")
    await crowd.answered(4 * PEOPLE)
    await crowd.end()

    assert crowd.report() == FAULTLESS
    assert max(one.slowest_s for one in crowd.people) < 10


async def test_a_database_that_is_killed_and_comes_back_costs_no_answer(
    deployment: Deployment, own_postgres: PostgresProcess
) -> None:
    await asyncio.gather(start(deployment, 1), start(deployment, 2))
    crowd = await crowd_of(deployment)
    crowd.begin()
    await crowd.answered(2 * PEOPLE)

    own_postgres.kill()
    own_postgres.start()
    await asyncio.to_thread(own_postgres.wait_until_ready)
    await crowd.answered(4 * PEOPLE)
    await deployment.kill("replica-1")
    await crowd.answered(4 * PEOPLE)
    await crowd.end()

    assert crowd.report() == FAULTLESS


async def test_what_comes_while_all_replicas_stop_is_answered_by_the_next_one(
    deployment: Deployment,
) -> None:
    await asyncio.gather(start(deployment, 1), start(deployment, 2))
    crowd = await crowd_of(deployment)
    crowd.begin()
    await crowd.answered(2 * PEOPLE)

    await asyncio.gather(deployment.end("replica-1"), deployment.end("replica-2"))
    await start(deployment, 3)
    await crowd.answered(4 * PEOPLE)
    await crowd.end()

    assert crowd.report() == FAULTLESS


async def test_a_person_gets_an_answer_after_all_replicas_were_killed_and_one_is_back(
    deployment: Deployment,
) -> None:
    await asyncio.gather(start(deployment, 1), start(deployment, 2))
    ada = await deployment.person("ada")
    deployment.model.delay_s = 2.0
    ada.send(ASSISTANT, "are you there?")
    await deployment.asked(1)
    await asyncio.gather(deployment.kill("replica-1"), deployment.kill("replica-2"))
    deployment.model.delay_s = 0.0
    await start(deployment, 2)

    first = await asyncio.wait_for(ada.messages.get(), ANSWER_S)
    ada.send(ASSISTANT, "and now?")
    second = await asyncio.wait_for(ada.messages.get(), ANSWER_S)

    assert [first_line(one) for one in (first, second)] == [
        "You said: are you there?",
        "You said: and now?",
    ]


async def test_run_with_replicas_restarts_one_that_was_killed(deployment: Deployment) -> None:
    await deployment.start("assistant", "--replicas", "2", label="supervisor")
    home = deployment.directory / "data" / "agents" / ASSISTANT / "replicas"
    crowd = await crowd_of(deployment)
    crowd.begin()
    await crowd.answered(PEOPLE)
    pid = int((home / "1" / "lock").read_text())
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(READY_S):
        while (home / "1" / "lock").read_text().strip() in ("", str(pid)):
            await crowd.answered(1)
    await crowd.answered(4 * PEOPLE)
    await crowd.end()
    await deployment.end("supervisor")

    assert crowd.report() == FAULTLESS


async def test_a_room_is_answered_once_whichever_replica_is_in_it(deployment: Deployment) -> None:
    deployment.model.delay_s = 0.0
    await start(deployment, 1)
    ada = await Guest(await deployment.person("ada"), ROOM, "ada").enter()
    await start(deployment, 2)

    async def asked(text: str) -> list[str]:
        """The answers of the assistant to this line until another message passes. Those to earlier
        lines may come late."""
        ada.say(f"assistant: {text}")
        lines = [await ada.hears("assistant")]
        while f"You said: {text}" not in lines[-1]:
            lines.append(await ada.hears("assistant"))
        await asyncio.sleep(OWNERSHIP_EVERY_S)  # Both may be in the room for so long.
        lines += await ada_hears_until(ada, f"that was {text}")
        return [one for one in lines if f"You said: {text}" in one]

    both = await asked("one")
    await deployment.kill("replica-1")
    await ada_is_answered(ada, "ping")
    second = await asked("two")
    await start(deployment, 3)
    await deployment.kill("replica-2")
    await ada_is_answered(ada, "pong")
    third = await asked("three")

    assert [len(lines) for lines in (both, second, third)] == [1, 1, 1]


async def ada_hears_until(ada: Guest, text: str) -> list[str]:
    ada.say(text)
    return [body for nick, body in await ada.heard_up_to(text) if nick == "assistant"]


async def ada_is_answered(ada: Guest, text: str) -> None:
    """Return once a line is answered: those that come while a replica is replaced are not."""
    async with asyncio.timeout(READY_S):
        while True:
            ada.say(f"assistant: {text}")
            with suppress(TimeoutError):
                async with asyncio.timeout(2.0):
                    await ada.hears("assistant")
                    return


async def test_a_takeover_continues_the_conversation_and_a_request_to_subscribe_has_one_answer(
    deployment: Deployment,
) -> None:
    deployment.model.delay_s = 0.0
    await deployment.account("memory")
    deployment._write_file("memory")
    await deployment.start("memory")
    await asyncio.gather(start(deployment, 1), start(deployment, 2))
    names = [f"q{number}" for number in range(4)]
    clients = await asyncio.gather(*(deployment.person(name) for name in names))
    people = [Person(client, name) for client, name in zip(clients, names, strict=True)]
    asked_back: asyncio.Queue[Any] = asyncio.Queue()
    for person in people:
        # Prosody itself tells that the request is granted.
        person.client.xmpp.add_event_handler("presence_subscribe", asked_back.put_nowait)
        person.client.xmpp.send_presence_subscription(pto=ASSISTANT)
        person.client.send(ASSISTANT, f"my code is {person.name}")
        assert await person.answer() == f"my code is {person.name}"
    await deployment.kill("replica-1")
    for person in people:
        person.client.send(ASSISTANT, "what is my code?")
        assert await person.answer() == "what is my code?"
        asked = str(messages_of(deployment.model.requests[-1])[1:-1])
        assert f"my code is {person.name}" in asked

    assert asked_back.qsize() == len(people)


@dataclass
class Devices:
    """Devices of one person, by name."""

    deployment: Deployment
    online: dict[str, Client] = field(default_factory=dict)
    answers: dict[str, list[str]] = field(default_factory=dict)
    """All answers that came, by device; none is left out because of its id."""

    async def come(self, name: str) -> None:
        self.online[name] = await self.deployment.person("ada")
        self.answers.setdefault(name, [])

    async def go(self, name: str) -> None:
        await self.online.pop(name).close()

    def say(self, name: str, text: str, *, to: str = ASSISTANT) -> None:
        self.online[name].send(to, text)

    async def answered(self, name: str, *texts: str) -> None:
        """Return once this device has answers to these messages."""
        async with asyncio.timeout(ANSWER_S):
            while not {*texts} <= {*self.answers[name]}:
                self._note(name, await self.online[name].messages.get())

    async def all_answers(self) -> dict[str, list[str]]:
        """Answers of all devices, with what came late."""
        await asyncio.sleep(2 * LEASE_S)
        for name, client in self.online.items():
            await client.ping()
            for message in client.waiting():
                self._note(name, message)
        return {name: sorted(texts) for name, texts in self.answers.items()}

    def _note(self, name: str, message: Any) -> None:
        if message["body"]:
            self.answers[name].append(first_line(message).removeprefix("You said: "))


async def test_each_device_of_a_person_gets_each_answer_once(deployment: Deployment) -> None:
    await asyncio.gather(start(deployment, 1), start(deployment, 2))
    home = deployment.directory / "data" / "agents" / ASSISTANT / "replicas"
    names = {number: resource_of(home / str(number), "assistant") for number in (1, 2)}
    owner = rendezvous_owner("ada@localhost", tuple(sorted(names.values())))
    (other,) = {*names.values()} - {owner}
    (killed,) = (number for number, name in names.items() if name == other)
    devices = Devices(deployment)
    await devices.come("phone")
    await devices.come("laptop")

    for number in range(3):
        devices.say("phone", f"phone to all {number}")
        devices.say("laptop", f"laptop to one {number}", to=f"{ASSISTANT}/{other}")
        devices.say("phone", f"phone to the owner {number}", to=f"{ASSISTANT}/{owner}")
    own = [f"phone to {who} {number}" for who in ("all", "the owner") for number in range(3)]
    await devices.answered("phone", *own)
    await devices.answered("laptop", *(f"laptop to one {number}" for number in range(3)))
    deployment.model.delay_s = 2.0
    # The server gives the answer to a device that is there.
    devices.say("phone", "phone goes", to=f"{ASSISTANT}/{other}")
    await deployment.asked(1)
    await devices.go("phone")
    await devices.answered("laptop", "phone goes")
    # It stores one for a person without any.
    devices.say("laptop", "laptop goes")
    await deployment.asked(1)
    await devices.go("laptop")
    await asyncio.sleep(2 * deployment.model.delay_s)
    await devices.come("phone")
    await devices.answered("phone", "laptop goes")
    await devices.come("laptop")
    devices.say("laptop", "the replica dies", to=f"{ASSISTANT}/{other}")
    await deployment.asked(1)
    await deployment.kill(f"replica-{killed}")
    await devices.answered("laptop", "the replica dies")
    # A server gives what is for a resource that is gone to all that are there.
    devices.say("phone", "the replica is gone", to=f"{ASSISTANT}/{other}")
    await devices.answered("phone", "the replica is gone")
    await start(deployment, killed)

    to_one = [f"laptop to one {number}" for number in range(3)]
    assert await devices.all_answers() == {
        "phone": sorted([*own, "laptop goes", "the replica is gone"]),
        "laptop": sorted([*to_one, "phone goes", "the replica dies"]),
    }
    assert all(client.errors.empty() for client in devices.online.values())
