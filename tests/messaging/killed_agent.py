"""A process that accepts requests, says which handler was entered, and never answers.

Run by test_answer_log, which kills it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from spade_llm.messaging import (
    CHAT_TEXT,
    Dispatcher,
    Idempotency,
    PersistentAnswerLog,
    Request,
    Route,
)
from tests.messaging.node_harness import Outbox, request


async def main(path: Path, effect: Idempotency) -> None:
    async def handler(_: Request) -> str:
        await asyncio.sleep(0)  # what arrived in the same moment is written down in its own task
        sys.stdout.write("entered\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
        return ""

    async with PersistentAnswerLog(path) as log:
        dispatcher = Dispatcher(Outbox(), log)
        dispatcher.route(CHAT_TEXT, Route(handler=handler, effect_of=lambda _: effect))
        dispatcher.receive(request("first", id="1", ontology=CHAT_TEXT))
        dispatcher.receive(request("second", id="2", ontology=CHAT_TEXT))
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Idempotency[sys.argv[2]]))
