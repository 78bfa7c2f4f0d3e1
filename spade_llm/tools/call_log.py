"""Call log of tools: JSON Lines files with rotation and expiry; secrets are redacted.

Each step is one line, written at once, so that it survives a kill −9 (a power cut may lose the
last ones). Lines are written in the thread of the event loop: one takes 10 µs.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, Self

from pydantic import TypeAdapter, ValidationError

from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.core.redaction import redact, redact_text
from spade_llm.tools.toolbox import CallContext, valid_unicode

_log = logging.getLogger(__name__)

MAX_ARGUMENTS_CHARS = 2000
"""Maximum length of the arguments of one call, as JSON."""
MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_FILES = 16
"""Maximum number of files (64 MB in all); the oldest are removed."""
ROTATE_AFTER_S = 24 * 3600.0
"""Maximum age of the current file, so that files can be removed by age."""
EXPIRE_AFTER_S = 30 * 24 * 3600.0
_BEGUN_LINE = b'{"event":"begun",'
_ENDED_LINE = b'{"event":"ended",'

CURRENT = "calls.jsonl"
_OLD = "calls-*.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """Written before a tool is run."""

    id: str = field(default_factory=lambda: secrets.token_hex(6))
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    caller: str
    """Bare JID, stamped by the server."""
    on_behalf_of: str = ""
    """Bare JID as stated by the caller, not verified."""
    approved_by: str = ""
    """Bare JID as stated by the caller, not verified."""
    tool: str
    arguments: str
    """JSON, redacted and truncated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    id: str
    outcome: str
    """`done`, `error` (reported by the tool), `refused: CODE`, `cancelled` or `failed`."""
    duration_ms: float
    result_chars: int = 0


class CallLog(Protocol):
    def begun(self, call: CallStarted) -> None:
        """Raises StorageFailed: then the call must not be made."""

    def ended(self, call: CallEnded) -> None:
        """Never raises: the tool has run."""


class LoggerCallLog:
    """Call log that writes to the Python logger, for agents without storage."""

    def begun(self, call: CallStarted) -> None:
        _log.info("call %s: %s by %s with %s", call.id, call.tool, call.caller, call.arguments)

    def ended(self, call: CallEnded) -> None:
        _log.info("call %s: %s after %.1f ms", call.id, call.outcome, call.duration_ms)


def new_call_record(
    caller: str, tool: str, arguments: Mapping[str, object], context: CallContext
) -> CallStarted:
    """Create the record of a call that is about to be made."""
    shown = json.dumps(redact(arguments), ensure_ascii=False)
    is_long = len(shown) > MAX_ARGUMENTS_CHARS
    return CallStarted(
        caller=caller,
        on_behalf_of=valid_unicode(redact_text(context.on_behalf_of)),
        approved_by=valid_unicode(redact_text(context.approved_by)),
        tool=valid_unicode(redact_text(tool)),
        arguments=valid_unicode(shown[:MAX_ARGUMENTS_CHARS] + "…" * is_long),
    )


class JsonLinesCallLog:
    """Call log in JSON Lines files. Open it with `async with`."""

    def __init__(
        self,
        folder: Path,
        *,
        max_file_bytes: int = MAX_FILE_BYTES,
        max_files: int = MAX_FILES,
        keep_s: float = EXPIRE_AFTER_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._max_file_bytes = max_file_bytes
        self._max_files = max_files
        self._keep_s = keep_s
        self._clock = clock
        self._is_open = False
        self._file = -1
        self._size = 0
        self._closes_at = 0.0
        self._last_line_incomplete = False
        """True if the last line was truncated by a kill or a full disk; a line break follows it."""

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the folder cannot be written."""
        self._is_open = True
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            raise ConfigurationError(
                f"the call log in {str(self._folder)!r} cannot be written: {error.strerror}"
            ) from error
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_open = False
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def begun(self, call: CallStarted) -> None:
        try:
            self._write(_BEGUN_LINE + _BEGUN.dump_json(call)[1:])
        except OSError as error:
            raise StorageFailed("the call log cannot be written; the tool was not run") from error

    def ended(self, call: CallEnded) -> None:
        try:
            self._write(_ENDED_LINE + _ENDED.dump_json(call)[1:])
        except OSError as error:
            _log.warning("the end of call %s could not be logged: %s", call.id, error.strerror)

    def _write(self, record: bytes) -> None:
        if not self._is_open:
            raise OSError(errno.EBADF, "it is closed")
        if self._file < 0:
            self._open()
        elif self._size >= self._max_file_bytes or self._clock() >= self._closes_at:
            self._rotate()
        line = b"\n" * self._last_line_incomplete + record + b"\n"
        written = os.write(self._file, line)
        self._last_line_incomplete = written < len(line)
        self._size += written

    def _open(self) -> None:
        path = self._folder / CURRENT
        # Readable by this user only: it holds callers and arguments.
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._size = os.fstat(self._file).st_size
        self._last_line_incomplete = self._size > 0 and not path.read_bytes().endswith(b"\n")
        self._closes_at = _start_of_file(path, self._clock()) + ROTATE_AFTER_S
        self._remove_old()

    def _rotate(self) -> None:
        os.close(self._file)
        self._file = -1
        stamp = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y%m%dT%H%M%S.%f")
        with suppress(FileNotFoundError):  # It was removed from outside.
            (self._folder / CURRENT).rename(self._folder / f"calls-{stamp}.jsonl")
        self._open()

    def _remove_old(self) -> None:
        old = sorted(self._folder.glob(_OLD))
        oldest = self._clock() - self._keep_s
        # One more, because the current file counts as well.
        surplus = max(len(old) - self._max_files + 1, 0)
        for number, path in enumerate(old):
            if number < surplus or path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCall:
    begun: CallStarted
    ended: CallEnded | None
    """End of the call. None: it is still running, or the process died during it."""


def read_calls(
    folder: Path, *, last: int, wanted: Callable[[CallStarted], bool] = lambda _: True
) -> Sequence[LoggedCall]:
    """Read the latest calls, in order of time. Unreadable lines are skipped."""
    found: list[CallStarted] = []
    ended: dict[str, CallEnded] = {}
    # Newest first: the names are times that sort as text. A call may have begun in an older file
    # than the one in which it ended.
    for path in [folder / CURRENT, *sorted(folder.glob(_OLD), reverse=True)]:
        in_file = list(_records(path))
        ended |= {record.id: record for record in in_file if isinstance(record, CallEnded)}
        begun = [one for one in in_file if isinstance(one, CallStarted) and wanted(one)]
        found = [*begun, *found][-last:]
        if len(found) == last:
            break
    return [LoggedCall(begun=one, ended=ended.get(one.id)) for one in found]


_BEGUN = TypeAdapter(CallStarted)
_ENDED = TypeAdapter(CallEnded)


def _records(path: Path) -> Iterator[CallStarted | CallEnded]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:  # It was rotated, or there is none yet.
        return
    for line in lines:
        kind = _ENDED if line.startswith(_ENDED_LINE) else _BEGUN
        try:
            yield kind.validate_json(line)
        except ValidationError:
            _log.debug("skipping an unreadable line of %s", path)


def _start_of_file(path: Path, now: float) -> float:
    with path.open("rb") as file:
        first = file.readline()
    try:
        return _BEGUN.validate_json(first).at.timestamp()
    except ValidationError:
        return now
