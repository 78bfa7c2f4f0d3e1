"""Frames between the parser process and its worker: a line of JSON, then bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from typing import IO

MAX_HEAD_BYTES = 4_000_000
"""Page starts of 20 000 pages and short metadata are far below."""


class ParseTask(BaseModel):
    """A file's content follows."""

    model_config = ConfigDict(frozen=True)

    kind: str
    size: int


class ParseResult(BaseModel):
    """The text follows, in UTF-8."""

    model_config = ConfigDict(frozen=True)

    size: int = Field(ge=0)
    page_starts: tuple[int, ...] = ()
    is_markdown: bool | None = None
    metadata: dict[str, str | int | float | bool] = Field(default_factory=dict)
    refusal: str = ""
    """Reason why there is no text; empty if there is one."""
    is_last: bool = False
    """The process ends now: it has grown."""


def write_frame(to: IO[bytes], head: BaseModel, body: bytes) -> None:
    to.write(json.dumps(head.model_dump()).encode() + b"\n")
    to.write(body)
    to.flush()
