"""The passwords of our accounts: one file per JID in DATA/accounts, readable by us only."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD_BYTES = 15
"""20 characters; long enough for any guesser, short enough to type into a phone."""


class Accounts:
    def __init__(self, data: Path) -> None:
        self._directory = data / "accounts"

    def path(self, jid: str) -> Path:
        """Where the password of this bare JID is kept, however the JID is written."""
        # slixmpp takes 0.4 s to import.
        from spade_llm.xmpp.jids import bare_jid

        return self._directory / bare_jid(jid)

    def find(self, jid: str) -> str | None:
        """Version 0.1 named the file as the JID was written: read where there is no other."""
        for path in (self.path(jid), self._directory / jid):
            try:
                return path.read_text(encoding="utf-8").strip() or None
            except FileNotFoundError:
                continue
        return None

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
        descriptor = os.open(self.path(jid), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(password + "\n")
        return password


def new_password() -> str:
    return secrets.token_urlsafe(PASSWORD_BYTES)
