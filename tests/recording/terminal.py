"""The chat in a terminal, played in tmux: prompt, growing answer, completion, Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from tests.recording.network import KEY_S, READ_S, remember, running_network, streamed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

COLUMNS, ROWS = 80, 24
LOOK_S = 0.03
"""Time between two looks at the screen."""
PATIENCE_S = 30.0
MAX_SHOTS = 4000

FACT = "The user likes short answers with an example."
ANSWER = """To undo it and **keep your changes**:

```bash
git reset --soft HEAD~1
```

What happens to the changes depends on the option:

| option | changes | in the index |
|---|---|---|
| `--soft` | kept | yes |
| `--mixed` | kept | no |
| `--hard` | **lost** | no |

If others already have the commit, use `git revert HEAD` instead."""
STORY = """Git began in **April 2005**, when the kernel developers lost the free licence of \
BitKeeper. Linus Torvalds wrote the first version in a few days, and within two weeks it was \
fast enough for the kernel. In July, Junio Hamano became its maintainer, and he still is."""


@dataclass(frozen=True, slots=True)
class Screen:
    """Contents of a terminal."""

    text: str
    """With escape sequences; a style holds across line ends."""
    cursor: tuple[int, int] | None
    """Column and row; None: hidden."""


@dataclass(slots=True, kw_only=True)
class Terminal:
    """A shell in a detached tmux session, with a camera."""

    socket: Path
    environment: Mapping[str, str]
    shots: list[tuple[float, Screen]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def tmux(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *("tmux", "-u", "-S", str(self.socket), "-f", os.devnull, *arguments),
            env=self.environment,
            stdout=PIPE,
            stderr=PIPE,
        )
        async with asyncio.timeout(PATIENCE_S):
            output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return output.decode()

    async def open(self, folder: Path) -> None:
        settings = ("set -g status off", "set -g default-terminal screen-256color")
        words = [word for one in settings for word in (*one.split(), ";")]
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        shell = ("bash", "--noprofile", "--norc", "-i")
        await self.tmux(*words, "new-session", "-d", *size, "-c", str(folder), *shell)

    async def film(self) -> None:
        """Note each change of the screen, until cancelled."""
        position = "#{cursor_x} #{cursor_y} #{cursor_flag}"
        while len(self.shots) < MAX_SHOTS:
            output = await self.tmux("display-message", "-p", position, ";", "capture-pane", "-pe")
            first, _, text = output.partition("\n")
            column, row, is_shown = map(int, first.split())
            screen = Screen(text, (column, row) if is_shown else None)
            if not self.shots or self.shots[-1][1] != screen:
                self.shots.append((time.perf_counter(), screen))
                self.changed.set()
            await asyncio.sleep(LOOK_S)

    async def shows(self, text: str) -> None:
        """Return once a row of the screen contains the text."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while text not in self.text:
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise AssertionError(f"{text!r} is not in {self.text!r}") from None

    @property
    def text(self) -> str:
        """Text on the screen, without styles."""
        return Text.from_ansi(self.shots[-1][1].text).plain if self.shots else ""

    async def type(self, text: str) -> None:
        for key in text:
            await self.tmux("send-keys", "-l", "--", key)
            await asyncio.sleep(KEY_S)

    async def press(self, key: str) -> None:
        """Press a key by tmux's name for it."""
        await self.tmux("send-keys", key)


@asynccontextmanager
async def open_terminal(folder: Path, environment: Mapping[str, str]) -> AsyncIterator[Terminal]:
    terminal = Terminal(socket=folder / "tmux", environment=environment)
    await terminal.open(folder)
    filming = asyncio.create_task(terminal.film())
    try:
        yield terminal
    finally:
        filming.cancel()
        await asyncio.wait([filming])
        await terminal.tmux("kill-server")


async def play_terminal(folder: Path) -> list[tuple[float, Screen]]:
    """Shots of a chat, played in an empty folder."""
    async with running_network(folder) as (program, server):
        await remember(program, server, FACT)
        environment = {
            **program.environment,
            "PATH": f"{Path(sys.executable).parent}:{program.environment['PATH']}",
            "PS1": "$ ",
            "HISTFILE": os.devnull,
        }
        async with open_terminal(folder, environment) as terminal:
            await terminal.shows("$")
            await terminal.type("spade-llm chat")
            await terminal.press("Enter")
            await terminal.shows("you>")
            await asyncio.sleep(READ_S)
            server.enqueue(streamed(ANSWER), streamed(STORY))
            await terminal.type("How do I undo my last commit?")
            await terminal.press("Enter")
            await terminal.shows("git revert HEAD instead.")
            await asyncio.sleep(2 * READ_S)
            await terminal.type("/")
            await terminal.shows("/memories")
            await asyncio.sleep(READ_S)
            await terminal.type("mem")
            await terminal.press("Tab")
            await asyncio.sleep(READ_S)
            await terminal.press("Enter")
            await terminal.shows("short answers with")
            await asyncio.sleep(READ_S)
            await terminal.type("Tell me the story of Git.")
            await terminal.press("Enter")
            await terminal.shows("Linus Torvalds wrote")
            await terminal.press("C-c")
            await terminal.shows("(stopped)")
            await asyncio.sleep(LOOK_S * 10)
            return terminal.shots
