"""What was said and seen, line by line, as Markdown. Knows no client."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

WIDTH = 12
CHANGING = (
    r"\d+ ms",
    r"\d{1,2}:\d\d(:\d\d)?",
    r"\d+\.\d\d s",
    r"\d{4}-\d\d-\d\d",
    r"\b[0-9a-f]{8,}\b",
)
"""What differs from run to run: durations, times, dates, ids."""


@dataclass(slots=True)
class Transcript:
    lines: list[str] = field(default_factory=list)

    def scene(self, title: str) -> None:
        self.lines += ["", f"## {title}", ""]

    def says(self, who: str, text: str) -> None:
        """One speaker's words; further lines stand below the first."""
        first, *rest = text.splitlines() or [""]
        self.lines.append(f"    {who + ':':{WIDTH}}{first}".rstrip())
        self.lines += [f"    {'':{WIDTH}}{line}".rstrip() for line in rest]

    def sees(self, who: str, what: str) -> None:
        self.lines.append(f"    {who + ':':{WIDTH}}({what})")

    def screen(self, text: str) -> None:
        """A terminal, as it stood there, without its empty lines."""
        shown = [line.rstrip() for line in text.splitlines() if line.strip()]
        self.lines += ["```text", *shown, "```"]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip() + "\n"


def shape(text: str) -> str:
    """A transcript without what differs from run to run."""
    for pattern in CHANGING:
        text = re.sub(pattern, "#", text)
    return " ".join(text.split())
