"""Timelines of messages to replicas: what became of each in the replicas and at its person.

Replicas write what they do with each request (log level DEBUG) into a file in their folder, one for
all processes of a number. Times are those of one machine.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE = "requests.log"
_REQUEST = "request "
_RECEIVED = ("received", "held", "claimed", "taken")
"""Beginnings of what a replica says of a request that it has."""
_ACCEPTED = "answer arrived at the server"


@dataclass(frozen=True, slots=True, order=True)
class Event:
    at: float
    """Unix time."""
    place: str
    """Name of a replica; empty: the person's client."""
    what: str


def note_requests(folder: Path) -> None:
    """Write what this process does with requests into a file in this folder."""
    handler = logging.FileHandler(folder / FILE)
    handler.setFormatter(logging.Formatter("%(created).3f %(message)s"))
    for name in ("messaging", "xmpp.features.replica_routing"):
        source = logging.getLogger(f"spade_llm.{name}")
        source.addHandler(handler)
        source.setLevel(logging.DEBUG)


class Timelines:
    """Events of all requests, by id."""

    def __init__(self, folder: Path, told: Iterable[tuple[str, float, str]]) -> None:
        """`folder`: of the replicas' folders. `told`: id, Unix time and event of the clients."""
        self._events: defaultdict[str, list[Event]] = defaultdict(list)
        for id, at, what in told:
            self._events[id].append(Event(at, "", what))
        for path in sorted(folder.glob(f"*/{FILE}")):
            self._read(path)

    def _read(self, path: Path) -> None:
        for line in path.read_text("utf-8", "replace").splitlines():
            at, _, said = line.partition(" ")
            id, _, what = said.removeprefix(_REQUEST).partition(": ")
            if said.startswith(_REQUEST):
                self._events[id].append(Event(float(at), path.parent.name, what))

    def is_lost_by_server(self, id: str) -> bool:
        """True if the server had the message, and no replica received it; or if it had the answer.
        The client did not get it."""
        said = [(one.place, one.what) for one in self._events[id]]
        had_message = ("", "acknowledged") in said
        was_received = any(place and what.startswith(_RECEIVED) for place, what in said)
        return any(what == _ACCEPTED for _, what in said) or (had_message and not was_received)

    def told(self, id: str) -> list[str]:
        """Lines, with the seconds since the first event."""
        events = sorted(self._events[id])
        return [
            f"  {one.at - events[0].at:7.3f} {one.place or 'person':8} {one.what}" for one in events
        ]
