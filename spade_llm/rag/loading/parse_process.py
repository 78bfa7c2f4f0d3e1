"""Parser process: limits its memory and time, selects the parser, answers in frames."""

from __future__ import annotations

import json
import logging
import resource
import signal
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.loading.text_files import FileKind

if TYPE_CHECKING:
    from typing import IO

    from spade_llm.rag.loading.text_files import LoadedText

MAX_HEAD_BYTES = 4_000_000
"""Maximum length of a head, far above that of a file with 20 000 pages."""


class ParseTask(BaseModel):
    """Head of a request frame; the content of the file follows."""

    model_config = ConfigDict(frozen=True)

    kind: str
    size: int


class ParseResult(BaseModel):
    """Head of an answer frame; the text follows, in UTF-8."""

    model_config = ConfigDict(frozen=True)

    size: int = Field(ge=0)
    page_starts: tuple[int, ...] = ()
    is_markdown: bool | None = None
    metadata: dict[str, str | int | float | bool] = Field(default_factory=dict)
    refusal: str = ""
    """Reason why there is no text; empty if there is one."""
    is_last: bool = False
    """True if the process ends now, since it has grown."""


def write_frame(to: IO[bytes], head: BaseModel, body: bytes) -> None:
    to.write(json.dumps(head.model_dump()).encode() + b"\n")
    to.write(body)
    to.flush()


def parse_content(kind: FileKind, content: bytes) -> LoadedText:
    """Parse a file. Raises InvalidArguments; the sentence continues from the file name.

    Each parser is imported when it is needed first.
    """
    if kind is FileKind.PDF:
        from spade_llm.rag.loading.pdf import parse_pdf

        return parse_pdf(content)
    if kind is FileKind.DOCX:
        from spade_llm.rag.loading.docx import parse_docx

        return parse_docx(content)
    if kind is FileKind.HTML:
        from spade_llm.rag.loading.html import parse_html

        return parse_html(content)
    if kind in (FileKind.CSV, FileKind.TSV):
        from spade_llm.rag.loading.text_files import parse_csv

        return parse_csv(content, delimiter="\t" if kind is FileKind.TSV else None)
    if kind is FileKind.TEXT:
        from spade_llm.rag.loading.text_files import parse_text

        return parse_text(content)
    from spade_llm.rag.loading.text_files import parse_json, parse_json_lines

    return parse_json(content) if kind is FileKind.JSON else parse_json_lines(content)


MAX_WRITTEN_BYTES = 1_000_000
"""Maximum size in bytes of a file written by the process (RLIMIT_FSIZE); it writes only its error
output."""


def main() -> None:
    memory_bytes, seconds = int(sys.argv[1]), int(sys.argv[2])
    # macOS refuses RLIMIT_AS; there the time limit alone holds.
    if sys.platform == "linux":
        _lower_limit(resource.RLIMIT_AS, memory_bytes)
    _lower_limit(resource.RLIMIT_FSIZE, MAX_WRITTEN_BYTES)
    # A core dump would leave the document's text on the disk.
    _lower_limit(resource.RLIMIT_CORE, 0)
    # Ctrl-C at a terminal reaches this process, too; its parent decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Standard error is for the traceback: its last line is reported as the reason.
    logging.disable()
    warnings.simplefilter("ignore")
    while head := sys.stdin.buffer.readline(MAX_HEAD_BYTES):
        task = ParseTask.model_validate_json(head)
        content = sys.stdin.buffer.read(task.size)
        # Ends the process if its parent has died.
        signal.alarm(seconds)
        answer, text = _parse_answer(FileKind(task.kind), content)
        signal.alarm(0)
        write_frame(sys.stdout.buffer, answer, text)
        if answer.is_last:
            return


def _lower_limit(limit: int, value: int) -> None:
    """Lower a resource limit, but never above the inherited hard limit, which cannot be raised."""
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))


def _parse_answer(kind: FileKind, content: bytes) -> tuple[ParseResult, bytes]:
    try:
        loaded = parse_content(kind, content)
    except InvalidArguments as error:
        return ParseResult(size=0, refusal=str(error), is_last=_exceeds_half_memory()), b""
    text = loaded.text.encode()
    return (
        ParseResult(
            size=len(text),
            page_starts=loaded.page_starts,
            is_markdown=loaded.is_markdown,
            metadata=dict(loaded.metadata),
            is_last=_exceeds_half_memory(),
        ),
        text,
    )


def _exceeds_half_memory() -> bool:
    """True if the process uses more than half of its memory limit; it then ends, so that the next
    file has all the memory."""
    if sys.platform != "linux":
        return False
    # Not ru_maxrss: a child begins with that of its parent.
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    return pages * resource.getpagesize() > resource.getrlimit(resource.RLIMIT_AS)[0] // 2


if __name__ == "__main__":
    main()
