"""Ids of conversations between SPADE agents, as spade_llm 0.3's programs make them."""

from __future__ import annotations

from typing import Protocol
from uuid import uuid4


class Threaded(Protocol):
    """SPADE's Message has it."""

    thread: str | None

    @property
    def sender(self) -> object: ...

    @property
    def to(self) -> object: ...


def generate_unique_id(prefix: str = "session") -> str:
    return f"{prefix}_{uuid4().hex}"


def generate_conversation_id(msg: Threaded) -> str:
    """The message's thread; without one it gets one, named after who talks with whom."""
    if not msg.thread:
        msg.thread = generate_unique_id(f"{_local(msg.sender)}_{_local(msg.to)}")
    return msg.thread


def _local(jid: object) -> str:
    return str(jid).partition("@")[0]
