"""`[files]` of an agent.toml: files from people and to them. Reads no file."""

from __future__ import annotations

from pydantic import Field

from spade_llm.settings.table import Table


class FilesTable(Table):
    """`[files]`: what an assistant does with files that people share, and with long answers."""

    take: bool = True
    """Documents that people share are read by the agent of `[services] rag`."""
    max_files: int = Field(default=200, ge=1, le=10_000)
    """Of one person."""
    seconds: float = Field(default=1800.0, gt=0, le=21_600)
    """How long the reading of one may take."""
    long_answer_chars: int = Field(default=12_000, ge=0, le=1_000_000)
    """A longer answer is sent as a file; 0: none is."""
