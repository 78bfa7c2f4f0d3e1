"""Identity of an agent as vCard (XEP-0054, XEP-0292), and a generated default avatar.

The card stands in both forms: vcard-temp (XEP-0054), which every client reads, and vCard4
(XEP-0292), which newer ones prefer.
"""

from __future__ import annotations

import base64
import colorsys
import hashlib
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.stanzas.message_codec import xml_safe_text

VCARD = "vcard-temp"
VCARD4 = "urn:ietf:params:xml:ns:vcard-4.0"
MAX_AVATAR_BYTES = 64 * 1024
"""Maximum size of the picture in bytes: as Base64 it must fit into a stanza with the card."""
MAX_AVATAR_PIXELS = 1024
"""Maximum width and height of the picture in pixels."""
_PNG = b"\x89PNG\r\n\x1a\n"

_READ = {"FN": "FN", "NICKNAME": "NICKNAME", "DESC": "NOTE", "URL": "URL"}
"""Servers that make the card of a vCard4 (Prosody) keep these, one by another name."""
_TYPES_OF_4 = {
    "FN": ("fn", "text"),
    "NICKNAME": ("nickname", "text"),
    "DESC": ("note", "text"),
    "URL": ("url", "uri"),
    "JABBERID": ("impp", "uri"),
}

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Avatar:
    """Avatar as PNG, the only format that XEP-0084 requires of every client."""

    content: bytes
    width: int
    height: int

    @property
    def hash(self) -> str:
        # XEP-0084 and XEP-0153 name a picture by its SHA-1; nothing has to be secure by it.
        return hashlib.sha1(self.content, usedforsecurity=False).hexdigest()

    @property
    def base64(self) -> str:
        return base64.b64encode(self.content).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Profile of an account of the agent's own; what other clients stored there is replaced."""

    name: str = ""
    """Name shown to contacts; empty: the local part of the JID."""
    description: str = ""
    url: str = ""
    avatar: Avatar | None = None
    """Picture; None: none is published."""
    is_published: bool = True
    """False: the account's card and picture are left as they are."""
    shows_load: bool = True
    """The status line says which model it uses and how busy it is."""
    busy_at: int = 16
    """Number of concurrent requests at which the status becomes "do not disturb" (`dnd`)."""
    status_every_s: float = 10.0
    """Minimum interval between two changes of the presence status, in seconds."""

    def __post_init__(self) -> None:
        """Raises ConfigurationError: servers end a stream at what XML cannot carry."""
        for key in ("name", "description", "url"):
            text = getattr(self, key)
            if xml_safe_text(text) != text:
                raise ConfigurationError(f"{key} {text!r}: leave control characters out")

    def named(self, jid_local: str) -> str:
        return self.name or jid_local


def read_avatar(content: bytes) -> Avatar:
    """Raises ConfigurationError: it is no PNG that clients can be sent."""
    if len(content) > MAX_AVATAR_BYTES:
        raise ConfigurationError(f"the picture has over {MAX_AVATAR_BYTES} bytes: make it smaller")
    if not content.startswith(_PNG) or content[12:16] != b"IHDR" or len(content) < 24:
        raise ConfigurationError("the picture is no PNG: save it as one")
    width, height = struct.unpack(">II", content[16:24])
    if not 0 < width <= MAX_AVATAR_PIXELS or not 0 < height <= MAX_AVATAR_PIXELS:
        raise ConfigurationError(
            f"the picture has {width} × {height} pixels: {MAX_AVATAR_PIXELS} at most on a side"
        )
    return Avatar(content=content, width=width, height=height)


def vcard_lines(identity: Identity, *, jid: str) -> dict[str, str]:
    """The lines of its card, by their names in vcard-temp; without those it does not have."""
    name = identity.named(jid.partition("@")[0])
    lines = {
        "FN": name,
        "NICKNAME": name,
        "DESC": identity.description,
        "URL": identity.url,
        "JABBERID": jid,
    }
    return {key: value for key, value in lines.items() if value}


def vcard_temp(card: Mapping[str, str], avatar: Avatar | None) -> ET.Element:
    vcard = ET.Element(f"{{{VCARD}}}vCard")
    for key, value in card.items():
        ET.SubElement(vcard, f"{{{VCARD}}}{key}").text = value
    if avatar is not None:
        photo = ET.SubElement(vcard, f"{{{VCARD}}}PHOTO")
        ET.SubElement(photo, f"{{{VCARD}}}TYPE").text = "image/png"
        ET.SubElement(photo, f"{{{VCARD}}}BINVAL").text = avatar.base64
    return vcard


def is_same_vcard(vcard: ET.Element | None, card: Mapping[str, str], avatar: Avatar | None) -> bool:
    """True if the server's card equals this one; fields that the server adds do not count."""
    if vcard is None:
        return False
    lines = {key: _line(vcard, key) or _line(vcard, other) for key, other in _READ.items()}
    # Base64 may come back in lines (RFC 2045).
    picture = "".join((vcard.findtext(f"{{{VCARD}}}PHOTO/{{{VCARD}}}BINVAL") or "").split())
    wanted = avatar.base64 if avatar else ""
    return picture == wanted and lines == {key: card.get(key, "") for key in lines}


def vcard4(card: Mapping[str, str]) -> ET.Element:
    """Its picture has a place of its own (XEP-0084)."""
    vcard = ET.Element(f"{{{VCARD4}}}vcard")
    for key, value in card.items():
        name, kind = _TYPES_OF_4[key]
        line = ET.SubElement(vcard, f"{{{VCARD4}}}{name}")
        text = f"xmpp:{value}" if key == "JABBERID" else value
        ET.SubElement(line, f"{{{VCARD4}}}{kind}").text = text
    return vcard


def default_avatar(kind: str, jid: str) -> bytes:
    """A PNG of 96 × 96 pixels: always the same for the same agent."""
    rows = _GLYPHS.get(kind, _GLYPHS[_OTHERS]).split()
    # 1 bit per pixel: 0 background, 1 glyph. Each row begins with its filter type; 0 is none.
    bits = ["".join("01"[point == "#"] * SCALE for point in row) for row in rows]
    lines = b"".join((b"\0" + int(row, 2).to_bytes(len(row) // 8)) * SCALE for row in bits)
    # Dark enough for white on it, whatever the hue.
    hue = int.from_bytes(hashlib.sha1(jid.encode(), usedforsecurity=False).digest()[:2], "little")
    rgb = colorsys.hls_to_rgb(hue / 65536, 0.38, 0.55)
    background = bytes(round(255 * part) for part in rgb)
    side = len(rows) * SCALE
    return b"".join(
        (
            _PNG,
            # Bit depth 1, colour type 3: an index into the palette.
            _chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 3, 0, 0, 0)),
            _chunk(b"PLTE", background + b"\xff\xff\xff"),
            _chunk(b"IDAT", zlib.compress(lines, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _line(vcard: ET.Element, key: str) -> str:
    return vcard.findtext(f"{{{VCARD}}}{key}") or ""


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum
