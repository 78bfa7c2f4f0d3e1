"""What a request asks for that not every server knows. One that refuses it is asked without.

Knows the fields, not what they mean.
"""

from __future__ import annotations

import json
import logging
import re
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.errors import ModelError
    from spade_llm.providers.openai_request import RequestBody

logger = logging.getLogger(__name__)

KEPT_REFUSALS = 32


def _unsupported(field: str) -> re.Pattern[str]:
    named = rf"\b{field}\b"
    return re.compile(
        rf"un(supported|known|recognized).{{0,40}}{named}|{named}.{{0,20}}not supported",
        re.IGNORECASE,
    )


_COMPLAINT_OF = {
    "stream_options": re.compile(r"stream_options"),
    # OpenAI's reasoning models take no value but their own.
    "temperature": re.compile(r"temperature"),
    # A prompt that is too long is no such complaint, though it may name them.
    "max_tokens": _unsupported("max_tokens"),
    "max_completion_tokens": _unsupported("max_completion_tokens"),
    "response_format": re.compile(
        r"response_format|json.?schema|grammar|structured", re.IGNORECASE
    ),
}
"""How a server's complaint about an optional field reads."""


class Extras:
    """One server's refusals, at most KEPT_REFUSALS: it is not asked for the same again."""

    def __init__(self, *, server: str) -> None:
        self._server = server
        self._refused: deque[str] = deque(maxlen=KEPT_REFUSALS)

    def accepted(self, body: RequestBody) -> RequestBody:
        """The request without what has been refused."""
        left_out = [field for field in _COMPLAINT_OF if _mark(body, field) in self._refused]
        return {field: value for field, value in body.items() if field not in left_out}

    def note(self, error: ModelError, body: RequestBody) -> bool:
        """True if the error is about an optional field of this request: then ask again."""
        from spade_llm.providers.openai_errors import is_bad_request

        if not is_bad_request(error.__cause__):
            return False
        said = str(error.__cause__)
        asked = self.accepted(body)
        fields = [name for name, how in _COMPLAINT_OF.items() if name in asked and how.search(said)]
        self._refused.extend(_mark(body, field) for field in fields)
        for field in fields:
            logger.warning("The model's server %s takes no %s; without it.", self._server, field)
        return bool(fields)


def _mark(body: RequestBody, field: str) -> str:
    """Another schema may be taken where one is refused; hence the value."""
    return f"{field} {json.dumps(body[field], sort_keys=True)}" if field in body else ""
