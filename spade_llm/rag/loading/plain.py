"""Text, Markdown and source code: taken as they are. The splitter knows their headings by name."""

from __future__ import annotations

from spade_llm.rag.loading.decoding import decoded
from spade_llm.rag.loading.text import LoadedText


def parse_text(content: bytes) -> LoadedText:
    """Raises InvalidArguments; the sentence goes on from the file's name."""
    return LoadedText(text=decoded(content))
