"""One line of Markdown to the spans of Message Styling (XEP-0393): emphasis, code, links. Pure.

One pass: each search goes on from where the one before it ended, so that no line costs more than
its length.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

_TICKS = re.compile("`+")
_RUN = re.compile(r"\*+|_+|~+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ADDRESS = re.compile(r"<?(?:[a-z][a-z0-9+.-]{0,20}:|www\.|[/#.])", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>()\[\]`]*[^\s<>()\[\]`*_~.,;:!?'\"]", re.IGNORECASE)
_WORDS = re.compile(r"[^`*_~\\\[\]<]+")
_BEFORE_URL = re.compile(r"[^`*_~\\\[\]<hH]+")
_AUTOLINK = re.compile(r"<([a-z][a-z0-9+.-]{1,20}:[^\s<>]*)>", re.IGNORECASE)
_MARKS = {("*", 1): "_", ("_", 1): "_", ("*", 2): "*", ("_", 2): "*", ("~", 2): "~"}
"""Of a run of so many characters: what XEP-0393 writes for it."""
_WIDE = 0x2E80
"""From here on scripts without spaces between words, where emphasis may begin within one."""


def styled_spans(line: str) -> str:
    return _Line(line).text()


def plain(line: str) -> str:
    """The same without emphasis: where it stands in emphasis itself."""
    return _Line(line, is_emphatic=False).text()


@dataclass(slots=True)
class _Opener:
    char: str
    length: int
    part: int
    """Where it stands among the parts of the line."""

    @property
    def kind(self) -> tuple[str, int]:
        return self.char, self.length


@dataclass(slots=True)
class _Line:
    line: str
    is_emphatic: bool = True
    parts: list[str] = field(default_factory=list)
    openers: list[_Opener] = field(default_factory=list)
    open_of: Counter[tuple[str, int]] = field(default_factory=Counter)
    bracket: int = -1
    """The part that is the latest `[`; -1: none."""
    ticks: dict[int, list[int]] = field(default_factory=dict)
    """Where runs of so many backticks begin, the last one first."""
    last_parenthesis: int = -1
    has_url: bool = False

    def text(self) -> str:
        for run in reversed(list(_TICKS.finditer(self.line))):
            self.ticks.setdefault(len(run[0]), []).append(run.start())
        self.last_parenthesis, self.has_url = self.line.rfind(")"), "://" in self.line
        at = 0
        while at < len(self.line):
            at = self._read(at)
        return "".join(self.parts)

    def _read(self, at: int) -> int:
        """Takes what begins here; says where the next begins."""
        match self.line[at]:
            case "`":
                return self._code(at)
            case "*" | "_" | "~":
                return self._run(at)
            case "\\":
                return self._escape(at)
            case "[":
                self.bracket = len(self.parts)
                return self._as_it_is("[", at)
            case "]":
                return self._link(at)
            case "<":
                return self._autolink(at)
            case _:
                return self._words(at)

    def _as_it_is(self, text: str, at: int) -> int:
        self.parts.append(text)
        return at + len(text)

    def _code(self, at: int) -> int:
        """XEP-0393 has one backtick on each side; a span that holds one keeps its own."""
        marker = _TICKS.match(self.line, at)
        length = len(marker[0]) if marker else 1
        ends, begin = self.ticks.get(length, []), at + length
        while ends and ends[-1] < begin:
            ends.pop()
        if not ends:
            return self._as_it_is("`" * length, at)
        code, end = self.line[begin : ends[-1]], ends[-1] + length
        is_simple = "`" not in code
        self.parts.append(f"`{code}`" if is_simple else self.line[at:end])
        return end

    def _escape(self, at: int) -> int:
        found = _ESCAPED.match(self.line, at)
        if found is None:
            return self._as_it_is("\\", at)
        self.parts.append(found[1])
        return found.end()

    def _autolink(self, at: int) -> int:
        found = _AUTOLINK.match(self.line, at)
        if found is None:
            return self._as_it_is("<", at)
        self.parts.append(found[1])
        return found.end()

    def _words(self, at: int) -> int:
        """An address is no text: `_` in it is no emphasis."""
        words = _BEFORE_URL if self.has_url else _WORDS
        found = _URL.match(self.line, at) or words.match(self.line, at)
        return self._as_it_is(found[0] if found else self.line[at], at)

    def _link(self, at: int) -> int:
        """`[text](address)` → `text (address)`; anything else in brackets stays."""
        begin = at + 2
        is_link = self.bracket >= 0 and self.line.startswith("](", at)
        if not is_link or self.last_parenthesis < begin or not _ADDRESS.match(self.line, begin):
            return self._as_it_is("]", at)
        end = self._end_of_address(begin)
        self._put_link(self.line[begin:end].strip())
        return end + 1

    def _end_of_address(self, begin: int) -> int:
        """One pair of parentheses may be in it."""
        end = self.line.index(")", begin)
        if "(" in self.line[begin:end] and self.last_parenthesis > end:
            return self.line.index(")", end + 1)
        return end

    def _put_link(self, address: str) -> None:
        text = "".join(self.parts[self.bracket + 1 :])
        self._drop_openers_from(self.bracket)
        if self.bracket:
            # Of a picture.
            self.parts[self.bracket - 1] = self.parts[self.bracket - 1].removesuffix("!")
        shown = address if text in ("", address) else f"{text} ({address})"
        del self.parts[self.bracket :]
        self.parts.append(shown)
        self.bracket = -1

    def _drop_openers_from(self, part: int) -> None:
        while self.openers and self.openers[-1].part >= part:
            self.open_of[self.openers.pop().kind] -= 1

    def _run(self, at: int) -> int:
        found = _RUN.match(self.line, at)
        run = found[0] if found else self.line[at]
        before = self.line[at - 1] if at else " "
        after = self.line[at + len(run)] if at + len(run) < len(self.line) else " "
        left = len(run)
        if len(run) <= 3 and not before.isspace() and not _is_word(after):
            left = self._close(run[0], left)
        if left == len(run) <= 3 and not after.isspace() and not _is_word(before):
            left = self._open(run[0], left)
        self.parts.append(run[0] * left)
        return at + len(run)

    def _close(self, char: str, left: int) -> int:
        """The innermost that this run can close, as often as it goes; how much is left of it."""
        while length := next((n for n in (left, 1, 2) if n <= left and self._has(char, n)), 0):
            while (opener := self.openers.pop()).kind != (char, length):
                self.open_of[opener.kind] -= 1
            self.open_of[opener.kind] -= 1
            mark = _MARKS[opener.kind] if self.is_emphatic else ""
            self.parts[opener.part] = mark
            self.parts.append(mark)
            left -= length
        return left

    def _has(self, char: str, length: int) -> bool:
        return self.open_of[(char, length)] > 0

    def _open(self, char: str, left: int) -> int:
        """Three are two and one."""
        lengths = (2, 1) if left == 3 else (left,)
        if any((char, length) not in _MARKS for length in lengths):
            return left
        for length in lengths:
            self.openers.append(_Opener(char, length, len(self.parts)))
            self.open_of[(char, length)] += 1
            self.parts.append(char * length)
        return 0


def _is_word(char: str) -> bool:
    return char.isalnum() and ord(char) < _WIDE
