"""Stream management (XEP-0198): stanza counters, acknowledgements, resumption.

The plugin of slixmpp 1.12 is not used. It counts stanza objects only, while this package writes
stanzas as text; it acknowledges stanzas that are not processed yet; and it starts after the first
presence, which triggers delivery of the stored messages (tests/xmpp/test_stream_management.py).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from spade_llm.core.concurrency import async_no_op

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NAMESPACE = "urn:xmpp:sm:3"
MAX_UNACKED = 4096
MAX_UNACKED_CHARS = 32 * 1024 * 1024
"""Maximum characters of unacknowledged stanzas; with more, a dropped stream is not resumed."""
ASK_EVERY = 64
"""Number of sent stanzas between two acknowledgement requests, unless one is wanted sooner."""
ACK_WITHIN_S = 1.0
"""Maximum delay in seconds of an acknowledgement to the server; immediate if the server asks."""
RESUME_WITHIN_S = 60
"""Requested resumption time in seconds; Prosody 0.12 uses its own configuration instead."""

_MODULO = 2**32
_STANZAS = frozenset(f"{{jabber:client}}{name}" for name in ("message", "presence", "iq"))
_WRITTEN = ("<message", "<presence", "<iq")

Receipt = asyncio.Future[bool]
"""Delivery confirmation. True: the server has received all that was sent before; False: unknown for
ever."""


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """Position in an incoming stream: the number of stanzas received so far."""

    stream: int
    handled: int


class StreamManagement:
    """Stream management of a client, over all its connections. `write` puts text onto the current
    connection. `on_due` is called when an acknowledgement to the server is due, with the seconds
    until then."""

    def __init__(self, write: Callable[[str], None], on_due: Callable[[float], None]) -> None:
        self._write = write
        self._on_due = on_due
        self.is_offered = False
        """True if the server offers stream management on the current connection."""
        self.is_on = False
        """True while outgoing stanzas are counted."""
        self.is_frozen = False
        """True: incoming stanzas are not acknowledged; the server keeps them for our next session.
        """
        self._is_counting_in = False
        self._id = ""
        self._stream = 0
        self._handled = 0
        self._acknowledged_in = 0
        self._sent = 0
        self._asked_for = 0
        """Number of sent stanzas at the last acknowledgement request to the server."""
        self._is_ack_requested = False
        self._acked = 0
        self._unacked: deque[str] = deque()
        self._unacked_chars = 0
        self._has_overflown = False
        self._receipts: deque[tuple[int, Receipt]] = deque()
        """Pending receipts with the number of their last stanza, ascending; one for each answer to
        a person that is on its way (Dispatcher)."""
        self._decided: asyncio.Future[bool] | None = None
        self._handlers = {
            f"{{{NAMESPACE}}}a": self._arrived,
            f"{{{NAMESPACE}}}r": self._asked,
            f"{{{NAMESPACE}}}enabled": self._enabled,
            f"{{{NAMESPACE}}}resumed": self._resumed,
            f"{{{NAMESPACE}}}failed": self._failed,
        }

    @property
    def may_resume(self) -> bool:
        return bool(self._id) and not self._has_overflown

    def enable(self, *, to_resume: bool = True) -> None:
        """Request a new managed stream; both sides count stanzas from here on."""
        self.give_up()
        wish = f" resume='true' max='{RESUME_WITHIN_S}'" if to_resume else ""
        self._write(f"<enable xmlns='{NAMESPACE}'{wish}/>")
        # What we send counts from here on, not from the server's answer (XEP-0198 §4).
        self.is_on = True

    async def resume(self) -> bool:
        """Request resumption of the dropped stream; True if the server still had it."""
        self._decided = asyncio.get_running_loop().create_future()
        known = f"previd={quoteattr(self._id)} h='{self._handled}'"
        # The `h` of `<resume/>` acknowledges, too: a later `<a/>` must not go back behind it.
        self._acknowledged_in = self._handled
        self._write(f"<resume xmlns='{NAMESPACE}' {known}/>")
        try:
            return await self._decided
        finally:
            self._decided = None

    def drop(self) -> None:
        """Note that the connection was lost."""
        self.is_on = self._is_counting_in = self.is_offered = False
        self._decide(is_resumed=False)
        if not self.may_resume:
            self.give_up()

    def give_up(self) -> None:
        """Discard the stream and unacknowledged stanzas; pending receipts become False."""
        self._id = ""
        # A mark of the old stream must not acknowledge in the new one, whose counters begin at
        # zero.
        self._stream += 1
        self.is_on = self._is_counting_in = self._has_overflown = False
        self._handled = self._acknowledged_in = self._sent = self._acked = self._unacked_chars = 0
        self._asked_for, self._is_ack_requested = 0, False
        self._unacked.clear()
        while self._receipts:
            _set(self._receipts.popleft()[1], has_arrived=False)

    def note_sent(self, text: str) -> None:
        """Count a sent stanza and keep it until it is acknowledged."""
        if not self.is_on or not text.startswith(_WRITTEN):
            return
        self._sent += 1
        if not self._has_overflown:
            self._store_unacked(text)
        if self._sent % ASK_EVERY == 0:
            self.ask()

    def handles(self, xml: Element) -> bool:
        """Check whether this is an element of XEP-0198."""
        return xml.tag in self._handlers

    def note_received(self, xml: Element) -> None:
        """Count a received stanza, or process an element of XEP-0198."""
        if xml.tag in _STANZAS:
            if self._is_counting_in and not self.is_frozen:
                self._handled = (self._handled + 1) % _MODULO
                self._on_due(ACK_WITHIN_S)
        elif act := self._handlers.get(xml.tag):
            act(xml)

    def receipt(self) -> Receipt:
        """Receipt for all that was sent until now; `ask` requests the acknowledgement."""
        receipt: Receipt = asyncio.get_running_loop().create_future()
        if self._sent == self._acked:
            receipt.set_result(True)
        else:
            self._receipts.append((self._sent, receipt))
        return receipt

    def request_ack(self) -> Receipt:
        """Request an acknowledgement in any case, to check that the server is alive."""
        word: Receipt = asyncio.get_running_loop().create_future()
        self._receipts.append((self._sent, word))
        self.ask()
        return word

    def request_ack_at_flush(self) -> None:
        """Request an acknowledgement behind what is written in this turn of the event loop."""
        self._is_ack_requested = True

    def flush_ack_request(self) -> None:
        """Send the requested `<r/>`, once for all callers of this turn."""
        # Not again if the server was asked after the last stanza.
        if self._is_ack_requested and self._sent != self._asked_for:
            self.ask()
        self._is_ack_requested = False

    def ask(self) -> None:
        """Send an acknowledgement request (`<r/>`) now."""
        if self.is_on:
            self._asked_for = self._sent
            self._write(f"<r xmlns='{NAMESPACE}'/>")

    def mark(self) -> StreamPosition:
        """Return the position up to which stanzas have been received."""
        return StreamPosition(self._stream, self._handled)

    def acknowledge(self, mark: StreamPosition) -> None:
        """Acknowledge all stanzas received up to this position."""
        if self._is_counting_in and mark.stream == self._stream:
            # An older acknowledgement may finish later; a server ends a stream whose `h` decreases.
            is_ahead = (mark.handled - self._acknowledged_in) % _MODULO < _MODULO // 2
            self._acknowledged_in = mark.handled if is_ahead else self._acknowledged_in
            self._write(f"<a xmlns='{NAMESPACE}' h='{self._acknowledged_in}'/>")

    def _store_unacked(self, text: str) -> None:
        self._unacked.append(text)
        self._unacked_chars += len(text)
        if len(self._unacked) > MAX_UNACKED or self._unacked_chars > MAX_UNACKED_CHARS:
            # A stream with a gap cannot be resumed without loss, so its copies are of no use.
            self._has_overflown = True
            self._unacked.clear()

    def _asked(self, _xml: Element) -> None:
        self._on_due(0.0)

    def _enabled(self, xml: Element) -> None:
        self._is_counting_in = True
        if xml.get("resume") in ("true", "1"):
            self._id = xml.get("id", "")

    def _resumed(self, xml: Element) -> None:
        # First, to drop what has arrived before the rest is sent again.
        self._arrived(xml)
        self.is_on = self._is_counting_in = True
        # Past `note_sent`: these were counted when they were first sent.
        for text in self._unacked:
            self._write(text)
        self.ask()
        self._decide(is_resumed=True)

    def _failed(self, xml: Element) -> None:
        """Process a failed resumption: the server may still state how many stanzas arrived."""
        self._arrived(xml)
        self.give_up()
        self._decide(is_resumed=False)

    def _decide(self, *, is_resumed: bool) -> None:
        if self._decided is not None:
            _set(self._decided, has_arrived=is_resumed)

    def _arrived(self, xml: Element) -> None:
        """Process the server's acknowledgement."""
        said = xml.get("h", "")
        # Bounded before `int`, which raises ValueError above 4300 digits.
        if not said.isdecimal() or len(said) > len(str(_MODULO)):
            return
        # `h` counts modulo 2³² (XEP-0198 §4).
        new = (int(said) - self._acked) % _MODULO
        # A server that counts more than was sent is not believed.
        if new > self._sent - self._acked:
            return
        self._acked += new
        for _ in range(min(new, len(self._unacked))):
            self._unacked_chars -= len(self._unacked.popleft())
        while self._receipts and self._receipts[0][0] <= self._acked:
            _set(self._receipts.popleft()[1], has_arrived=True)
        if self._sent == self._acked:
            self._has_overflown, self._unacked_chars = False, 0


def _set(future: asyncio.Future[bool], *, has_arrived: bool) -> None:
    if not future.done():
        future.set_result(has_arrived)


class Acknowledger:
    """Delayed acknowledgement of incoming stanzas. The server forgets what is acknowledged; it
    resends the rest, or stores it for the next session. So a message is written to disk before it
    is acknowledged."""

    def __init__(self) -> None:
        self.until_safe: Callable[[], Awaitable[None]] = async_no_op
        """Returns once what has come until now survives a kill −9, or needs not; must not raise."""
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def due(self, management: StreamManagement, within_s: float) -> None:
        if not within_s:
            self._begin(management)
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(within_s, self._begin, management)

    async def finish(self, management: StreamManagement) -> None:
        """Send the last acknowledgement before the stream is closed; the server stores the rest."""
        await self._acknowledge(management)
        self._stop_timer()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, management: StreamManagement) -> None:
        self._stop_timer()
        task = asyncio.create_task(self._acknowledge(management))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _acknowledge(self, management: StreamManagement) -> None:
        # Before the wait: what comes during it is not yet safe.
        mark = management.mark()
        await self.until_safe()
        management.acknowledge(mark)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
