"""Loader: finds and reads files below the document roots, without following links."""

from __future__ import annotations

import asyncio
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments, PathNotFound
from spade_llm.rag.loading.parse_worker import ParseLimits, ParseWorker
from spade_llm.rag.loading.text_files import (
    BINARY_KINDS,
    MAX_TEXT_BYTES,
    FileKind,
    file_kind,
    parse_text,
    unsupported_reason,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO, Self

    from spade_llm.rag.contract import PathKind
    from spade_llm.rag.loading.text_files import LoadedText

_FOLDER_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe without a writer would wait for ever.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_without_links(path: Path) -> int:
    """Open a file; returns its descriptor. `path`: resolved before. A parent folder that has been
    replaced by a link since is refused, too; O_NOFOLLOW alone checks the last part of a path only.

    Raises:
        OSError: also for a link.
    """
    folder = os.open(path.anchor, _FOLDER_FLAGS)
    try:
        for part in path.parts[1:-1]:
            # Relative to the open folder, so that no parent can be replaced by a link meanwhile.
            inner = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(path.name, _FILE_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


MAX_FILE_BYTES = MAX_TEXT_BYTES
MAX_BINARY_BYTES = 100_000_000
"""Maximum size in bytes of a PDF or .docx; large ones are mostly pictures."""
MAX_FILES = 10_000
"""Maximum number of files of one folder, including skipped ones."""
READ_AT_A_TIME = 4
_PLAIN_KINDS = (None, FileKind.TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """File that may be read."""

    path: Path
    """Resolved."""
    source: str
    """Path as cited: relative to the first root; absolute below any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """File that is skipped, with the reason."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimits:
    """Limits of what is read from one file or folder."""

    max_file_bytes: int = MAX_FILE_BYTES
    max_packed_bytes: int = MAX_BINARY_BYTES
    max_files: int = MAX_FILES
    parsing: ParseLimits = field(default_factory=ParseLimits)


class Loader:
    """Reads files below `roots`; relative paths are resolved below each of them, in order.

    Use it as a context manager, or call `close()` at the end, which ends the parser process.
    """

    def __init__(self, roots: Sequence[Path], *, limits: LoadLimits | None = None) -> None:
        self._roots = tuple(root.resolve() for root in roots)
        self._limits = limits or LoadLimits()
        self.parser = ParseWorker(self._limits.parsing)
        self._threads = _thread_pool()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the parser process and threads. The loader may be used again afterwards."""
        threads, self._threads = self._threads, _thread_pool()
        # Without waiting: its threads may wait for the parser, which is closed next.
        threads.shutdown(wait=False, cancel_futures=True)
        self.parser.close()

    def find(
        self, path: str, *, is_recursive: bool = True, only: PathKind | None = None
    ) -> Sequence[FoundFile | SkippedFile]:
        """Find a file, or the files of a folder by name.

        Raises:
            PathNotFound: it does not exist (as the kind `only`), or is outside the roots.
            InvalidArguments: an empty folder, or a file of an unsupported kind.
        """
        target = self._resolve(path)
        is_folder = target.is_dir()
        if only and only != ("folder" if is_folder else "file"):
            raise PathNotFound(f"there is no {only} {path!r} below the document roots")
        if is_folder:
            entries = self._bounded(target, is_recursive)
            if not entries:
                raise InvalidArguments(f"{path!r} is a folder without files")
            return entries
        found = self._judged(target)
        if isinstance(found, SkippedFile):
            raise InvalidArguments(f"{path!r} cannot be read: {found.reason}")
        return (found,)

    def read(self, file: FoundFile) -> LoadedText:
        """Read the file and return its text.

        Raises:
            InvalidArguments: too large, not what its name says, damaged, without text.
        """
        try:
            kind, content = file_kind(file.path.name), self._content(file)
            if kind is None or kind is FileKind.TEXT:
                return parse_text(content)
            return self.parser.parse(kind, content)
        except InvalidArguments as error:
            raise InvalidArguments(f"{file.source!r} {error}") from error

    async def load(self, file: FoundFile) -> LoadedText:
        """Read like `read`, in a thread. Parsed kinds have a thread pool of their own, so that
        files that take a minute delay only each other, and neither text files nor other work in
        threads."""
        if file_kind(file.path.name) in _PLAIN_KINDS:
            return await asyncio.to_thread(self.read, file)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.read, file)

    def _content(self, file: FoundFile) -> bytes:
        """Read the content, and check the file again: since it was found, it or a parent folder may
        have been replaced by a link."""
        try:
            opened = open_without_links(file.path)
        except OSError as error:
            raise InvalidArguments(f"cannot be read: {error.strerror or 'I/O error'}") from error
        with os.fdopen(opened, "rb") as stream:
            # By the open descriptor, which cannot be replaced any more.
            objection = self._objection_to(file.path, os.fstat(stream.fileno()))
            if objection:
                raise InvalidArguments(objection)
            return _read_bounded(stream, self._max_bytes(file.path.name))

    def _resolve(self, path: str) -> Path:
        _check_path_form(path)
        if not self._roots:
            raise PathNotFound("this agent has no document roots and reads no files")
        places = [self._located(root, path) for root in self._roots]
        inside = [place for place in places if self._root_of(place) is not None]
        if not inside:
            raise PathNotFound(f"{path!r} is outside the document roots")
        for place in inside:
            if os.path.exists(place):  # False for a name too long; Path.exists raises
                return place
        raise PathNotFound(f"there is no {path!r} below the document roots")

    def _located(self, root: Path, path: str) -> Path:
        try:
            return (root / path).resolve()
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle (3.11, 3.12)
            raise PathNotFound(f"{path!r} cannot be resolved; check for circular links") from error

    def _root_of(self, place: Path) -> Path | None:
        return next((root for root in self._roots if place.is_relative_to(root)), None)

    def _bounded(self, folder: Path, is_recursive: bool) -> list[FoundFile | SkippedFile]:
        entries: list[FoundFile | SkippedFile] = []
        for entry in self._walk(folder, is_recursive):
            if len(entries) == self._limits.max_files:
                reason = f"more than {self._limits.max_files} files; add the rest by folder"
                entries.append(SkippedFile(source=self._source(folder), reason=reason))
                break
            entries.append(entry)
        return entries

    def _walk(self, folder: Path, is_recursive: bool) -> Iterator[FoundFile | SkippedFile]:
        closed: list[OSError] = []
        for parent, folders, files in os.walk(folder, onerror=closed.append, followlinks=False):
            here = Path(parent)
            if not is_recursive:
                folders.clear()
            for name in sorted(folders):
                if os.path.islink(here / name):  # False for a path too long; is_symlink raises
                    reason = "a link to a folder is not followed"
                    yield SkippedFile(source=self._source(here / name), reason=reason)
                elif name.startswith("."):
                    yield SkippedFile(source=self._source(here / name), reason="hidden")
            # In place, because os.walk descends into what is left in this list.
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                yield self._judged(here / name)
        for error in closed:
            reason = f"a folder that cannot be opened: {error.strerror or 'I/O error'}"
            yield SkippedFile(source=self._source(Path(error.filename)), reason=reason)

    def _judged(self, place: Path) -> FoundFile | SkippedFile:
        reason = self._objection(place)
        source = self._source(place)
        if reason:
            return SkippedFile(source=source, reason=reason)
        return FoundFile(path=place.resolve(), source=source)

    def _objection(self, place: Path) -> str:
        """Return the reason why this file is not read; empty if it may be read."""
        if place.name.startswith("."):
            return "hidden"
        if file_kind(place.name) is None:
            return unsupported_reason(place.name)
        try:
            target = place.resolve()
            status = target.stat()
        except (OSError, RuntimeError):
            return "cannot be opened, or is a link to nothing"
        if self._root_of(target) is None:
            return "a link that leaves the document roots"
        return self._objection_to(place, status)

    def _objection_to(self, place: Path, status: os.stat_result) -> str:
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        max_bytes = self._max_bytes(place.name)
        return _too_large(max_bytes) if status.st_size > max_bytes else ""

    def _max_bytes(self, name: str) -> int:
        is_packed = file_kind(name) in BINARY_KINDS
        return self._limits.max_packed_bytes if is_packed else self._limits.max_file_bytes

    def _source(self, place: Path) -> str:
        if place.is_relative_to(self._roots[0]):
            return _printable_name(place.relative_to(self._roots[0]).as_posix())
        return _printable_name(place.as_posix())


def _thread_pool() -> ThreadPoolExecutor:
    """Create the pool, which starts its threads when files come."""
    return ThreadPoolExecutor(READ_AT_A_TIME, thread_name_prefix="load")


def _check_path_form(path: str) -> None:
    if not path.strip() or "\0" in path:
        raise PathNotFound("path must not be empty or contain a NUL character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise PathNotFound("path contains a lone surrogate") from error
    if ".." in Path(path).parts:
        raise PathNotFound(f"{path!r} contains '..'; give a path below a document root")


def _printable_name(name: str) -> str:
    """Replace the bytes of a file name that are not UTF-8 by U+FFFD."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _read_bounded(stream: BinaryIO, max_bytes: int) -> bytes:
    try:
        # One byte more tells whether the file has grown since it was checked.
        raw = stream.read(max_bytes + 1)
    except OSError as error:
        raise InvalidArguments(f"cannot be read: {error.strerror or 'I/O error'}") from error
    if len(raw) > max_bytes:
        raise InvalidArguments(_too_large(max_bytes))
    return raw


def _too_large(max_bytes: int) -> str:
    return f"is larger than {max_bytes} bytes; split it"
