"""Which messages stand next to each other in a conversation. Knows no words.

Two messages in a row are neighbours when less than half an hour lies between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.text.grown import Grown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spade_llm.memory.index.row_table import RowTable

GAP_S = 30 * 60.0
NOBODY = -1


class Neighbours:
    def __init__(self, table: RowTable) -> None:
        self._table = table
        self._before: Grown[np.int32] = Grown(np.int32)
        self._after: Grown[np.int32] = Grown(np.int32)
        self._last: dict[int, int] = {}
        """Of each conversation, its newest row."""

    @property
    def size_bytes(self) -> int:
        return self._before.size_bytes + self._after.size_bytes + 100 * len(self._last)

    def add(self, rows: NDArray[np.int32]) -> None:
        """The table's newest rows."""
        nobody = np.full(len(rows), NOBODY, np.int32)
        self._before.append(nobody)
        self._after.append(nobody)
        sessions = self._table.session.rows[rows]
        messages = rows[self._table.is_message[rows]]
        if self._are_newest(messages):
            tails = {self._last.get(session, NOBODY) for session in set(sessions.tolist())}
            tails.discard(NOBODY)
            self._link(np.concatenate([np.array(sorted(tails), np.int32), messages]))
        else:
            self.relink(set(sessions.tolist()))

    def relink(self, sessions: set[int]) -> None:
        """Anew, whatever was inserted or removed."""
        table = self._table
        is_meant = np.zeros(len(table.codes["session"].texts) + 1, np.bool_)
        is_meant[list(sessions)] = True
        rows = np.flatnonzero(is_meant[table.session.rows] & table.is_message)
        self._before.rows[rows] = self._after.rows[rows] = NOBODY
        for session in sessions:
            self._last.pop(session, None)
        self._link(rows[table.is_alive.rows[rows]].astype(np.int32))

    def reach(self) -> dict[int, NDArray[np.int32]]:
        """For -2, -1, 1 and 2 places further: the row there, or NOBODY. One element more than
        there are rows, so that nobody's neighbour is nobody."""
        before = np.append(self._before.rows, np.int32(NOBODY))
        after = np.append(self._after.rows, np.int32(NOBODY))
        return {-2: before[before], -1: before, 1: after, 2: after[after]}

    def _are_newest(self, messages: NDArray[np.int32]) -> bool:
        """Each is newer than what its conversation has (and the rows come in order)."""
        table, last = self._table, self._last
        if not last:
            return True
        keys, sessions = table.key.rows, table.session.rows[messages].tolist()
        pairs = zip(messages.tolist(), sessions, strict=True)
        return all(keys[row] > keys[last[at]] for row, at in pairs if at in last)

    def _link(self, rows: NDArray[np.int32]) -> None:
        """Rows of some conversations, after which these have no others."""
        table = self._table
        sessions = table.session.rows[rows]
        order = np.lexsort((table.key.rows[rows], sessions))
        rows, sessions = rows[order], sessions[order]
        gaps = np.abs(np.diff(table.created_at.rows[rows]))
        pairs = np.flatnonzero((sessions[1:] == sessions[:-1]) & (gaps < GAP_S))
        self._after.rows[rows[pairs]] = rows[pairs + 1]
        self._before.rows[rows[pairs + 1]] = rows[pairs]
        ends = np.append(sessions[1:] != sessions[:-1], np.ones(min(1, len(rows)), np.bool_))
        self._last.update(zip(sessions[ends].tolist(), rows[ends].tolist(), strict=True))
