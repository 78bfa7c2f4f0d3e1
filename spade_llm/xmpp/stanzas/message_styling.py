"""Message styling (XEP-0393): converts Markdown for chat clients, also while streaming.

Reads line by line, in linear time: what is not closed in its line stays as it is. Code is left
untouched, and no word is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline.state_inline import Scanned, StateInline

if TYPE_CHECKING:
    from markdown_it.token import Token

FENCE = "```"
MAX_TABLE_WIDTH = 44
"""Characters of a line that a telephone shows without breaking it."""

_MARKS = {"em": "_", "strong": "*", "s": "~"}
_MARKUP = re.compile(r"[*_\\\[]|~~|``|<[A-Za-z]")
"""Characters that may have another form in Message Styling; a simple span of code has not."""
_INDENTATION = re.compile(r"(?<=\n)[ \t]+")
_QUOTE = re.compile(r"(?: {0,3}>[> ]*)?")
_RULE = re.compile(r"[*_-][*_\- \t]*$")
_BULLETS = str.maketrans("*+", "--")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_MAY_BE_FENCE = re.compile(r"(?: {0,3}>[> ]*)?[ \t]*(?:`+[^`]*|~{1,2}|~{3,}.*)")
"""A line that has only begun."""
_MAY_BE_RULE_OF_TABLE = re.compile(r"[ \t|:-]*")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,20}:|www\.|[/#.]", re.IGNORECASE)
_REST_OF_URL = re.compile(r"://[^\s<>()\[\]`]*[^\s<>()\[\]`*_~.,;:!?'\"]")
_WIDE = 0x2E80
"""From here on scripts without spaces between words, where emphasis may begin within one."""


def to_message_styling(text: str) -> str:
    """Convert an answer for a chat client."""
    return _Document(text).styled()


def stable_prefix(text: str) -> str:
    """Beginning of a text that is still being written, up to where it can be shown.

    Half a line of code or of a table is left out, and so is a block that has only begun.
    """
    *whole, last = text.split("\n")
    document = _Document("\n".join(whole))
    if (block := document.open_block()) is not None:
        begin, has_body = block
        kept = whole if has_body else whole[:begin]
    elif whole and "|" in whole[-1] and _MAY_BE_RULE_OF_TABLE.fullmatch(last):
        kept = whole[:-1]
    else:
        kept = whole if _MAY_BE_FENCE.fullmatch(last) or "|" in last else [*whole, last]
    return "\n".join(kept).rstrip()


class _Markdown(MarkdownIt):
    """The parts of Markdown that are converted; addresses stay as they are written."""

    def __init__(self) -> None:
        super().__init__("zero")
        self.inline.ruler.at("linkify", _keep_url)
        self.enable(["table", "fence", "blockquote", "hr", "list", "reference", "heading"])
        self.enable(["lheading", "newline", "escape", "backticks", "strikethrough", "emphasis"])
        self.enable(["link", "image", "autolink", "linkify"])
        # Only what begins one of these: each stop costs a try of every rule.
        self.inline.terminator_re = re.compile(r"!\[|:(?=//)|[\n*_~`\\\[\]<]")

    def normalizeLink(self, url: str) -> str:
        return url

    def normalizeLinkText(self, link: str) -> str:
        return link

    def validateLink(self, url: str) -> bool:
        """Whether it looks like an address: `f[0](x)` is code."""
        return _ADDRESS.match(url) is not None


def _keep_url(state: StateInline, silent: bool) -> bool:
    """Inline rule: what looks like emphasis in a bare URL is part of it."""
    if not state.src[max(0, state.pos - 5) : state.pos].lower().endswith(("http", "https")):
        return False
    rest = _REST_OF_URL.match(state.src, state.pos, state.posMax)
    if rest is None:
        return False
    if not silent:
        state.append_pending(rest[0])
    state.pos = rest.end()
    return True


class _Spans(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        """Run of `*`, `_` or `~`: unlike in CommonMark, never within a word (2*3*4), and in
        scripts without spaces also beside punctuation."""
        marker, end = self.src[start], start
        while end < self.posMax and self.src[end] == marker:
            end += 1
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < len(self.src) else " "
        can_open = not after.isspace() and not _is_word(before)
        can_close = not before.isspace() and not _is_word(after)
        return Scanned(can_open, can_close, end - start)


def _is_word(char: str) -> bool:
    return char.isalnum() and ord(char) < _WIDE


_MARKDOWN = _Markdown()


class _Document:
    def __init__(self, text: str) -> None:
        text = text.replace("\r\n", "\n")
        self._lines = text.split("\n")
        self._references: dict[str, Any] = {}
        self._blocks: list[Token] = []
        # With a line break behind each line, the lines of a block of code can be counted.
        _MARKDOWN.block.parse(f"{text}\n", _MARKDOWN, self._references, self._blocks)

    def open_block(self) -> tuple[int, bool] | None:
        """First line of code or a table that may go on, and whether it has more than its head."""
        for token in reversed(self._blocks):
            begin, end = token.map or (0, 0)
            if end == len(self._lines) and token.type == "fence" and not _is_closed(token):
                return begin, end > begin + 1
            if end == len(self._lines) and token.type == "table_open" and "|" in self._lines[-1]:
                return begin, end > begin + 2
        return None

    def styled(self) -> str:
        shown: list[str | None] = [*self._lines]
        for at, token in enumerate(self._blocks):
            begin, end = token.map or (0, 0)
            lines = self._lines[begin:end]
            match token.type:
                case "paragraph_open":
                    lines = self._paragraph(lines, self._blocks[at + 1].content)
                case "heading_open":
                    lines = self._heading(lines, self._blocks[at + 1].content)
                case "fence":
                    lines = _code(token, lines)
                case "table_open":
                    lines = self._table(lines)
                case "hr":
                    lines = [_RULE.sub("---", lines[0])]
                case _:
                    continue
            shown[begin:end] = ["\n".join(lines), *[None] * (end - begin - 1)]
        return "\n".join(line for line in shown if line is not None)

    def _paragraph(self, lines: list[str], content: str) -> list[str]:
        sources = content.split("\n")
        if len(sources) != len(lines):
            # A line of white space that Markdown takes for text: rare, and nothing to style.
            return lines
        # A span of code over several lines becomes one line.
        texts = zip(map(_before, lines, sources), self._spans(content).split("\n"), strict=False)
        return [prefix + text for prefix, text in texts]

    def _heading(self, lines: list[str], content: str) -> list[str]:
        """Line in bold for each line of a title."""
        sources, titles = content.split("\n"), self._plain(content).split("\n")
        prefixes = [_before(*pair).partition("#")[0] for pair in zip(lines, sources, strict=False)]
        shown = [f"{prefix}*{title}*" for prefix, title in zip(prefixes, titles, strict=False)]
        return shown if content else lines

    def _table(self, lines: Sequence[str]) -> list[str]:
        """Columns as code if they are narrow, else a list."""
        quote = _quote_of(lines[0])
        rows = [_cells(line) for line in takewhile(lambda line: "|" in line, lines)]
        # A line without borders is a row for Markdown; models write on below a table.
        rest = [self._spans(line) for line in lines[len(rows) :]]
        # The delimiter row (`|---|`).
        del rows[1]
        texts = [[self._plain(cell).replace("`", "") for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip_longest(*texts, fillvalue="")]
        is_narrow = sum(widths) + 2 * len(widths) <= MAX_TABLE_WIDTH
        shown = _columns(texts, widths) if is_narrow else self._list(*rows)
        return [*(quote + line for line in shown), *rest]

    def _list(self, head: Sequence[str], *rows: Sequence[str]) -> Iterator[str]:
        names = [self._plain(name) for name in head]
        yield f"*{' | '.join(names)}*"
        for row in rows:
            cells = zip_longest(names, map(self._spans, row), fillvalue="")
            yield f"- {'; '.join(f'{name}: {cell}' if name else cell for name, cell in cells)}"

    def _plain(self, source: str) -> str:
        """Text without emphasis, for where it stands in emphasis itself."""
        return self._spans(source, is_emphatic=False)

    def _spans(self, source: str, *, is_emphatic: bool = True) -> str:
        if not _MARKUP.search(source):
            return _INDENTATION.sub("", source)
        state = _Spans(source, _MARKDOWN, self._references, [])
        _MARKDOWN.inline.tokenize(state)
        for rule in _MARKDOWN.inline.ruler2.getRules(""):
            rule(state)
        return _written(state.tokens, is_emphatic=is_emphatic)


def _is_closed(fence: Token) -> bool:
    begin, end = fence.map or (0, 0)
    return fence.content.count("\n") < end - begin - 1


def _before(line: str, source: str) -> str:
    """Prefix of a line of text: quotation marks, a bullet, indentation."""
    return line[: line.rfind(source.lstrip(" \t"))].translate(_BULLETS)


def _quote_of(line: str) -> str:
    quote = _QUOTE.match(line)
    return quote[0] if quote else ""


def _code(fence: Token, lines: Sequence[str]) -> list[str]:
    """Block of code: its fences at the begin of the line, XEP-0393 has no others."""
    quote, (head, *code) = _quote_of(lines[0]), lines
    if _is_closed(fence):
        code.pop()
    bullet = head[len(quote) : head.index(fence.markup)].translate(_BULLETS).rstrip()
    # A fence within code would end it, if it stood at the begin of the line.
    inner = re.compile(rf"^({'[> ]*> ?' if quote else ''})(?={FENCE})")
    code = [inner.sub(r"\1 ", line) if FENCE in line else line for line in code]
    opening = f"{quote}{FENCE}{fence.info.strip()}"
    return [*([quote + bullet] if bullet else []), opening, *code, quote + FENCE]


def _cells(line: str) -> list[str]:
    inner = _QUOTE.sub("", line, count=1).strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.replace("\\|", "|").strip() for cell in _CELL_BORDER.split(inner)]


def _columns(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """Columns of equal width, as code."""
    head, *body = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    )
    return iter((FENCE, head, "  ".join("-" * width for width in widths).rstrip(), *body, FENCE))


def _written(tokens: Iterable[Token], *, is_emphatic: bool = True) -> str:
    parts: list[str] = []
    marks: list[str] = []
    links: list[tuple[Token, int]] = []
    for token in tokens:
        if token.tag in _MARKS and token.nesting == 1:
            mark = _MARKS[token.tag]
            marks.append(mark if is_emphatic and mark not in marks else "")
            parts.append(marks[-1])
        elif token.tag in _MARKS:
            parts.append(marks.pop())
        elif token.tag == "br":
            # No emphasis goes beyond its line in XEP-0393.
            parts += [*reversed(marks), "\n", *marks]
        elif token.type == "link_open":
            links.append((token, len(parts)))
        elif token.type == "link_close":
            link, begin = links.pop()
            parts[begin:] = [_link("".join(parts[begin:]), link.attrs["href"], link)]
        else:
            parts.append(_text(token))
    return "".join(parts)


def _text(token: Token) -> str:
    if token.type == "image":
        return _link(token.content, token.attrs["src"], token)
    code = token.content
    if token.type != "code_inline":
        return code
    # XEP-0393 has one backtick on each side; a span that holds one keeps its own.
    if "`" not in code:
        return f"`{code}`"
    space = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{token.markup}{space}{code}{space}{token.markup}"


def _link(text: str, address: object, link: Token) -> str:
    target = f'{address} "{link.attrs["title"]}"' if "title" in link.attrs else f"{address}"
    if link.info == "auto" or text == target:
        return text
    return f"{text} ({target})" if text else target
