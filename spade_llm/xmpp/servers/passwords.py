"""Passwords of accounts in a data directory: one private file per JID."""

from __future__ import annotations

import logging
import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

logger = logging.getLogger(__name__)

PASSWORD_BYTES = 15
"""20 characters; long enough for any guesser, short enough to type into a phone."""


class AccountPasswords:
    def __init__(self, data: Path, *, warn: Callable[[str], None] = logger.warning) -> None:
        """`warn`: told of files that others could read."""
        self._directory = data / "accounts"
        self._warn = warn

    def path(self, jid: str) -> Path:
        """Return the path of the password file of this bare JID, which is normalised first."""
        # slixmpp takes 0.4 s to import.
        from spade_llm.xmpp.connection.jids import bare_jid

        return self._directory / bare_jid(jid)

    def find(self, jid: str) -> str | None:
        """Version 0.1 named the file as the JID was written: read where there is no other."""
        for path in (self.path(jid), self._directory / jid):
            try:
                password = path.read_text(encoding="utf-8").strip()
            except FileNotFoundError:
                continue
            self._close_to_others(path)
            return password or None
        return None

    def _close_to_others(self, path: Path) -> None:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            with suppress(PermissionError):  # It is not ours: the warning stays true.
                path.chmod(0o600)
            self._warn(
                f"warning     {str(path)!r} had mode {mode:03o}, 600 is right: other users of this"
                " machine may have read the password"
            )

    def get(self, jid: str) -> str:
        """Raises ConfigurationError if there is none."""
        password = self.find(jid)
        if password is None:
            raise ConfigurationError(
                f"there is no password for {jid}: write it into {str(self.path(jid))!r}"
            )
        return password

    def get_or_make(self, jid: str) -> str:
        return self.find(jid) or self._make(jid)

    def _make(self, jid: str) -> str:
        return self.keep(jid, new_password())

    def keep(self, jid: str, password: str) -> str:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        # With its mode from the start: `chmod` afterwards would leave a moment for other readers.
        descriptor = os.open(self.path(jid), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.fchmod(descriptor, 0o600)  # The file may have been there, open to others.
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(password + "\n")
        return password


def new_password() -> str:
    return secrets.token_urlsafe(PASSWORD_BYTES)
