"""Removes the folders of collections that Chroma has dropped: chromadb 1.5.9 leaves them for ever.

A collection's vectors are in a folder named by its segment, beside chroma.sqlite3, where the
segments that exist are listed. Knows no collection.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from pathlib import Path

_SEGMENTS = "SELECT id FROM segments"


def remove_unused(directory: Path) -> None:
    """While nobody makes a collection. Without certainty about what is used, nothing goes."""
    used = _used(directory / "chroma.sqlite3")
    for folder in directory.iterdir():
        if used is not None and folder.is_dir() and _is_id(folder.name) and folder.name not in used:
            shutil.rmtree(folder, ignore_errors=True)


def _used(path: Path) -> frozenset[str] | None:
    """None: it cannot be told."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return frozenset(row[0] for row in connection.execute(_SEGMENTS))
    except sqlite3.Error:
        return None


def _is_id(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False
