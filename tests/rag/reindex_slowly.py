"""A process to be killed: reindexes with another model, says `half` and then goes no further. With
a database (`URL AGENT`) it is one replica of several."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.rag.bag_of_words import BagOfWords
from tests.rag.places import library_of

if TYPE_CHECKING:
    from spade_llm.rag import Progress


async def stop_here(_progress: Progress) -> None:
    sys.stdout.write("half\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


async def main(directory: Path, url: str = "", agent: str = "") -> None:
    other = BagOfWords(name="bag-of-words/2", dimension=128)
    async with library_of(directory, other, url=url, agent=agent) as library:
        await library.for_owner("ann@localhost").reindex(on_progress=stop_here)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
