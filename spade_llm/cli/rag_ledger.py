"""What `spade-llm rag add` says of each file and of all of them, and how it ends. Sends nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spade_llm.cli.plain import one_line
from spade_llm.rag.loading.kinds import kind_of
from spade_llm.text.counted import counted

if TYPE_CHECKING:
    from spade_llm.rag.documents import Ingested
    from spade_llm.services.rag_ingest import IngestReport


class Ledger:
    """A line for each file in a script's log; on a terminal, where a bar shows how far it is, for
    those that were left out alone."""

    def __init__(self) -> None:
        self._total = self._added = self._unchanged = self._left_out = self._chunks = 0
        self._failures = 0

    def note(self, done: Ingested) -> None:
        self._total += 1
        self._left_out += bool(done.left_out)
        self._unchanged += done.was_unchanged
        self._added += not (done.left_out or done.was_unchanged)
        self._chunks += done.chunks
        self._say(done)

    def note_all(self, report: IngestReport) -> None:
        self._total += report.total
        self._left_out += report.left_out
        self._unchanged += report.unchanged
        self._added += report.added
        self._chunks += report.chunks
        for done in report.documents:
            self._say(done)
        if len(report.documents) < report.total and not sys.stderr.isatty():
            print(f"…           and {report.total - len(report.documents)} more")

    def fail(self, source: str, reason: str) -> None:
        """What should have been added and was not, whatever its kind."""
        self._total += 1
        self._left_out += 1
        self._failures += 1
        print(f"left out    {one_line(f'{source}: {reason}')}", file=sys.stderr)

    def close(self) -> int:
        """Say the sum; the exit code: 1 if something that is a document was left out."""
        print(
            f"documents   {self._total}: {self._added} added, {self._unchanged} unchanged,"
            f" {self._left_out} left out; {counted(self._chunks, 'passage')}"
        )
        return 1 if self._failures else 0

    def _say(self, done: Ingested) -> None:
        if done.left_out:
            self._failures += kind_of(done.source) is not None
            print(f"left out    {one_line(f'{done.source}: {done.left_out}')}", file=sys.stderr)
        elif not sys.stderr.isatty():
            state = "unchanged" if done.was_unchanged else counted(done.chunks, "passage")
            print(f"added       {one_line(done.source)}: {state}")
