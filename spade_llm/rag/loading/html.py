"""Web pages as Markdown: headings, lists, tables, code."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from lxml import etree

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.loading.text_files import (
    BoundedText,
    LoadedText,
    decode_text,
    document_metadata,
    escape_markdown,
    markdown_heading,
    markdown_table_row,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.I)
_SKIPPED_TAGS = {
    *("script", "style", "noscript", "template", "nav", "form", "button", "select", "svg"),
    *("iframe", "object", "head"),
}
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details"),
    *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "header", "hr", "html"),
    *("li", "main", "ol", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th"),
    *("thead", "tr", "ul"),
}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCK_TAGS = {*_HEADINGS, "pre", "tr"}
"""Tags that are written as one block, with all their content."""
_TEXTS = etree.XPath(".//text()[not(parent::script or parent::style or parent::template)]")
_IS_LAYOUT = etree.XPath("boolean(.//table or .//p or .//div or .//ul or .//ol or .//pre)")
"""Test for a table row that serves as page layout and holds no values."""
_SPACE = re.compile(r"\s+")


def parse_html(content: bytes) -> LoadedText:
    """Parse a web page. Raises InvalidArguments; the sentence continues from the file name."""
    text = decode_text(content, _encoding(content))
    root = _tree(text)
    return LoadedText(
        text="" if root is None else _MarkdownWriter().written(root),
        is_markdown=True,
        metadata={} if root is None else document_metadata({"title": root.findtext(".//title")}),
    )


def _tree(text: str) -> etree._Element | None:
    # Without huge_tree, a page with embedded pictures (data: URLs) of 10 MB is cut off.
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        # lxml refuses a str with an encoding declaration, hence the encoded text.
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise InvalidArguments("is not valid HTML") from error
    # The parser repairs what it can; only its log tells that the tree was cut off.
    if any(error.level == etree.ErrorLevels.FATAL for error in parser.error_log):
        raise InvalidArguments("is HTML that is nested too deeply to be read")
    return root


def _encoding(content: bytes) -> str:
    """Return the character set of the <meta> tag at the beginning, as browsers do."""
    found = _CHARSET.search(content[:2048])
    try:
        return codecs.lookup(found[1].decode()).name if found else "utf-8"
    except LookupError as error:
        raise InvalidArguments("names an unknown character set; save it as UTF-8") from error


class _MarkdownWriter:
    """Writes inline text into the open paragraph, and closes it at the edges of blocks."""

    def __init__(self) -> None:
        self._text = BoundedText()
        self._open: list[str] = []
        self._prefix = ""
        self._was_tight = False

    def written(self, root: etree._Element) -> str:
        # Without recursion: a page may be nested more deeply than Python's stack allows.
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "end":
                self._end(element)
            elif self._start(element):
                walk.skip_subtree()
        self._close()
        return str(self._text).strip()

    def _start(self, element: etree._Element) -> bool:
        """Begin an element. True if its content was written already, or is skipped."""
        tag = element.tag
        if not isinstance(tag, str) or tag in _SKIPPED_TAGS:
            return True
        if tag in _BLOCK_TAGS and not (tag == "tr" and _IS_LAYOUT(element)):
            self._close()
            self._add(_render_block(element, tag), is_tight=tag == "tr")
            return True
        if tag in _BLOCKS:
            self._close()
            self._prefix = "- " if tag == "li" else self._prefix
        self._open.append("\n" if tag == "br" else element.text or "")
        return False

    def _end(self, element: etree._Element) -> None:
        if element.tag in _BLOCKS:
            self._close()
            # Left over by an item without text, for instance with a picture only.
            self._prefix = "" if element.tag == "li" else self._prefix
        if element.tail:
            self._open.append(element.tail)

    def _close(self) -> None:
        lines = (_SPACE.sub(" ", line).strip() for line in _kept_breaks(self._open))
        text = "\n".join(filter(None, lines))
        self._open.clear()
        if text:
            is_item = bool(self._prefix)
            self._add(
                f"{self._prefix}{text}" if is_item else escape_markdown(text), is_tight=is_item
            )
            self._prefix = ""

    def _add(self, text: str, *, is_tight: bool) -> None:
        """Items of a list and rows of a table follow each other without a blank line."""
        if text:
            self._text.add(f"\n{text}" if is_tight and self._was_tight else f"\n\n{text}")
            self._was_tight = is_tight


def _kept_breaks(pieces: list[str]) -> Iterator[str]:
    """Split at <br>; line ends of the source count as spaces."""
    line: list[str] = []
    for piece in pieces:
        if piece == "\n":
            yield "".join(line)
            line = []
        else:
            line.append(piece)
    yield "".join(line)


def _render_block(element: etree._Element, tag: str) -> str:
    if tag == "pre":
        return f"```\n{_inner_text(element).strip()}\n```"
    if tag == "tr":
        return markdown_table_row(
            [_inner_text(cell) for cell in element if cell.tag in ("td", "th")]
        )
    return markdown_heading(_inner_text(element), _HEADINGS[tag])


def _inner_text(element: etree._Element) -> str:
    return "".join(map(str, _TEXTS(element)))
