"""Picture of a chat as an SVG: bubbles that appear one after another, without scripts.

A viewer that shows no animations shows all bubbles.
"""

from __future__ import annotations

import textwrap
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.recording.session import Line

WIDTH = 760
MARGIN = 24
LINE_HEIGHT = 20
PADDING = 12
GAP = 14
CHARACTERS = 62
"""Maximum length of a line in a bubble."""
CHARACTER_WIDTH = 8.2
READING_S = 0.8
"""Pause before each bubble."""
SPEAKERS = {"you": "you, in any chat client", "assistant": "assistant@localhost", "shell": ""}

_STYLE = """
text { font-family: system-ui, sans-serif; font-size: 14px; fill: #1c2330; white-space: pre; }
.name { font: 11px system-ui, sans-serif; fill: #5b6475; }
.shell text { font: 13px ui-monospace, monospace; fill: #e8ecf4; }
.you rect { fill: #d8ecff; } .assistant rect { fill: #fff; stroke: #d5dae4; }
.shell rect { fill: #252b38; }
@keyframes appear { from { opacity: 0; transform: translateY(6px); } }
@media (prefers-reduced-motion: no-preference) { g { animation: appear .4s backwards; } }
"""


def draw(lines: Sequence[Line]) -> str:
    """The SVG of a session."""
    parts: list[str] = []
    top = float(MARGIN)
    for number, line in enumerate(lines):
        bubble, height = _bubble(line, top, delay_s=number * READING_S)
        parts.append(bubble)
        top += height + GAP
    spoken = escape(". ".join(f"{line.speaker}: {line.text}" for line in lines), quote=True)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 10:g}"'
            f' role="img" aria-label="{" ".join(spoken.split())}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{WIDTH}" height="{top + 10:g}" rx="10" fill="#f3f5f9"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _bubble(line: Line, top: float, *, delay_s: float) -> tuple[str, float]:
    """A bubble below `top`, and its height with the speaker's name."""
    rows = _rows(line.text)
    width = max(map(len, rows)) * CHARACTER_WIDTH + 2 * PADDING
    height = len(rows) * LINE_HEIGHT + 2 * PADDING - 4
    left = {"you": WIDTH - MARGIN - width, "shell": (WIDTH - width) / 2}.get(line.speaker, MARGIN)
    name = SPEAKERS[line.speaker]
    label = 16 if name else 0
    anchor = "end" if line.speaker == "you" else "start"
    name_at = WIDTH - MARGIN if line.speaker == "you" else left
    texts = [
        f'<text{_weight(words)} x="{left + PADDING:g}"'
        f' y="{top + label + PADDING + 13 + row * LINE_HEIGHT:g}">'
        f"{escape(words.strip('*'), quote=False)}</text>"
        for row, words in enumerate(rows)
    ]
    parts = [
        f'<g class="{line.speaker}" style="animation-delay:{delay_s:g}s">',
        f'<text class="name" x="{name_at:g}" y="{top + 10:g}" text-anchor="{anchor}">{name}</text>'
        if name
        else "",
        f'<rect x="{left:g}" y="{top + label:g}" width="{width:g}" height="{height}" rx="10"/>',
        *texts,
        "</g>",
    ]
    return "".join(parts), label + height


def _weight(row: str) -> str:
    """Bold, as clients show a row in asterisks (XEP-0393)."""
    return ' font-weight="600"' if row.startswith("*") and row.endswith("*") else ""


def _rows(text: str) -> list[str]:
    return [row for line in text.splitlines() for row in textwrap.wrap(line, CHARACTERS) or [""]]
