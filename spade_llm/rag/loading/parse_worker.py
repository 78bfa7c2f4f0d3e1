"""ParseWorker: parses files in an isolated child process, with time and memory limits."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from spade_llm.core.errors import InvalidArguments
from spade_llm.core.imports import require_extra
from spade_llm.rag.loading.parse_process import MAX_HEAD_BYTES, ParseResult, ParseTask, write_frame
from spade_llm.rag.loading.text_files import MAX_TEXT_BYTES, LoadedText

if TYPE_CHECKING:
    from typing import IO

    from spade_llm.rag.loading.text_files import FileKind

PARSE_TIMEOUT_S = 60
"""A page of an ordinary PDF takes 5 to 30 ms."""
PARSE_MEMORY_BYTES = 1_000_000_000
"""Maximum address space of the parser process in bytes (Linux only); idle it takes 150 MB."""
ORPHAN_GRACE_S = 5
MAX_WAIT_S = 600.0
"""Maximum wait in seconds for files that are parsed first."""
END_WAIT_S = 5.0
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    timeout_s: int = PARSE_TIMEOUT_S
    memory_bytes: int = PARSE_MEMORY_BYTES


class ParseWorker:
    """Parser in a child process, which runs from the first file until `close()`."""

    def __init__(self, limits: ParseLimits | None = None) -> None:
        self._limits = limits or ParseLimits()
        self._turn = threading.Lock()
        self._process: _ParserProcess | None = None
        self.started = 0
        """Number of processes started so far."""

    @property
    def pid(self) -> int | None:
        """Process id of the parser; None if no process runs."""
        return self._process.pid if self._process else None

    @property
    def is_busy(self) -> bool:
        return self._turn.locked()

    def parse(self, kind: FileKind, content: bytes) -> LoadedText:
        """Parse one file.

        Raises:
            InvalidArguments: the sentence goes on from the file's name.
            ConfigurationError: the extra `documents` is missing.
        """
        require_extra("documents", "pypdf", "docx", "lxml")
        if not self._turn.acquire(timeout=MAX_WAIT_S):
            raise InvalidArguments("was not read: files before it take too long; try again later")
        try:
            process = self._running()
            parsed, text = self._asked(process, kind, content)
            if parsed.is_last:
                self._end()
        finally:
            self._turn.release()
        return _loaded_text(parsed, text)

    def close(self) -> None:
        """Abort the running parse and end the process. The worker may be used again afterwards."""
        # Without the lock, which the running parse holds; its thread gets EOFError.
        process = self._process
        if process is not None:
            process.kill()
        if self._turn.acquire(timeout=END_WAIT_S):
            self._end()
            self._turn.release()

    def _running(self) -> _ParserProcess:
        if self._process is None:
            self._process = _ParserProcess(self._limits)
            self.started += 1
        return self._process

    def _asked(
        self, process: _ParserProcess, kind: FileKind, content: bytes
    ) -> tuple[ParseResult, bytes]:
        try:
            return process.ask(kind, content, time.monotonic() + self._limits.timeout_s)
        except TimeoutError as error:
            self._end()
            raise InvalidArguments(
                f"could not be parsed within {self._limits.timeout_s} s; split it, or save it in "
                "another format"
            ) from error
        except (OSError, EOFError, ValidationError) as error:
            last_words = process.last_words()
            self._end()
            raise InvalidArguments(
                f"crashed its parser ({last_words}); the file is damaged or malicious; save it "
                "again, or in another format"
            ) from error
        except BaseException:
            # Otherwise the rest of this answer in the pipe would be read as that of the next file.
            self._end()
            raise

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


class _ParserProcess:
    """Parser child process with an empty environment, so that it has no access to secrets."""

    def __init__(self, limits: ParseLimits) -> None:
        # Not a pipe: it is read only at the end, and a full pipe would block the child.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed by _ended)
        self._child = subprocess.Popen(
            _process_command(limits),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"},
            cwd="/",
        )
        # A process that was not closed ends with its owner.
        self._ended = weakref.finalize(self, _exit_message, self._child, self._errors)

    @property
    def pid(self) -> int:
        return self._child.pid

    def ask(self, kind: FileKind, content: bytes, deadline: float) -> tuple[ParseResult, bytes]:
        """Parse one file. After TimeoutError, EOFError, OSError or ValidationError, the process is
        unusable."""
        # In a thread, because the child may answer, or die, before it has read everything.
        writer = threading.Thread(target=self._write, args=(kind, content), daemon=True)
        writer.start()
        head, rest = self._read_line(deadline)
        parsed = ParseResult.model_validate_json(head)
        # The child has read untrusted input, so what it says is checked as well.
        if parsed.size > MAX_TEXT_BYTES:
            raise EOFError("the text exceeds its maximum size")
        text = self._read_exactly(parsed.size, rest, deadline)
        writer.join()
        return parsed, text

    def last_words(self) -> str:
        """Reason of its end: the limit that it reached, or the last line of its error output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(END_WAIT_S)
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 2000))
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        said = next((line for line in reversed(lines) if line.strip()), "")
        return _failure_reason(said, self._child.returncode)

    def kill(self) -> None:
        """Kill the process; a thread that waits for its answer gets EOFError."""
        self._child.kill()

    def end(self) -> None:
        self._ended()

    def _write(self, kind: FileKind, content: bytes) -> None:
        """Write the task to the child."""
        assert self._child.stdin is not None
        task = ParseTask(kind=kind.value, size=len(content))
        with contextlib.suppress(OSError, ValueError):
            write_frame(self._child.stdin, task, content)

    def _read_line(self, deadline: float) -> tuple[bytes, bytes]:
        got = bytearray()
        while b"\n" not in got:
            if len(got) > MAX_HEAD_BYTES:
                raise EOFError("no end of the first line")
            got += self._read_some(deadline)
        head, _, rest = got.partition(b"\n")
        return bytes(head), bytes(rest)

    def _read_exactly(self, size: int, begun: bytes, deadline: float) -> bytes:
        got = bytearray(begun)
        while len(got) < size:
            got += self._read_some(deadline)
        if len(got) > size:
            raise EOFError("more bytes than announced")
        return bytes(got)

    def _read_some(self, deadline: float) -> bytes:
        assert self._child.stdout is not None
        source = self._child.stdout.fileno()
        # select() fails for descriptors from 1024 on.
        ready = select.poll()
        ready.register(source, select.POLLIN)
        if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
        some = os.read(source, _CHUNK_BYTES)
        if not some:
            raise EOFError("the process ended")
        return some


def _process_command(limits: ParseLimits) -> list[str]:
    # The child's own alarm comes after the asker's time limit, which should end it first.
    seconds = limits.timeout_s + ORPHAN_GRACE_S
    return [
        # -P: no modules from the current directory.
        *(sys.executable, "-P", "-m", "spade_llm.rag.loading.parse_process"),
        *(str(limits.memory_bytes), str(seconds)),
    ]


def _exit_message(child: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout, errors):
        with contextlib.suppress(OSError):
            pipe.close()  # type: ignore[union-attr]  # both are pipes


def _failure_reason(said: str, code: int | None) -> str:
    if "MemoryError" in said or "memory" in said.lower():
        return "it needs more memory than a file may take"
    if "RecursionError" in said:
        return "it is nested too deeply"
    name = said.partition(":")[0].rpartition(".")[2].strip()
    return name if name.isidentifier() else f"it ended with {code}"


def _loaded_text(parsed: ParseResult, text: bytes) -> LoadedText:
    if parsed.refusal:
        raise InvalidArguments(parsed.refusal)
    return LoadedText(
        text=text.decode(),
        page_starts=parsed.page_starts,
        is_markdown=parsed.is_markdown,
        metadata=parsed.metadata,
    )
