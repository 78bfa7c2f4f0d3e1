"""A file that somebody shares in a chat: which one a message means. Pure.

Clients upload it (XEP-0363) and send its address: beside the text (XEP-0066), or as the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import SplitResult, unquote, urlsplit

MAX_NAME_CHARS = 100
MAX_ENDING_CHARS = 12
ENCRYPTED = "aesgcm"
"""Scheme of addresses that hold a key: what lies there only the person's own clients can read."""
_ADDRESS = re.compile(r"(?:https?|aesgcm)://[^\s<>\"]{1,2000}", re.IGNORECASE)
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    url: str
    name: str
    """That the address gives it, fit to be shown."""
    text: str = ""
    """What was said beside it."""

    @property
    def is_encrypted(self) -> bool:
        return self.url.lower().startswith(ENCRYPTED)


def shared_file(text: str, *, file: str) -> SharedFile | None:
    """`file`: the address that the client says is one. None: there is none."""
    if not file:
        is_address = _ADDRESS.fullmatch(text.strip()) is not None
        return _at(text.strip(), "") if is_address else None
    return _at(file, text.replace(file, "").strip())


def host_of(url: str) -> str:
    """`HOST:PORT`; empty: it is no address."""
    parts = _split(url)
    try:
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    return f"{parts.hostname}:{port}" if parts.hostname and port else ""


def _at(url: str, text: str) -> SharedFile:
    name = PurePosixPath(unquote(_split(url).path)).name
    return SharedFile(url=url, name=shown_name(name), text=text)


def shown_name(name: str) -> str:
    """Without what only looks like something: marks of direction, control characters, paths. The
    ending says what it is, and stays."""
    plain = "".join(char for char in name if char.isprintable()).replace("\\", "/")
    path = PurePosixPath(" ".join(plain.rpartition("/")[2].split()).lstrip("."))
    ending = path.suffix[:MAX_ENDING_CHARS]
    return path.name.removesuffix(path.suffix)[: MAX_NAME_CHARS - len(ending)] + ending


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")
