"""Whom a memory is about, in the one spelling by which that person finds it. Knows no store."""

from __future__ import annotations

import re

IN = " in "
"""Behind a person's JID, in front of the room that they said something in."""
JID = re.compile(r"([^@/\s]+@[^@/\s]+)(/.*)?", re.DOTALL)


def known_as(subject: str | None) -> str | None:
    """`Ada@Home/phone` is `ada@home`; what is no JID stays as it is."""
    found = JID.fullmatch(subject or "")
    return found[1].lower() if found else subject


def in_rooms(subject: str) -> tuple[str, str]:
    """What this person is as a subject in any room: from the first of these to before the second.
    Apart from what they are in private, so that a room never finds that."""
    return subject + IN, subject + IN[:-1] + "!"


def who_is(subject: str) -> str:
    """The JID that stands for this subject: of somebody in a room their own, or else the room's."""
    who, _, room = subject.partition(IN)
    return who if JID.fullmatch(who) else room or who
