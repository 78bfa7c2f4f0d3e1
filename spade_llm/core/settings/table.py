"""Base of the tables of agent.toml: strict keys, bounded values, reading of text files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from spade_llm.core.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

Name = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
Count = Annotated[int, Field(ge=1, le=100_000)]


class Table(BaseModel):
    """An unknown key is an error, and so is `3` where text belongs."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def read_text(path: Path, *, named_in: str = "") -> str:
    """Read a UTF-8 text file. Raises ConfigurationError, prefixed with `named_in`, the source of
    the path."""
    where = f"{named_in}: " if named_in else ""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise ConfigurationError(f"{where}cannot read {str(path)!r}: {reason}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{where}{str(path)!r} is not UTF-8 text") from None
