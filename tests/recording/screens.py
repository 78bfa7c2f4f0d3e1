"""Terminal recording as an animated SVG without scripts.

The screens are a column of which one is visible, as on a strip of film; equal rows are stored once.
A viewer that shows no animations, or shall reduce motion, shows the last screen.
"""

from __future__ import annotations

from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.recording.terminal import COLUMNS, ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.color import Color

    from tests.recording.terminal import Screen

CELL = 8.4
LINE_HEIGHT = 19
MARGIN = 18
THEME = TerminalTheme(
    (250, 251, 253),
    (28, 35, 48),
    [(232, 236, 243), (178, 34, 52), (22, 120, 60), (146, 92, 0)]
    + [(30, 90, 180), (140, 50, 150), (0, 112, 125), (91, 100, 117)],
    [(120, 128, 143), (200, 50, 60), (30, 140, 75), (170, 110, 0)]
    + [(40, 110, 210), (160, 70, 175), (0, 130, 145), (28, 35, 48)],
)
"""Colours of a light terminal: background, text, the eight colours, the eight bright ones."""

_STYLE = """
text { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  font-size: 14px; white-space: pre; }
@keyframes play { %s }
@media (prefers-reduced-motion: no-preference) {
  .film { animation: play %.2fs step-end infinite; } }
"""


def draw_screens(film: Sequence[tuple[float, Screen]]) -> str:
    """The SVG of screens of tests.recording.terminal, each with its time in seconds."""
    width, height = COLUMNS * CELL, ROWS * LINE_HEIGHT
    pitch = height + LINE_HEIGHT  # A viewer that scales shows nothing of the neighbouring screens.
    definitions: dict[str, str] = {}
    screens = [
        f'<g transform="translate(0 {number * pitch})">{_screen(screen, definitions)}</g>'
        for number, (_, screen) in enumerate(film)
    ]
    outer = f"{width + 2 * MARGIN:g} {height + 2 * MARGIN}"
    description = Text.from_ansi(film[-1][1].text).plain
    last = (len(film) - 1) * pitch
    rows_once = (f'<g id="{name}">{row}</g>' for row, name in definitions.items())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {outer}" role="img"'
            f' aria-label="{escape(" ".join(description.split()), quote=True)}">',
            f"<style>{_timing([shown_s for shown_s, _ in film], pitch)}</style>",
            f"<defs>{''.join(rows_once)}</defs>",
            f'<rect width="100%" height="100%" rx="10" fill="{THEME.background_color.hex}"'
            ' stroke="#d5dae4"/>',
            f'<svg x="{MARGIN}" y="{MARGIN}" width="{width:g}" height="{height}">',
            f'<g class="film" transform="translate(0 {-last})">',
            *screens,
            "</g></svg></svg>\n",
        ]
    )


def _timing(shown_s: Sequence[float], pitch: int) -> str:
    total_s = sum(shown_s)
    begins = [0.0, *accumulate(shown_s)][:-1]
    keys = " ".join(
        f"{100 * begin_s / total_s:.3f}% {{ transform: translateY({-number * pitch}px); }}"
        for number, begin_s in enumerate(begins)
    )
    return _STYLE % (keys, total_s)


def _screen(screen: Screen, definitions: dict[str, str]) -> str:
    lines = Text.from_ansi(screen.text).split("\n", allow_blank=True)
    parts = []
    for number, line in enumerate(lines):
        if row := _row(line):
            name = definitions.setdefault(row, f"r{len(definitions)}")
            parts.append(f'<use href="#{name}" y="{number * LINE_HEIGHT}"/>')
    if screen.cursor is not None:
        column, row_number = screen.cursor
        parts.append(
            f'<rect x="{column * CELL:g}" y="{row_number * LINE_HEIGHT + 1}" width="{CELL}"'
            f' height="{LINE_HEIGHT - 2}" fill="#1c2330" fill-opacity=".45"/>'
        )
    return "".join(parts)


def _row(line: Text) -> str:
    parts = []
    column = 0
    for segment in line.render(Console(width=1000, color_system="truecolor")):
        style = segment.style or Style()
        columns = segment.cell_length
        ground = _colour(style.color if style.reverse else style.bgcolor, is_text=style.reverse)
        place = f'x="{column * CELL:g}"'
        if ground != THEME.background_color.hex:
            box = f'width="{columns * CELL:g}" height="{LINE_HEIGHT}" fill="{ground}"'
            parts.append(f"<rect {place} {box}/>")
        if segment.text.strip():
            colour = _colour(style.bgcolor if style.reverse else style.color, not style.reverse)
            length = f'textLength="{columns * CELL:g}" lengthAdjust="spacingAndGlyphs"'
            text = escape(segment.text, quote=False)
            parts.append(
                f'<text {place} y="14" {length}{_look(style)} fill="{colour}">{text}</text>'
            )
        column += columns
    return "".join(parts)


def _look(style: Style) -> str:
    looks = {
        ' font-weight="700"': style.bold,
        ' font-style="italic"': style.italic,
        ' opacity=".6"': style.dim,
        ' text-decoration="underline"': style.underline,
    }
    return "".join(look for look, is_on in looks.items() if is_on)


def _colour(colour: Color | None, is_text: bool | None) -> str:
    if colour is None:
        return (THEME.foreground_color if is_text else THEME.background_color).hex
    return colour.get_truecolor(THEME, foreground=bool(is_text)).hex
