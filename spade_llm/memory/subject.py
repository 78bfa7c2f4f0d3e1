"""Whom a memory is about, in the one spelling by which that person finds it. Knows no store."""

from __future__ import annotations

import re

JID = re.compile(r"([^@/\s]+@[^@/\s]+)(/.*)?", re.DOTALL)


def known_as(subject: str | None) -> str | None:
    """`Ada@Home/phone` is `ada@home`; what is no JID stays as it is."""
    found = JID.fullmatch(subject or "")
    return found[1].lower() if found else subject
