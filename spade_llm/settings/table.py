"""What every table of an agent.toml has in common. Knows no key."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, le=3600)]
Count = Annotated[int, Field(ge=1, le=100_000)]


class Table(BaseModel):
    """An unknown key is an error, and so is `3` where text belongs."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
