"""One evening with two assistants on Prosody, every agent in a process of its own.

A person writes from a telephone and, at the end, another from a terminal.
"""

from __future__ import annotations

import json
import re
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spade_llm.xmpp.servers.managed_server import Endpoint
from tests.cli.program import Program, modest_agents
from tests.integration.room_guest import Guest
from tests.openai_server import running_server
from tests.session.chat_client import Phone
from tests.session.model import SessionModel
from tests.session.terminal import Terminal
from tests.session.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ASSISTANT, GUIDE = "assistant@localhost", "guide@localhost"
KITCHEN = "kitchen@conference.localhost"
TERMS = Path(__file__).parent / "rental-terms.md"
HOPS = ("Assistant", "Guide", "Assistant", "Guide")
"""Who speaks before a chain of programs ends (docs/design/rooms.md)."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """`spade-llm up --processes`, and who may log in there."""

    program: Program
    model: SessionModel
    endpoint: Endpoint
    transcript: Transcript

    async def phone(self) -> Phone:
        password = (self.program.data / "accounts" / "you@localhost").read_text().strip()
        return await Phone("you@localhost", password, self.endpoint).begin()

    async def terminal(self, home: Path) -> Terminal:
        outcome = await self.program.run("account", "ada@localhost")
        assert outcome.status == 0, outcome.errors
        password = (self.program.data / "accounts" / "ada@localhost").read_text().strip()
        return await Terminal(home).begin("ada@localhost", password, self.endpoint)


@asynccontextmanager
async def stage(folder: Path) -> AsyncIterator[Stage]:
    async with running_server(SessionModel()) as model:
        assert isinstance(model, SessionModel)
        agents = _agents(folder / "agents", model.base_url)
        program = Program(data=folder / "data", agents=agents, has_prosody=True)
        async with program.up("--processes") as up:
            await up.ready()
            yield Stage(
                program=program,
                model=model,
                endpoint=_endpoint(program.data),
                transcript=Transcript(),
            )


async def play_phone(stage: Stage) -> None:
    phone = await stage.phone()
    try:
        await Evening(stage, phone).play()
    finally:
        await phone.close()


class Evening:
    def __init__(self, stage: Stage, phone: Phone) -> None:
        self._stage = stage
        self._phone = phone
        self._transcript = stage.transcript

    async def play(self) -> None:
        await self._meet()
        await self._talk()
        await self._share_a_file()
        await self._look_into_memory()
        await self._in_a_room()

    async def _meet(self) -> None:
        self._transcript.scene("A contact")
        status = await self._phone.add_contact(ASSISTANT)
        name = await self._phone.card_name(ASSISTANT)
        self._transcript.sees("phone", f"adds {ASSISTANT}: {name!r}, online, {status!r}")

    async def _talk(self) -> None:
        self._transcript.scene("A chat, and an answer that grows")
        await self._exchange("I drink jasmine tea without sugar")
        self._say("Make a plan for the weekend")
        first = await self._phone.sees_grow()
        self._transcript.says("assistant", f"{first['body']}\n(it is still growing)")
        self._stage.model.go_on.set()
        whole = await self._phone.grown(str(first["id"]))
        self._transcript.says("assistant", f"{whole}\n(in the same bubble)")
        asked = await self._exchange("And what do I drunk with it?")
        await self._exchange("And what do I drink with it?", corrects=asked)

    async def _share_a_file(self) -> None:
        self._transcript.scene("A file, and a question about it")
        await self._phone.shares(ASSISTANT, TERMS)
        self._transcript.sees("phone", f"uploads {TERMS.name}")
        await self._answer(but=f"I am reading {TERMS.name} …")
        self._say("How high is the deposit?")
        answer = await self._answer()
        self._phone.reacts(ASSISTANT, str(answer["id"]), "👍")
        self._transcript.sees("phone", "puts 👍 on the answer")
        await self._exchange("/why")

    async def _look_into_memory(self) -> None:
        self._transcript.scene("What it remembers, and what it is told to forget")
        self._say("/memories tea")
        listed = str((await self._answer())["body"])
        number = re.search(r"^(\d+)\. ", listed, re.MULTILINE)
        assert number is not None
        await self._exchange(f"/forget {number[1]}")
        await self._exchange("/memories tea")

    async def _in_a_room(self) -> None:
        self._transcript.scene("A room with two assistants")
        guest = await Guest(self._phone, KITCHEN, "you").enter()
        for agent in (ASSISTANT, GUIDE):
            self._phone.send_raw(
                f"<message to='{agent}'><x xmlns='jabber:x:conference' jid='{KITCHEN}'/></message>"
            )
            await guest.sees(agent.partition("@")[0].capitalize())
        self._transcript.sees("phone", f"invites both into {KITCHEN}; they come")
        await self._room_exchange(guest, "assistant: Please greet guide", *HOPS)
        await self._room_exchange(guest, "assistant: And what do I drink with it?", "Assistant")
        self._transcript.sees("phone", "what was said in private is not known in a room")

    async def _room_exchange(self, guest: Guest, text: str, *speakers: str) -> None:
        guest.say(text)
        self._transcript.says("you", text)
        for nick in speakers:
            self._transcript.says(nick, await guest.hears(nick))

    async def _exchange(self, text: str, *, corrects: str = "") -> str:
        """Say it, note the answer; return the id of what was said."""
        said = self._say(text, corrects=corrects)
        await self._answer()
        return said

    def _say(self, text: str, *, corrects: str = "") -> str:
        note = "\n(corrects what was said last)" if corrects else ""
        self._transcript.says("you", text + note)
        return self._phone.says(ASSISTANT, text, corrects=corrects)

    async def _answer(self, *, but: str = "") -> Any:
        """`but`: what is said before, where it takes long."""
        answer = await self._phone.hears()
        while but and answer["body"] == but:
            answer = await self._phone.hears()
        self._transcript.says("assistant", str(answer["body"]))
        return answer


async def play_terminal(stage: Stage, home: Path) -> None:
    """The same, in profanity: a contact, a chat, help."""
    terminal = await stage.terminal(home)
    try:
        terminal.types(f"/sub request {ASSISTANT}")
        await terminal.shows("is online")
        terminal.types(f"/msg {ASSISTANT} Hello")
        await terminal.shows("Hello! How are you?")
        terminal.types("Make a plan for the weekend")
        stage.transcript.scene("The same from a terminal (profanity)")
        stage.transcript.screen(await terminal.shows("happy about it"))
        # profanity answers /help itself, and sends //help as it should be.
        terminal.types("help")
        await terminal.shows("also work alone, without the slash")
        terminal.types("//usage")
        await terminal.shows("me: /usage")
        await terminal.shows("Your usage")
    finally:
        terminal.close()


def _agents(folder: Path, base_url: str) -> Path:
    """The standard ones with the session's model, and one assistant more."""
    modest_agents(folder)
    path = folder / "assistant" / "agent.toml"
    provider = f'kind = "openai_compatible"\nmodel = "session"\nbase_url = "{base_url}"'
    text = path.read_text(encoding="utf-8").replace('kind = "offline"', provider)
    path.write_text(text, encoding="utf-8")
    shutil.copytree(folder / "assistant", folder / "guide")
    guide = text.replace('jid = "assistant"', 'jid = "guide"')
    (folder / "guide" / "agent.toml").write_text(guide, encoding="utf-8")
    return folder


def _endpoint(data: Path) -> Endpoint:
    run = json.loads((data / "run.json").read_text(encoding="utf-8"))
    ca_path = data / "prosody" / "certificates" / "ca.pem"
    return Endpoint(host=run["host"], port=run["port"], domain="localhost", ca_path=ca_path)
