"""The pictures of agents that were given none: one glyph for each kind, in a colour of its own for
each JID (XEP-0392). Pure; knows no stanza.

PNG by hand: two colours and a dozen rows need no imaging library, and come to 200 bytes.
"""

from __future__ import annotations

import colorsys
import hashlib
import struct
import zlib

SCALE = 8
"""Pixels of a point."""
_GLYPHS = {
    "assistant": """
............
.....#......
.....#......
..########..
..#......#..
.##.#..#.##.
.##.#..#.##.
..#......#..
..#.####.#..
..#......#..
..########..
............""",
    "memory": """
............
..########..
..#......#..
..########..
............
..########..
..#......#..
..########..
............
..########..
..#......#..
..########..""",
    "rag": """
............
..######....
..#....##...
..#....###..
..#......#..
..#.####.#..
..#......#..
..#.####.#..
..#......#..
..#.###..#..
..########..
............""",
    "tools": """
............
..##....##..
..##....##..
..########..
...######...
.....##.....
.....##.....
.....##.....
.....##.....
.....##.....
.....##.....
............""",
    "gateway": """
............
.##########.
.#........#.
.#.#.#....#.
.##########.
.#........#.
.#..#..#..#.
.#.#....#.#.
.#..#..#..#.
.#........#.
.##########.
............""",
}
_OTHERS = "assistant"


def portrait(kind: str, jid: str) -> bytes:
    """A PNG of 96 × 96 pixels: always the same for the same agent."""
    rows = _GLYPHS.get(kind, _GLYPHS[_OTHERS]).split()
    return _png([[point == "#" for point in row for _ in range(SCALE)] for row in rows], jid)


def _png(rows: list[list[bool]], jid: str) -> bytes:
    """One bit for each pixel: 0 is the ground, 1 the glyph. Each row stands SCALE times."""
    side = len(rows) * SCALE
    lines = b"".join((b"\0" + _bits(row)) * SCALE for row in rows)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 3, 0, 0, 0)),
            _chunk(b"PLTE", _ground(jid) + b"\xff\xff\xff"),
            _chunk(b"IDAT", zlib.compress(lines, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _bits(row: list[bool]) -> bytes:
    return int("".join("01"[point] for point in row), 2).to_bytes(len(row) // 8)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + _crc(kind + content)


def _crc(content: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(content))


def _ground(jid: str) -> bytes:
    """Dark enough for white on it, whatever the hue."""
    hue = int.from_bytes(hashlib.sha1(jid.encode(), usedforsecurity=False).digest()[:2], "little")
    return bytes(round(255 * part) for part in colorsys.hls_to_rgb(hue / 65536, 0.38, 0.55))
