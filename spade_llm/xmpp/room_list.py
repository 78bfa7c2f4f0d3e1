"""The rooms that an agent was invited to, on disk, so that it is in them again after a restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from spade_llm.small_database import SmallDatabase

if TYPE_CHECKING:
    from pathlib import Path

MAX_ROOMS = 50
"""Of one agent, those of its configuration included."""
MAX_OF_INVITER = 10
"""So that others have places, too."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS rooms (
    jid TEXT PRIMARY KEY,
    password TEXT NOT NULL,
    inviter TEXT NOT NULL
);
"""
_ADD = "INSERT OR REPLACE INTO rooms(jid, password, inviter) VALUES (?, ?, ?)"
_ALL = "SELECT jid, password FROM rooms ORDER BY rowid LIMIT ?"
_COUNT = "SELECT count(*) FROM rooms WHERE inviter = ?"
_REMOVE = "DELETE FROM rooms WHERE jid = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRoom:
    jid: str
    """Bare."""
    nick: str = ""
    """Empty: the agent's usual one."""
    password: str = ""


class RoomList:
    def __init__(self, path: Path | None) -> None:
        """`path=None`: in RAM only. Where there is a file, only its owner may read it: rooms have
        passwords."""
        self._path = path
        self._db = SmallDatabase(path, schema=_SCHEMA, what="the list of rooms")

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._db.close()

    def all(self) -> list[KnownRoom]:
        """Raises StorageFailed, as all of them."""
        rows = self._db.run(_ALL, MAX_ROOMS)
        return [KnownRoom(jid=str(jid), password=str(password)) for jid, password in rows]

    def add(self, room: KnownRoom, *, inviter: str) -> None:
        self._db.run(_ADD, room.jid, room.password, inviter)

    def has_place_for(self, inviter: str) -> bool:
        ((count,),) = self._db.run(_COUNT, inviter)
        return int(str(count)) < MAX_OF_INVITER

    def remove(self, jid: str) -> None:
        self._db.run(_REMOVE, jid)
