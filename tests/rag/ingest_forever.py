"""A process to be killed: ingests 30 documents over and over, changing them each time."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from spade_llm.rag import Document, DocumentLibrary
from tests.rag.bag_of_words import BagOfWords


async def main(directory: Path) -> None:
    async with DocumentLibrary(directory, embedder=BagOfWords()) as library:
        mine = library.for_owner("ann@localhost")
        for number in range(1_000_000):
            text = f"Lighthouse log of zulu{number % 30}, page {number}."
            await mine.ingest(Document(text=text, source=f"{number % 30}.md"))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
