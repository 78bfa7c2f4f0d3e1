"""What an assistant does with files that people share, and with answers that are too long to read
in a chat. Data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRules:
    takes: bool = True
    """Whether documents that people share are read. It needs a RAG agent."""
    max_files: int = 200
    """Of one person; one more is refused until some are deleted."""
    seconds: float = 1800.0
    """How long the reading of one may take; the person's conversation waits for it."""
    long_answer_chars: int = 12_000
    """A longer answer is sent as a file with its beginning; 0: never."""
