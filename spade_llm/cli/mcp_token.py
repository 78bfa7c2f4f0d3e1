"""The bearer token of `spade-llm mcp --http`: given, or made once for each person. No HTTP here."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    import argparse

    from spade_llm.cli.place import Place

TOKEN_BYTES = 32
LEAST_CHARS = 16
"""A shorter one could be guessed."""


def find_token(options: argparse.Namespace, place: Place, owner: str) -> str | None:
    """None only if --no-token says so. Raises ConfigurationError."""
    if options.no_token:
        return None
    if options.token_env:
        return _checked(os.environ.get(options.token_env, ""), f"--token-env {options.token_env}")
    path = Path(options.token_file) if options.token_file else token_path(place.data, owner)
    if not options.token_file:
        _make(path)
    print(f"token       in {path}", file=sys.stderr)
    return _checked(_read(path), str(path))


def token_path(data: Path, owner: str) -> Path:
    return data / "mcp-tokens" / owner


def _make(path: Path) -> None:
    """If it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the token file {str(path)!r} cannot be read: {error}") from None


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if len(token) < LEAST_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(
            f"{where}: a token has at least {LEAST_CHARS} ASCII characters without spaces"
        )
    return token
