"""From `[files]` to what an assistant does with files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.conversation.file_rules import FileRules

if TYPE_CHECKING:
    from spade_llm.settings import FilesTable


def file_rules_of(table: FilesTable) -> FileRules:
    return FileRules(
        takes=table.take,
        max_files=table.max_files,
        seconds=table.seconds,
        long_answer_chars=table.long_answer_chars,
    )
