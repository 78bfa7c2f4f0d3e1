"""Model record of a running assistant (model.json): its model, faults and refused changes.

The assistant writes it; `up`, `doctor` and `model` read it, in whatever process the assistant runs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spade_llm.cli.factory.model_choice import REMEDIES
from spade_llm.cli.terminal import sanitize_line
from spade_llm.core.errors import ModelFailure
from spade_llm.providers.fallback import ModelFault, ModelHealth
from spade_llm.xmpp.servers.data_directory import is_locked

logger = logging.getLogger(__name__)

CORRECT_SETTINGS = "correct the setting; a new environment variable needs a restart"
"""Remedy for a setting that names no usable model."""

MODEL_RECORD_FILE = "model.json"


class RefusedModel(BaseModel):
    """Model of changed settings that did not pass its test, so that the former one stays."""

    model_config = ConfigDict(frozen=True)

    description: str = ""
    """Name and address; empty: the settings name no usable model."""
    text: str
    cause: ModelFailure | None = None
    """None: the settings are wrong."""


class ModelDescription(TypedDict):
    """Fields of the record that name the model."""

    description: str
    is_offline: bool


class ModelRecord(BaseModel):
    """Model that a running assistant uses."""

    model_config = ConfigDict(frozen=True)

    description: str
    """Name and address of the model, or the reason that there is none."""
    is_offline: bool = False
    fault: ModelFault | None = None
    refused: RefusedModel | None = None
    """Refused change of the settings; None: the model is that of the settings."""
    settings_read_at: datetime = Field(default=datetime.min.replace(tzinfo=UTC))
    """Time at which the settings were last read, at the start or after a change."""

    @property
    def short_description(self) -> str:
        """The description without the hint how to connect a model."""
        return "rules" if self.is_offline else self.description

    def write(self, home: Path) -> None:
        """Write the record atomically. A disk error is logged, and the assistant continues."""
        temporary_path = home / f"{MODEL_RECORD_FILE}.new"
        try:
            temporary_path.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
            os.replace(temporary_path, home / MODEL_RECORD_FILE)
        except OSError as error:
            logger.warning("%s cannot be written: %s", home / MODEL_RECORD_FILE, error)


class ModelRecordFile:
    """Record in the folder of its agent."""

    def __init__(self, home: Path, record: ModelRecord) -> None:
        self._home = home
        self._record = record
        record.write(home)

    def update(self, **changes: object) -> None:
        """Replace fields of the record."""
        self._record = self._record.model_copy(update=changes)
        self._record.write(self._home)


@contextmanager
def maintain_model_record(
    home: Path, record: ModelRecord, health: ModelHealth
) -> Iterator[ModelRecordFile]:
    """Keep the record up to date for the block."""
    file = ModelRecordFile(home, record)
    health.on_change.append(lambda fault: file.update(fault=fault))
    try:
        yield file
    finally:
        (home / MODEL_RECORD_FILE).unlink(missing_ok=True)


def explain_refusal(record: ModelRecord, refused: RefusedModel) -> tuple[str, str]:
    """The model that a running assistant keeps, and why; and the remedy."""
    why = f"; {refused.description} failed" if refused.description else ""
    remedy = REMEDIES[refused.cause] if refused.cause else CORRECT_SETTINGS
    text = f"keeps {record.short_description}{why}: {sanitize_line(refused.text)}"
    return text, f"{remedy}; then set it again"


def read_model_record(home: Path) -> ModelRecord | None:
    """Read the record; None if the agent does not run now, or has no model of its own."""
    # A killed agent leaves its record behind, but its lock ends with the process.
    if not is_locked(home):
        return None
    try:
        return ModelRecord.model_validate_json(
            (home / MODEL_RECORD_FILE).read_text(encoding="utf-8")
        )
    except (OSError, ValidationError):
        return None
