"""A process to be killed: reindexes with another model, says `half` and then goes no further."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from spade_llm.rag import DocumentLibrary, Progress
from tests.rag.bag_of_words import BagOfWords


async def stop_here(_progress: Progress) -> None:
    sys.stdout.write("half\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


async def main(directory: Path) -> None:
    other = BagOfWords(name="bag-of-words/2", dimension=128)
    async with DocumentLibrary(directory, embedder=other) as library:
        await library.for_owner("ann@localhost").reindex(on_progress=stop_here)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
