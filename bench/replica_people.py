"""People that write to replicas and count the answers, with acknowledgements (XEP-0198).

After a kill of its server, a client logs in at another node and sends again what was not
acknowledged. Like any client, it shows what the server had stored at the time of its arrival there.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from bench.lean_client import LeanClient
from spade_llm.xmpp.connection.settings import tls_context
from spade_llm.xmpp.stanzas.namespaces import DELAY

if TYPE_CHECKING:
    from collections.abc import Iterable
    from xml.etree.ElementTree import Element

    from bench.account import Account

PACE_S = 1.0
"""Interval between two pairs of messages of one person."""
PATIENCE_S = 20.0
LOGIN_S = 10.0
RETRY_S = 0.2
RECONNECT_S = 30.0
_MANAGEMENT = "urn:xmpp:sm:3"
_STANZA = "{jabber:client}"

Period = tuple[float, float]
"""Beginning and end, by time.monotonic."""


class Session(LeanClient):
    """One connection of a person."""

    def __init__(self, account: Account, person: Person) -> None:
        tls = tls_context(account.ca_path)
        # With the same resource the repetition of a message is one for the agent, too.
        super().__init__(account.jid, account.password, tls, resource="phone")
        self._person = person
        self._stanzas: deque[bool] = deque()
        """Those that are not acknowledged; true for messages."""
        self._acknowledged = self._received = 0
        self._acts[f"{{{_MANAGEMENT}}}a"] = self._note_acknowledged
        self._acts[f"{{{_MANAGEMENT}}}r"] = self._acknowledge

    async def log_in(self, host: str, port: int) -> None:
        async with asyncio.timeout(LOGIN_S):
            await super().log_in(host, port)
        self._write(f"<enable xmlns='{_MANAGEMENT}'/>")
        self._stanzas.clear()  # The server counts what follows, and we what follows `enabled`.

    def say(self, to: str, text: str, *, id: str) -> None:
        super().say(to, text, id=id)
        self._write(f"<r xmlns='{_MANAGEMENT}'/>")

    def close(self) -> None:
        # What is not acknowledged, the server gives to the next session of this account.
        self._acknowledge()
        super().close()

    def _write(self, text: str) -> None:
        super()._write(text)
        if text.startswith(("<message", "<iq", "<presence")):
            self._stanzas.append(text.startswith("<message"))

    def _act(self, element: Element) -> None:
        super()._act(element)
        is_first = element.tag == f"{{{_MANAGEMENT}}}enabled"
        self._received = 0 if is_first else self._received + element.tag.startswith(_STANZA)

    def _acknowledge(self, _: Element | None = None) -> None:
        self._write(f"<a xmlns='{_MANAGEMENT}' h='{self._received}'/>")

    def _note_acknowledged(self, acknowledgement: Element) -> None:
        count = int(acknowledgement.get("h", "0"))
        new = [self._stanzas.popleft() for _ in range(count - self._acknowledged)]
        self._acknowledged = count
        self._person.acknowledged(new.count(True))

    def _told(self, message: Element) -> None:
        self._person.told(message)


class Person:
    """One person, and what came of the messages."""

    def __init__(self, account: Account) -> None:
        self.name = account.jid.partition("@")[0]
        self.answers: Counter[str] = Counter()
        self.repeated: list[int] = []
        """Messages whose answer came again under its id, by which a client knows it."""
        self.events: list[tuple[str, float, str]] = []
        """Id of a message, Unix time, and what happened."""
        self.errors = 0
        self.failures: set[int] = set()
        """Messages that were answered with the reason of a failure."""
        self.ids: dict[int, str] = {}
        self.sent: dict[int, float] = {}
        self.took_s: dict[int, float] = {}
        self._account = account
        self._shown: list[tuple[float, int]] = []
        """Times and numbers of answered messages."""
        self._answer_ids: set[str] = set()
        self._came = asyncio.Event()
        self._unacknowledged: deque[tuple[str, str, str]] = deque()
        """Recipient, text and id of each."""
        self._session: Session | None = None
        self._reconnecting: asyncio.Task[None] | None = None
        self._has_ended = False

    async def log_in(self) -> None:
        """Raises OSError, TimeoutError: no node of the server answers in time."""
        async with asyncio.timeout(RECONNECT_S):
            while True:
                for port in (self._account.port, *self._account.other_ports):
                    session = Session(self._account, self)
                    with suppress(OSError):
                        await session.log_in("127.0.0.1", port)
                        session.failed = self._reconnect
                        self._session = session
                        for to, text, id in self._unacknowledged:
                            session.say(to, text, id=id)
                            self._note(id, f"sent again, to port {port}")
                        return
                await asyncio.sleep(RETRY_S)

    def _reconnect(self, _: Exception) -> None:
        self._session = None
        if not self._has_ended:
            self._reconnecting = asyncio.create_task(self.log_in())

    async def log_out(self) -> None:
        self._has_ended = True
        if self._reconnecting is not None:
            await self._reconnecting
        if self._session is not None:
            self._session.close()

    async def talk(self, to: str, is_over: asyncio.Event) -> None:
        while not is_over.is_set():
            began = time.monotonic()
            pair = (len(self.sent), len(self.sent) + 1)
            for number in pair:
                self.sent[number] = time.monotonic()
                self.ids[number] = f"{self.name}.{number}.{began:.3f}"
                self.say(to, number)
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    while not all(one in self.took_s for one in pair):
                        self._came.clear()
                        await self._came.wait()
            await asyncio.sleep(max(0.0, PACE_S - (time.monotonic() - began)))

    def say(self, to: str, number: int) -> None:
        """Send a message, also once more, under its id."""
        words = (to, f"{self.name} {number}", self.ids[number])
        self._unacknowledged.append(words)
        if self._session is not None:
            self._session.say(*words[:2], id=words[2])
        self._note(words[2], "sent" if self._session is not None else "waits for a connection")

    def acknowledged(self, count: int) -> None:
        for _ in range(count):
            self._note(self._unacknowledged.popleft()[2], "acknowledged")

    def told(self, message: Element) -> None:
        if message.get("type") == "error":
            self.errors += 1
            return
        text = message.findtext(f"{_STANZA}body")
        if text is None:
            return
        words = text.partition("\n")[0].removeprefix("You said: ")
        if not words.startswith(f"{self.name} "):
            failed = message.get("id", "").removeprefix(f"{self.name}.").partition(".")[0]
            self.failures.add(int(failed))
            return
        id = message.get("id", "")
        number = int(words.rpartition(" ")[2])
        if id in self._answer_ids:
            self.repeated.append(number)
            self._note(self.ids[number], "received the answer again")
            return
        self._answer_ids.add(id)
        self.answers[words] += 1
        if number not in self.took_s:
            stored = message.find(f"{{{DELAY}}}delay")
            stamp = stored.get("stamp", "") if stored is not None else ""
            at = datetime.fromisoformat(stamp).timestamp() if stamp else time.time()
            self._shown.append((at, number))
            self.took_s[number] = time.monotonic() - self.sent[number]
            self._note(self.ids[number], f"received the answer {stamp and 'of ' + stamp}")
        self._came.set()

    @property
    def lost(self) -> list[int]:
        return [one for one in self.sent if one not in self.took_s and one not in self.failures]

    @property
    def doubled(self) -> int:
        return sum(count - 1 for count in self.answers.values())

    @property
    def disordered(self) -> list[int]:
        """Messages that were answered behind a later one."""
        order = [number for _, number in sorted(self._shown, key=lambda shown: shown[0])]
        return [other for one, other in zip(order, order[1:], strict=False) if one > other]

    def _note(self, id: str, what: str) -> None:
        self.events.append((id, time.time(), what))

    def overlaps(self, number: int, periods: Iterable[Period]) -> bool:
        """True if a message was sent, or waited for its answer, in one of these periods."""
        since = self.sent[number]
        until = since + self.took_s.get(number, PATIENCE_S)
        return any(since < end and until > begin for begin, end in periods)
