"""The model of the chaos run: says what was said, stores what it is told to, and notices whose
words it is shown. Knows no fault."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.openai_server import Call, OpenAIServer, Say

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = re.compile(r"\b((?:person|program)\d+)-(\d+)\b")
"""Everything that somebody says or stores begins with their name and a number."""
REMEMBER = "remember"
KEPT = "(kept)"
"""Said only where the memory has acknowledged it."""
STORED = "Stored fact memory"


def names_in(text: str) -> frozenset[str]:
    return frozenset(match[1] for match in MARK.finditer(text))


class ChaosModel(OpenAIServer):
    """Everybody's words are marked, so that another's are seen wherever they get to."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed: list[frozenset[str]] = []
        """Whose words were in one request, where they were several people's."""

    def unscripted(self, body: dict[str, object]) -> Say:
        messages = body["messages"]
        assert isinstance(messages, list)
        names = names_in(json.dumps(messages))
        if len(names) > 1:
            self.mixed.append(names)
        said, result = _last_said(messages)
        if said.endswith(REMEMBER) and result is None:
            arguments = json.dumps({"category": "fact", "content": fact_of(said)})
            return Say(calls=(Call(name="store_memory", arguments=arguments),))
        kept = f" {KEPT}" if result and STORED in result else ""
        return Say(text=f"You said: {said}{kept}")


def fact_of(said: str) -> str:
    """What is stored for `person3-7 remember`."""
    return f"{said.removesuffix(REMEMBER).strip()} is kept"


def _last_said(messages: Iterable[dict[str, object]]) -> tuple[str, str | None]:
    """The last message of a user, and what a tool said to it; None if none was called."""
    said, result = "", None
    for message in messages:
        if message["role"] == "user":
            said, result = str(message["content"]), None
        elif message["role"] == "tool":
            result = str(message["content"])
    return said, result
