"""Checks of docs/terminology.md, and of the textbook terms by which a search finds a mechanism."""

from __future__ import annotations

import ast
import re

import pytest

from tests.cli.program import ROOT
from tests.test_architecture import sources, tree_of

PAGE = (ROOT / "docs" / "terminology.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| (?P<term>[^|]+) \| [^|]+ \| [^|]* \| (?:`(?P<name>\w+)` in )?"
    r"\[`(?P<shown>[\w/.]+)`\]\(\.\./spade_llm/(?P<path>[\w/.]+)\) \|$",
    re.MULTILINE,
)
ROWS = [match.groupdict() for match in ROW.finditer(PAGE)]


def test_every_row_of_the_page_is_read_here() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]

    assert len(ROWS) == len([line for line in lines if not line.startswith("| term |")])


def test_a_term_stands_once() -> None:
    terms = [row["term"] for row in ROWS]

    assert [term for term in terms if terms.count(term) > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=[row["term"] for row in ROWS])
def test_the_class_of_a_term_is_in_the_named_file(row: dict[str, str | None]) -> None:
    path = ROOT / "spade_llm" / (row["path"] or "")

    assert row["shown"] == row["path"]
    assert path.is_file()
    if row["name"]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert row["name"] in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


MECHANISMS = {
    "admission control": "AdmissionControl",
    "approval": "PendingApprovals",
    "back-off": "XmppConnection",
    "chunking": "Splitting",
    "circuit breaker": "CircuitBreaker",
    "concurrency limit": "ConcurrencyLimiter",
    "contradiction": "ExclusiveValue",
    "drain": "GracefulShutdown",
    "evict": "LruDict",
    "expiry": "TokenStore",
    "graceful shutdown": "Dispatcher",
    "idempotent": "AnswerLog",
    "injection": "QuotedContext",
    "jitter": "XmppConnection",
    "LRU": "LruDict",
    "message correction": "MessageCorrection",
    "middleware": "TurnMiddleware",
    "quota": "PeerQuota",
    "rate limit": "TokenBucket",
    "ranked|ranking": "Ranking|MemorySearch",
    "reconnect": "XmppConnection",
    "semaphore": "ConcurrencyLimiter",
    "streaming": "StreamingMessage",
    "throttle": "FailureThrottle",
    "token": "TokenStore",
    "tool loop": "ToolLoop",
    "truncate": "Truncator",
    "TTL": "AnswerLog",
}
"""Textbook terms, and a class of the file in which the mechanism is."""


@pytest.mark.parametrize(("term", "names"), MECHANISMS.items(), ids=list(MECHANISMS))
def test_a_search_for_the_textbook_term_finds_the_file(term: str, names: str) -> None:
    """The search reads names of files and classes, and first lines of their docstrings."""
    texts = [
        text
        for path in sources()
        for text in [_searched_text(path.stem, tree_of(path))]
        if re.search(rf"^(?:{names})$", text, re.MULTILINE)
    ]

    assert texts
    assert [text for text in texts if not re.search(term, text, re.IGNORECASE)] == []


def _searched_text(name: str, tree: ast.Module) -> str:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    docstrings = [ast.get_docstring(tree), *map(ast.get_docstring, classes)]
    lines = [(text or "").partition("\n")[0] for text in docstrings]
    spaced = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", node.name) for node in classes]
    names = [node.name for node in classes]
    return "\n".join([name.replace("_", " "), *names, *spaced, *lines])
