"""What is said to /llm/chat, as the benchmarks say and read it. Knows no server."""

from __future__ import annotations

import socket

from pydantic import BaseModel


class Message(BaseModel):
    role: str = "user"
    content: str


class Chat(BaseModel):
    messages: list[Message]
    session_id: str = "bench"
    use_rag: bool = True

    @classmethod
    def of(cls, text: str, session: str = "bench") -> Chat:
        return cls(messages=[Message(content=text)], session_id=session)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
