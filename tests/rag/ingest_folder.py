"""A process to be killed: ingests a folder and says a line for each document that is done."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from spade_llm.rag import DocumentLibrary, Progress
from tests.rag.bag_of_words import BagOfWords


async def say(progress: Progress) -> None:
    sys.stdout.write(f"{progress.done}\n")
    sys.stdout.flush()


async def main(directory: Path) -> None:
    async with DocumentLibrary(
        directory / "data", embedder=BagOfWords(), roots=[directory / "docs"]
    ) as library:
        await library.for_owner("ann@localhost").ingest_path("many", on_progress=say)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
