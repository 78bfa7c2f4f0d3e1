"""Rules for the names in a library: namespaces and sources."""

from __future__ import annotations

import re

from spade_llm.errors import InvalidArguments

MAX_SOURCE_CHARS = 1024

_NAMESPACE = re.compile(r"(?!\.+$)[\w.-]{1,64}")


def check_namespace(name: str) -> str:
    if not _NAMESPACE.fullmatch(name):
        raise InvalidArguments(
            f"namespace {name[:80]!r} is not a name; use 1 to 64 letters, digits, '_', '-' or '.'"
        )
    return name


def check_source(source: str) -> str:
    if not source.strip() or len(source) > MAX_SOURCE_CHARS:
        raise InvalidArguments(f"source must be 1 to {MAX_SOURCE_CHARS} characters")
    return source
