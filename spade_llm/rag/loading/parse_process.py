"""The process that parses: content in, text out, nothing else. Reads no document and knows no name.

Run as `python -P -m spade_llm.rag.loading.parse_process MEMORY_BYTES SECONDS`. It ends with its
standard input; a task that takes too long, or too much memory, ends it. Whatever error a parser
has no name for ends it too: whoever asked says so, and starts another one.
"""

from __future__ import annotations

import logging
import resource
import signal
import sys
import warnings
from pathlib import Path

from spade_llm.errors import InvalidArguments
from spade_llm.rag.loading.frames import MAX_HEAD_BYTES, Parsed, Task, write_frame
from spade_llm.rag.loading.kinds import Kind
from spade_llm.rag.loading.parsing import parsed

MAX_WRITTEN_BYTES = 1_000_000
"""To a file: it writes none but its last words."""


def main() -> None:
    memory_bytes, seconds = int(sys.argv[1]), int(sys.argv[2])
    _limit(memory_bytes)
    # Ctrl-C at a terminal reaches it too; whoever asked decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable()
    warnings.simplefilter("ignore")
    while head := sys.stdin.buffer.readline(MAX_HEAD_BYTES):
        task = Task.model_validate_json(head)
        content = sys.stdin.buffer.read(task.size)
        # Should whoever asked be dead, nobody else would end it.
        signal.alarm(seconds)
        answer, text = _answer(Kind(task.kind), content)
        signal.alarm(0)
        write_frame(sys.stdout.buffer, answer, text)
        if answer.is_last:
            return


def _limit(memory_bytes: int) -> None:
    # macOS refuses RLIMIT_AS; there the time limit alone holds.
    if sys.platform == "linux":
        _lower(resource.RLIMIT_AS, memory_bytes)
    _lower(resource.RLIMIT_FSIZE, MAX_WRITTEN_BYTES)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(limit: int, value: int) -> None:
    """Whoever started us may have less itself, and nobody may raise that."""
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))


def _answer(kind: Kind, content: bytes) -> tuple[Parsed, bytes]:
    try:
        loaded = parsed(kind, content)
    except InvalidArguments as error:
        return Parsed(size=0, refusal=str(error), is_last=_has_grown()), b""
    text = loaded.text.encode()
    return (
        Parsed(
            size=len(text),
            page_starts=loaded.page_starts,
            is_markdown=loaded.is_markdown,
            metadata=dict(loaded.metadata),
            is_last=_has_grown(),
        ),
        text,
    )


def _has_grown() -> bool:
    """Beyond half of what it may have: the next file shall have all of it again."""
    if sys.platform != "linux":
        return False
    # Not ru_maxrss: a child begins with that of its parent.
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    return pages * resource.getpagesize() > resource.getrlimit(resource.RLIMIT_AS)[0] // 2


if __name__ == "__main__":
    main()
