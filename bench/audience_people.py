"""A thousand people in one process: `python -m bench.audience_people`, told an Audience on stdin.

Says `ready SECONDS` when all are logged in. Then for each Round on stdin everybody says as many
things, each when the last was answered; `half` when half of all is, and what it came to as JSON.
"""

from __future__ import annotations

import asyncio
import sys
import time

from pydantic import BaseModel, ConfigDict

from bench.account import Audience
from bench.lean_client import LeanClient
from bench.row import WrongAnswer
from spade_llm.core.concurrency import run_event_loop
from spade_llm.xmpp.connection.settings import tls_context

LOGINS_AT_ONCE = 32
PATIENCE_S = 120.0


class Round(BaseModel):
    model_config = ConfigDict(frozen=True)

    to: str
    messages: int
    """Of each."""


class Heard(BaseModel):
    model_config = ConfigDict(frozen=True)

    seconds: float
    times_ms: list[float]
    """From a question to its answer."""
    without: int = 0
    """Answers that say that memory or documents could not be asked in time."""
    complaint: str = ""
    """What was answered wrongly, if anything was."""


class Listener:
    """One person: a question, its answer, and nothing else between them."""

    def __init__(self, name: str, client: LeanClient) -> None:
        self._name = name
        self._client = client
        self._said = 0
        self.without = 0
        self._awaited: asyncio.Future[str] | None = None
        self._complaint: Exception | None = None
        client.on_text = self._hear
        client.failed = self._fail

    async def ask(self, to: str) -> float:
        """The milliseconds until the answer. Raises WrongAnswer, ConnectionError."""
        self._said += 1
        text = f"This is {self._name}: what was my question number {self._said}?"
        self._awaited = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        self._client.say(to, text, id=f"{self._name}.{self._said}")
        async with asyncio.timeout(PATIENCE_S):
            answer = await self._awaited
        self._awaited = None
        if self._complaint is not None:
            raise self._complaint
        words, _, note = answer.partition("\n\n(Answered without")
        self.without += bool(note)
        if words != f"You said: {text}":
            raise WrongAnswer(f"to {text!r} the answer was {answer!r}")
        return (time.perf_counter() - began) * 1000

    def _hear(self, text: str) -> None:
        if self._awaited is None or self._awaited.done():
            self._complaint = WrongAnswer(f"{self._name} was told without asking: {text!r}")
        else:
            self._awaited.set_result(text)

    def _fail(self, error: Exception) -> None:
        self._complaint = error
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_exception(error)


async def logged_in(audience: Audience) -> list[Listener]:
    tls, room = tls_context(audience.ca_path), asyncio.Semaphore(LOGINS_AT_ONCE)

    async def one(jid: str, password: str) -> Listener:
        client = LeanClient(jid, password, tls)
        async with room:
            await client.log_in("127.0.0.1", audience.port)
        return Listener(jid.partition("@")[0], client)

    return await asyncio.gather(*(one(*each) for each in audience.passwords.items()))


async def talk(people: list[Listener], wanted: Round) -> Heard:
    times_ms: list[float] = []
    half = len(people) * wanted.messages // 2

    async def talk_alone(person: Listener) -> None:
        for _ in range(wanted.messages):
            times_ms.append(await person.ask(wanted.to))
            if len(times_ms) == half:
                print("half", flush=True)

    began, complaint = time.perf_counter(), ""
    without = sum(person.without for person in people)
    try:
        async with asyncio.TaskGroup() as group:
            for person in people:
                group.create_task(talk_alone(person))
    except* (WrongAnswer, ConnectionError, TimeoutError) as wrong:
        complaint = f"{len(wrong.exceptions)} people: {wrong.exceptions[0]!r}"
    return Heard(
        seconds=time.perf_counter() - began,
        times_ms=times_ms,
        without=sum(person.without for person in people) - without,
        complaint=complaint,
    )


async def main() -> None:
    began = time.perf_counter()
    people = await logged_in(Audience.model_validate_json(sys.stdin.readline()))
    print(f"ready {time.perf_counter() - began:.2f}", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        heard = await talk(people, Round.model_validate_json(line))
        print(heard.model_dump_json(), flush=True)


if __name__ == "__main__":
    run_event_loop(main())
