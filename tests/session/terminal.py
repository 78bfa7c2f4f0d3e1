"""profanity, a real terminal client, in tmux: typed into and read from as a person does."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from spade_llm.xmpp.servers.managed_server import Endpoint

COLUMNS, ROWS = 100, 40
PATIENCE_S = 60.0
LOOK_EVERY_S = 0.1
TYPING = "(typing...)"
ACCOUNT = """\
[{jid}]
enabled=true
jid={jid}
server={host}
port={port}
password={password}
tls.policy=trust
resource=terminal
presence.last=online
"""
PREFERENCES = """\
[notifications]
message=false
[ui]
splash=false
wrap=true
beep=false
[logging]
chlog=false
"""


def require() -> None:
    """Skip the rest of a test without profanity and tmux, except where .ci/run says no."""
    is_here = all(shutil.which(program) for program in ("profanity", "tmux"))
    if not is_here and os.environ.get("SPADE_LLM_REQUIRE_SERVERS") != "1":
        pytest.skip("no profanity or no tmux on PATH")


class Terminal:
    """Ends with `close`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._socket = str(home / "tmux")

    async def begin(self, jid: str, password: str, endpoint: Endpoint) -> Terminal:
        accounts = self._home / "share" / "profanity" / "accounts"
        preferences = self._home / "config" / "profanity" / "profrc"
        for path in (accounts, preferences):
            path.parent.mkdir(parents=True)
        fields = {"host": endpoint.host, "port": endpoint.port, "password": password}
        accounts.write_text(ACCOUNT.format(jid=jid, **fields), encoding="utf-8")
        preferences.write_text(PREFERENCES, encoding="utf-8")
        self._tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "profanity")
        await self.shows("Profanity")
        self.types(f"/connect {jid}")
        await self.shows("logged in successfully")
        return self

    def types(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", "Enter")

    async def shows(self, pattern: str) -> str:
        """The screen, once this is on it (words that a line's end may part) and nobody types."""
        wanted = re.compile(r"\s+".join(map(re.escape, pattern.split())))
        async with asyncio.timeout(PATIENCE_S):
            while True:
                screen = self.screen()
                if wanted.search(screen) and TYPING not in screen:
                    return screen
                await asyncio.sleep(LOOK_EVERY_S)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def colours(self) -> str:
        """The screen with its escape sequences."""
        return self._tmux("capture-pane", "-p", "-e")

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        environment = {
            **os.environ,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "XDG_DATA_HOME": str(self._home / "share"),
            "XDG_CONFIG_HOME": str(self._home / "config"),
        }
        return subprocess.run(
            ["tmux", "-S", self._socket, *arguments],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
