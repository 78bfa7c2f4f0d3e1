"""A process to be killed: ingests 30 documents over and over, changing them each time. With a
database (`URL AGENT NAME`) it is one replica of several."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from spade_llm.rag import Document
from tests.rag.bag_of_words import BagOfWords
from tests.rag.places import library_of


async def main(directory: Path, url: str = "", agent: str = "", name: str = "") -> None:
    async with library_of(directory, BagOfWords(), url=url, agent=agent) as library:
        mine = library.for_owner("ann@localhost")
        for number in range(1_000_000):
            text = f"Lighthouse log of zulu{number % 30}, page {number} {name}."
            await mine.ingest(Document(text=text, source=f"{number % 30}.md"))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
