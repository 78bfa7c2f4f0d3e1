"""DATA/agents/JID/model.json: a running assistant's model, and why it did not answer last.

For `up` and `doctor`: whoever may read the data directory runs the assistant. No key is in it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from spade_llm.deployment.lock import is_held
from spade_llm.errors import ModelError
from spade_llm.providers.health import ModelFault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from spade_llm.providers import LLMProvider
    from spade_llm.providers.health import ModelHealth

logger = logging.getLogger(__name__)

FILE = "model.json"
CHECK_S = 10.0
"""For the look at the model's server at the start."""


class ModelRecord(BaseModel):
    model_config = ConfigDict(frozen=True)

    description: str
    """The model and its address, or that there is none."""
    is_offline: bool = False
    fault: ModelFault | None = None

    def write(self, home: Path) -> None:
        """At once or not at all. A disk that refuses is logged: the assistant goes on."""
        fresh = home / f"{FILE}.new"
        try:
            fresh.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
            os.replace(fresh, home / FILE)
        except OSError as error:
            logger.warning("%s is not written: %s", home / FILE, error)


@contextmanager
def kept_model_record(home: Path, record: ModelRecord, health: ModelHealth) -> Iterator[None]:
    """It is there, and up to date, as long as the block runs."""
    record.write(home)
    health.on_change.append(
        lambda fault: record.model_copy(update={"fault": fault}).write(home),
    )
    try:
        yield
    finally:
        (home / FILE).unlink(missing_ok=True)


def read_model_record(home: Path) -> ModelRecord | None:
    """None: its agent does not run now, or has no model of its own."""
    if not is_held(home):
        return None
    try:
        return ModelRecord.model_validate_json((home / FILE).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


@asynccontextmanager
async def checked(model: LLMProvider, health: ModelHealth) -> AsyncIterator[None]:
    """Look at the model's server meanwhile, so that a wrong key shows before the first question."""
    checking = asyncio.create_task(_check(model, health))
    try:
        yield
    finally:
        checking.cancel()
        await asyncio.wait((checking,))


async def _check(model: LLMProvider, health: ModelHealth) -> None:
    try:
        await model.check(within_s=CHECK_S)
    except ModelError as error:
        logger.warning("model %s: %s", model.name, error)
        health.fail(error)
