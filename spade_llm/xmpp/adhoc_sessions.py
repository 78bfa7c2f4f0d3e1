"""Commands of menus that wait to be filled in: bounded, expiring, each its visitor's alone."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.acl import bare

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.xmpp.menu import Asked

MAX_SESSIONS = 1000
"""The oldest goes first."""
MAX_OF_PEER = 8
"""Of one bare JID: its own oldest goes, and nobody else's."""
EXPIRY_S = 600.0
"""As long as a person may take for one form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    jid: str
    """Full: another of the same account has not seen the form."""
    node: str
    step: Asked
    until_s: float


class Sessions:
    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_id: OrderedDict[str, Session] = OrderedDict()

    def open(self, jid: str, node: str, step: Asked) -> str:
        """Its id, which nobody can guess."""
        self._expire()
        mine = [id for id, one in self._by_id.items() if bare(one.jid) == bare(jid)]
        for id in mine[: max(len(mine) + 1 - MAX_OF_PEER, 0)]:
            del self._by_id[id]
        while len(self._by_id) >= MAX_SESSIONS:
            self._by_id.popitem(last=False)
        id = secrets.token_urlsafe(16)
        until_s = self._clock() + EXPIRY_S
        self._by_id[id] = Session(jid=jid, node=node, step=step, until_s=until_s)
        return id

    def take(self, id: str, jid: str, node: str) -> Session | None:
        """Ends it: each form is filled in once. None: there is none of this visitor's."""
        self._expire()
        session = self._by_id.get(id)
        if session is None or (session.jid, session.node) != (jid, node):
            return None
        return self._by_id.pop(id)

    def __len__(self) -> int:
        return len(self._by_id)

    def _expire(self) -> None:
        """All live equally long: the oldest stand first."""
        now_s = self._clock()
        while self._by_id and next(iter(self._by_id.values())).until_s <= now_s:
            self._by_id.popitem(last=False)
