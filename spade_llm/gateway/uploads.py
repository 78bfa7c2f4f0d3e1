"""Files on their way through a gateway: held under names of its own, and given to the XMPP server.

What a client calls its file is a word in a citation, never a path.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.acl import new_id
from spade_llm.core.limits import ConcurrencyQuota
from spade_llm.errors import RequestRefused, StorageFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MAX_HELD = 8
"""Files at a time, of all clients together, half of them one principal's."""
MAX_NAME_CHARS = 200

Put = Callable[[Path, str], Awaitable[str]]
"""A file and what it is called: to the address that it can be fetched from. Raises RequestError."""


class Uploads:
    def __init__(self, folder: Path | None, put: Put | None) -> None:
        """`folder`: ours alone, made when it is needed; None: the system's for such files. `put`:
        None: there is no server that takes files."""
        self._folder = folder
        self._put = put
        self._held = ConcurrencyQuota(MAX_HELD, busy="{} files are being taken in")

    def clear(self) -> None:
        """What a killed gateway left there."""
        if self._folder is not None and self._folder.is_dir():
            for left in self._folder.iterdir():
                left.unlink(missing_ok=True)

    @asynccontextmanager
    async def file(self, principal: str) -> AsyncIterator[Path]:
        """An empty one, for its owner only; it is gone after the block. Raises Busy, StorageFailed
        (also where the block runs into an OSError)."""
        with self._held.hold(principal, 1):
            path: Path | None = None
            try:
                path = await asyncio.to_thread(self._new)
                yield path
            except OSError as error:
                raise StorageFailed("the file cannot be kept while it is taken in") from error
            finally:
                if path is not None:
                    path.unlink(missing_ok=True)

    async def put(self, path: Path, *, name: str) -> str:
        """Where the RAG agent can fetch it. Raises RequestError (`no-uploads`, `too-large`)."""
        if self._put is None:
            raise RequestRefused(
                "there is no server that takes files", peer="", wire_code="no-uploads"
            )
        return await self._put(path, name)

    def _new(self) -> Path:
        folder = self._folder or Path(tempfile.gettempdir())
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"upload-{new_id()}"
        path.touch(mode=0o600, exist_ok=False)
        return path


def plain_name(said: str) -> str:
    """The last part of what a client calls its file, of characters that can be seen; empty: there
    is none."""
    last = said.replace("\\", "/").rpartition("/")[2]
    seen = "".join(char for char in last if char.isprintable()).strip(" .")
    stem, dot, ending = seen.rpartition(".")
    if not dot or len(seen) <= MAX_NAME_CHARS:
        return seen[:MAX_NAME_CHARS]
    return f"{stem[: MAX_NAME_CHARS - 20]}.{ending[:16]}"
