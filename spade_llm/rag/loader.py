"""Finds and reads text files below the document roots. Blocking: call it in a thread.

Paths come from peers. A path is resolved first, links and all, and must then lie below a root.
"""

from __future__ import annotations

import codecs
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUFFIXES = frozenset({".txt", ".md"})
MAX_FILE_BYTES = 20_000_000
MAX_FILES = 10_000
"""Of one folder, those left out included."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that may be read."""

    path: Path
    """Resolved."""
    source: str
    """As cited: relative to the first root; absolute below any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file that is not read, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLimits:
    max_file_bytes: int = MAX_FILE_BYTES
    max_files: int = MAX_FILES


class Loader:
    """Reads below `roots` only; relative paths are resolved below each of them, in order."""

    def __init__(self, roots: Sequence[Path], *, limits: LoadLimits | None = None) -> None:
        self._roots = tuple(root.resolve() for root in roots)
        self._limits = limits or LoadLimits()

    def find(self, path: str, *, is_recursive: bool = True) -> Sequence[FoundFile | LeftOut]:
        """The file, or every file of the folder, in order of their names.

        Raises:
            InvalidArguments: no such path, outside the roots, or a file that is not text.
        """
        target = self._resolve(path)
        if target.is_dir():
            return self._bounded(target, is_recursive)
        found = self._judged(target)
        if isinstance(found, LeftOut):
            raise InvalidArguments(f"{path!r} cannot be read: {found.reason}")
        return (found,)

    def read(self, file: FoundFile) -> str:
        """The file's text.

        Raises:
            InvalidArguments: too large, or not in UTF-8 (or UTF-16 with a byte order mark).
        """
        try:
            with file.path.open("rb") as opened:
                raw = opened.read(self._limits.max_file_bytes + 1)
        except OSError as error:
            raise InvalidArguments(
                f"{file.source!r} cannot be read: {error.strerror or 'I/O error'}"
            ) from error
        if len(raw) > self._limits.max_file_bytes:
            raise InvalidArguments(f"{file.source!r} {self._too_large()}")
        return _decoded(raw, file.source)

    def _resolve(self, path: str) -> Path:
        _check_form(path)
        if not self._roots:
            raise InvalidArguments("this agent has no document roots, so it reads no files")
        places = [self._located(root, path) for root in self._roots]
        inside = [place for place in places if self._root_of(place) is not None]
        if not inside:
            raise InvalidArguments(f"{path!r} is outside the document roots")
        for place in inside:
            if os.path.exists(place):  # False for a name too long; Path.exists raises
                return place
        raise InvalidArguments(f"there is no {path!r} below the document roots")

    def _located(self, root: Path, path: str) -> Path:
        try:
            return (root / path).resolve()
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle (3.11, 3.12)
            raise InvalidArguments(f"{path!r} cannot be resolved; is it a circle of links?") from (
                error
            )

    def _root_of(self, place: Path) -> Path | None:
        return next((root for root in self._roots if place.is_relative_to(root)), None)

    def _bounded(self, folder: Path, is_recursive: bool) -> list[FoundFile | LeftOut]:
        entries: list[FoundFile | LeftOut] = []
        for entry in self._walk(folder, is_recursive):
            if len(entries) == self._limits.max_files:
                reason = f"more than {self._limits.max_files} files; add the rest by folder"
                entries.append(LeftOut(source=self._source(folder), reason=reason))
                break
            entries.append(entry)
        return entries

    def _walk(self, folder: Path, is_recursive: bool) -> Iterator[FoundFile | LeftOut]:
        for parent, folders, files in os.walk(folder, followlinks=False):
            here = Path(parent)
            if not is_recursive:
                folders.clear()
            for name in sorted(folders):
                if (here / name).is_symlink():
                    reason = "a link to a folder is not followed"
                    yield LeftOut(source=self._source(here / name), reason=reason)
                elif name.startswith("."):
                    yield LeftOut(source=self._source(here / name), reason="hidden")
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                yield self._judged(here / name)

    def _judged(self, place: Path) -> FoundFile | LeftOut:
        reason = self._objection(place)
        source = self._source(place)
        if reason:
            return LeftOut(source=source, reason=reason)
        return FoundFile(path=place.resolve(), source=source)

    def _objection(self, place: Path) -> str:
        """Why this file is not read; empty if it may be."""
        if place.name.startswith("."):
            return "hidden"
        if place.suffix.lower() not in SUFFIXES:
            return f"not one of {', '.join(sorted(SUFFIXES))}"
        try:
            target = place.resolve()
            status = target.stat()
        except (OSError, RuntimeError):
            return "cannot be opened, or is a link to nothing"
        if self._root_of(target) is None:
            return "a link that leaves the document roots"
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        return self._too_large() if status.st_size > self._limits.max_file_bytes else ""

    def _too_large(self) -> str:
        return f"is larger than {self._limits.max_file_bytes} bytes"

    def _source(self, place: Path) -> str:
        if place.is_relative_to(self._roots[0]):
            return _printable(place.relative_to(self._roots[0]).as_posix())
        return _printable(place.as_posix())


def _check_form(path: str) -> None:
    if not path.strip() or "\0" in path:
        raise InvalidArguments("path must not be empty, nor hold a NUL character")
    if ".." in Path(path).parts:
        raise InvalidArguments(f"{path!r} has '..' in it; give a path below a document root")


def _printable(name: str) -> str:
    """File names may hold bytes that are no UTF-8; those become U+FFFD."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _decoded(raw: bytes, source: str) -> str:
    encoding, skip = _encoding_of(raw)
    try:
        return raw[skip:].decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidArguments(
            f"{source!r} is not {encoding.upper()}: byte {error.start + skip} is wrong; "
            "save it as UTF-8"
        ) from error


def _encoding_of(raw: bytes) -> tuple[str, int]:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return encoding, len(mark)
    return "utf-8", 0
