"""Result pagination: long results in pages, kept per caller until expiry (TTL).

Each caller sees its own results only. They are kept in RAM; after their expiry, the tool must be
called again.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic_core import to_json

from spade_llm.core.errors import InvalidArguments
from spade_llm.providers.model import ToolSpec
from spade_llm.tools.llm_tool import ArgumentValidator
from spade_llm.tools.toolbox import ToolResult, error_result

RESULT_TTL_S = 15 * 60.0
MAX_RESULTS = 256
MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of all stored results, in RAM."""
MAX_RESULTS_OF_CALLER = 32
MAX_BYTES_OF_CALLER = 16 * 1024 * 1024
MAX_PAGE_BYTES = 96 * 1024
"""Maximum size of one page inside a message, with JSON and XML escaping."""
NOTE_CHARS = 200
"""Maximum length of the note at the end of a page."""

_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "result": {"type": "string", "description": "The id in the note at the end of a page."},
        "page": {"type": "integer", "minimum": 1, "description": "Which page, from 1."},
    },
    "required": ["result", "page"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredResult:
    caller: str
    person: str
    pages: tuple[str, ...]
    is_error: bool
    size_bytes: int
    expires_at: float


class ResultPages:
    """Results in pages. If there are too many, the oldest are evicted: first those of the same
    caller, then those of all."""

    def __init__(
        self,
        *,
        name: str = "read_more",
        max_bytes: int = MAX_BYTES,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`name`: of the tool. Two tool agents of one assistant need two names."""
        self.spec = ToolSpec(
            name=name,
            description="Read another page of a long tool result, within 15 minutes.",
            parameters=_PARAMETERS,
        )
        self._check = ArgumentValidator(name, _PARAMETERS)
        self._max_bytes = max_bytes
        self._now = now
        self._kept: OrderedDict[str, _StoredResult] = OrderedDict()

    def first(
        self, caller: str, result: ToolResult, *, page_chars: int, person: str = ""
    ) -> ToolResult:
        """Return the result if it fits one page, else its first page and a note on how to get the
        next. `person`: the person for which the tool was called; an assistant calls for many, and
        each can only read pages of their own results."""
        pages = tuple(_pages(result.text, page_chars))
        if len(pages) == 1:
            return result
        id = secrets.token_hex(4)
        self._keep(
            id,
            _StoredResult(
                caller=caller,
                person=person,
                pages=pages,
                is_error=result.is_error,
                size_bytes=sum(map(sys.getsizeof, pages)),
                expires_at=self._now() + RESULT_TTL_S,
            ),
        )
        return self._format_page(id, self._kept[id], 1)

    def call(self, caller: str, arguments: Mapping[str, object], *, person: str = "") -> ToolResult:
        """Return the requested page of a stored result, or an error result for the model."""
        try:
            self._check.check(arguments)
        except InvalidArguments as error:
            return error_result(f"Invalid arguments for {self.spec.name!r}: {error}")
        # JSON Schema counts 2.0 as an integer, too.
        number = int(float(str(arguments["page"])))
        return self._page((caller, person), str(arguments["result"]), number)

    def _page(self, owner_key: tuple[str, str], id: str, number: int) -> ToolResult:
        self._expire()
        kept = self._kept.get(id)
        # The same answer for both, so that it does not reveal the results of other callers.
        if kept is None or (kept.caller, kept.person) != owner_key:
            return error_result(f"There is no result {id[:32]!r} any more; call its tool again.")
        if number > len(kept.pages):
            return error_result(f"Result {id!r} has {len(kept.pages)} pages.")
        return self._format_page(id, kept, number)

    def _format_page(self, id: str, kept: _StoredResult, number: int) -> ToolResult:
        total = len(kept.pages)
        note = f"[page {number} of {total}, the last]"
        if number < total:
            note = (
                f"[page {number} of {total}; for the next one call {self.spec.name} with"
                f' result "{id}" and page {number + 1}]'
            )
        return ToolResult(text=f"{kept.pages[number - 1]}\n{note}", is_error=kept.is_error)

    def _keep(self, id: str, new: _StoredResult) -> None:
        self._expire()
        self._kept[id] = new
        self._evict([one for one, kept in self._kept.items() if kept.caller == new.caller], True)
        self._evict(list(self._kept), False)

    def _evict(self, ids: list[str], is_one_caller: bool) -> None:
        """Evict the oldest of these results until they are within the limits; keep at least the
        newest."""
        max_bytes = min(MAX_BYTES_OF_CALLER, self._max_bytes) if is_one_caller else self._max_bytes
        max_results = MAX_RESULTS_OF_CALLER if is_one_caller else MAX_RESULTS
        size = sum(self._kept[id].size_bytes for id in ids)
        while len(ids) > 1 and (len(ids) > max_results or size > max_bytes):
            size -= self._kept.pop(ids.pop(0)).size_bytes

    def _expire(self) -> None:
        """Remove expired results. The oldest come first, and all are kept equally long."""
        while self._kept and next(iter(self._kept.values())).expires_at <= self._now():
            self._kept.popitem(last=False)


def _pages(text: str, page_chars: int) -> Iterator[str]:
    """Split the text into pages, at least one; joined, they equal the text."""
    if len(text) <= page_chars and _fits(text):
        yield text
        return
    room = max(page_chars - NOTE_CHARS, 1)
    at = 0
    while at < len(text):
        page = _page_at(text, at, room)
        yield page
        at += len(page)


def _page_at(text: str, at: int, room: int) -> str:
    page = text[at : at + room]
    while not _fits(page):
        page = page[: len(page) // 2]
    if at + len(page) == len(text):
        return page
    # At the end of a line, if there is one in the last fifth: the page stays nearly full.
    line_end = page.rfind("\n", len(page) * 4 // 5) + 1
    return page[:line_end] if line_end else page


def _fits(page: str) -> bool:
    size = len(to_json(page))
    # `&` becomes five bytes in XML, `<` and `>` four: small pages need no count.
    if size * 5 <= MAX_PAGE_BYTES:
        return True
    return size + 4 * page.count("&") + 3 * (page.count("<") + page.count(">")) <= MAX_PAGE_BYTES
