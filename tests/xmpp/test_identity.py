"""Who an agent is to people: pictures, cards, and what its presence says. No server."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.features.profile import LoadLevel, LoadState
from spade_llm.xmpp.stanzas.vcard import (
    MAX_AVATAR_BYTES,
    Identity,
    default_avatar,
    is_same_vcard,
    read_avatar,
    vcard_lines,
    vcard_temp,
)

KINDS = ("assistant", "memory", "rag", "tools")


@pytest.mark.parametrize("kind", KINDS)
def test_a_built_in_picture_is_a_small_png_that_can_be_unpacked(kind: str) -> None:
    content = default_avatar(kind, "assistant@example.org")

    avatar = read_avatar(content)

    assert (avatar.width, avatar.height) == (96, 96)
    assert len(content) < 400
    size = struct.unpack(">I", content[content.index(b"IDAT") - 4 :][:4])[0]
    start = content.index(b"IDAT") + 4
    assert len(zlib.decompress(content[start : start + size])) == 96 * (1 + 96 // 8)


def test_each_kind_and_each_agent_has_a_picture_of_its_own() -> None:
    pictures = {
        default_avatar(kind, jid) for kind in KINDS for jid in ("a@b.example", "c@d.example")
    }

    assert len(pictures) == 2 * len(KINDS)
    assert default_avatar("assistant", "a@b.example") == default_avatar("assistant", "a@b.example")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff\xd8\xff\xe0 a JPEG", "no PNG"),
        (b"", "no PNG"),
        (b"\x89PNG\r\n\x1a\n" + bytes(MAX_AVATAR_BYTES), "bytes"),
        (default_avatar("rag", "x")[:16] + struct.pack(">II", 4000, 10) + b"rest", "4000"),
    ],
)
def test_unsupported_avatars_are_refused_with_a_fix(content: bytes, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        read_avatar(content)


def test_a_card_that_the_server_has_is_recognised_and_another_is_not() -> None:
    identity = Identity(name="Ada's helper", description="Helps <Ada>", url="https://example.org")
    avatar = read_avatar(default_avatar("assistant", "a@b.example"))
    card = vcard_lines(identity, jid="a@b.example")

    kept = vcard_temp(card, avatar)

    assert is_same_vcard(kept, card, avatar)
    assert not is_same_vcard(kept, card, None)
    assert not is_same_vcard(kept, {**card, "DESC": "Helps nobody"}, avatar)
    assert not is_same_vcard(None, card, avatar)


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_load_that_stays_near_a_border_does_not_flicker() -> None:
    clock = Clock()
    level = LoadLevel(busy_at=8, every_s=0.0, clock=clock)

    changes = [level.has_changed(count) for count in (8, 7, 8, 5, 8, 4, 3, 2)]

    assert changes == [True, False, False, False, False, False, True, False]
    assert level.now is LoadState.BUSY


def test_a_change_that_came_too_soon_is_still_to_be_said() -> None:
    clock = Clock()
    level = LoadLevel(busy_at=8, every_s=5.0, clock=clock)

    said = [(level.has_changed(count), level.is_settled) for count in (8, 0)]
    clock.now_s += 5.0
    said.append((level.has_changed(0), level.is_settled))

    assert said == [(True, True), (False, False), (True, True)]


@given(st.lists(st.tuples(st.integers(0, 40), st.floats(0, 3)), max_size=60), st.floats(0.5, 20))
def test_changes_never_come_faster_than_allowed(
    loads: list[tuple[int, float]], every_s: float
) -> None:
    clock = Clock()
    level = LoadLevel(busy_at=8, every_s=every_s, clock=clock)
    changed_at: list[float] = []

    for count, pause_s in loads:
        clock.now_s += pause_s
        if level.has_changed(count, described=str(count)):
            changed_at.append(clock.now_s)

    gaps = [later - earlier for earlier, later in zip(changed_at, changed_at[1:], strict=False)]
    assert all(gap >= every_s for gap in gaps)
