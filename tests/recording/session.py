"""The chat in the README, played: a plain client on Prosody, every agent in its own process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spade_llm.xmpp.servers.managed_server import Endpoint
from tests.cli.program import ROOT, Program, modest_agents, processes_of
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ASSISTANT = "assistant@localhost"
ANSWER_S = 30.0
DISCO_INFO = "http://jabber.org/protocol/disco#info"
KILL = "$ kill -9"
SHELL = "$ spade-llm "
WEEKDAYS = r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Line of a session."""

    speaker: str
    """`you`, `assistant`, or `shell` for a command."""
    text: str
    seconds: float = 0.0
    """Time that the command or the answer took."""


def written_session(page: str = "README.md") -> list[Line]:
    """The session as a page shows it; continued lines are joined."""
    text = (ROOT / page).read_text(encoding="utf-8")
    block = re.search(r"<!-- session: .*? -->\n+```text\n(.*?)```", text, re.DOTALL)
    assert block is not None
    lines: list[tuple[str, str]] = []
    for line in block[1].splitlines():
        if found := re.match(r"(you|assistant): +(.*)", line):
            lines.append((found[1], found[2]))
        elif line.startswith("$ "):
            lines.append(("shell", line))
        elif line.strip():
            lines[-1] = (lines[-1][0], f"{lines[-1][1]}\n{line.strip()}")
    return [Line(speaker=speaker, text=words) for speaker, words in lines]


def shape(text: str) -> str:
    """Text without what differs from day to day, and as far as the README shows it."""
    shown = re.sub(r"\d+", "#", text.partition("[…]")[0])
    return " ".join(re.sub(WEEKDAYS, "day", shown).split())


async def play(session: list[Line], folder: Path) -> AsyncIterator[Line]:
    """Play a session in an empty folder: what is said and typed as written, answers as heard."""
    program = Program(
        data=folder / "data", agents=modest_agents(folder / "agents"), has_prosody=True
    )
    async with program.up("--processes") as up:
        await up.ready()
        client, seen = await log_in(program.data), set[str]()
        client.xmpp.send_presence(pto=ASSISTANT, ptype="subscribe")
        await _presence(client, "available")
        for line in session:
            started = time.perf_counter()
            text = line.text
            if line.speaker == "you":
                client.send(ASSISTANT, text)
                asked = started
            elif text.startswith(KILL):
                _kill_assistant(program.data)
                await _presence(client, "unavailable")
            elif text.startswith(SHELL):
                await _shell(program, text.removeprefix(SHELL))
            else:
                message = await _heard(client, seen)
                text, started = message["body"], asked
                await _a_moment_later(client, message["from"].full)
            yield Line(speaker=line.speaker, text=text, seconds=time.perf_counter() - started)
        await client.close()


async def log_in(data: Path) -> Client:
    """Client of the person that `up` has made, logged in."""
    run = json.loads((data / "run.json").read_text(encoding="utf-8"))
    endpoint = Endpoint(
        host=run["host"],
        port=run["port"],
        domain="localhost",
        ca_path=data / "prosody" / "certificates" / "ca.pem",
    )
    client = Client("you@localhost", (data / "accounts" / "you@localhost").read_text().strip())
    await client.log_in(endpoint)
    return client


def _kill_assistant(data: Path) -> None:
    pids = [pid for pid, command in processes_of(data).items() if "assistant" in command]
    assert len(pids) == 1
    os.kill(pids[0], signal.SIGKILL)


async def _presence(client: Client, kind: str) -> None:
    """Return once the client sees the assistant so; it goes on before a person would write."""
    async with asyncio.timeout(ANSWER_S):
        while True:
            seen = await client.presences.get()
            if seen["from"].bare == ASSISTANT and seen["type"] == kind:
                return


async def _heard(client: Client, seen: set[str]) -> Any:
    """The next message. One that is said again, with the id that it had, is none: a kill came
    between sending an answer and the server's word that it has it (docs/known-issues.md, Wire)."""
    while (message := await asyncio.wait_for(client.messages.get(), ANSWER_S))["id"] in seen:
        continue
    seen.add(message["id"])
    return message


async def _a_moment_later(client: Client, assistant: str) -> None:
    """A person types after the answer, not in the same millisecond: it has gone on to something
    else."""
    query = client.xmpp.make_iq_get(queryxmlns=DISCO_INFO, ito=assistant)
    await query.send(timeout=ANSWER_S)


async def _shell(program: Program, command: str) -> None:
    name, *arguments = command.split()
    if name == "rag":
        *arguments, folder = arguments
        arguments.append(str(ROOT / folder))
    outcome = await program.run(name, *arguments)
    assert outcome.status == 0, outcome.errors
