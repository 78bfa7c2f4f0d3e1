"""Replicas of an assistant: people write while replicas are killed, join and leave."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.processes.deployment import READY_S, Deployment, running_deployment
from tests.processes.test_kill_and_cut import first_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.postgres_server import PostgresProcess
    from tests.xmpp.client import Client

pytestmark = [pytest.mark.server, pytest.mark.thorough, pytest.mark.timeout(180)]

ASSISTANT = "assistant@localhost"
STORAGE = '[storage]\ndatabase_url = "{url}"\n'
PEOPLE = 12
ANSWER_S = 20.0
MODEL_S = 0.2


@pytest_asyncio.fixture
async def deployment(tmp_path: Path, own_postgres: PostgresProcess) -> AsyncIterator[Deployment]:
    async with running_deployment(tmp_path, names=()) as running:
        await running.account("assistant")
        running._write_file("assistant", STORAGE.format(url=own_postgres.url()))
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
            got = [await self._answer() for _ in pair]
            self.slowest_s = max(self.slowest_s, asyncio.get_running_loop().time() - since_s)
            self.lost += [text for text in pair if text not in got]
            if sorted(got) == sorted(pair) and got != pair:
                self.out_of_order.append((got[0], got[1]))

    async def _answer(self) -> str:
        try:
            message = await asyncio.wait_for(self.client.messages.get(), ANSWER_S)
        except TimeoutError:
            return ""
        return self._note(message)

    def end(self) -> None:
        """Count what came and was not expected."""
        for message in self.client.waiting():
            self._note(message)
        self.errors += self.client.errors.qsize()

    def _note(self, message: Any) -> str:
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
    clients = await asyncio.gather(*(deployment.person(name) for name in names))
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
