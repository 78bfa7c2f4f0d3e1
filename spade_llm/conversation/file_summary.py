"""What a document is about, in a model's words. Knows no wire."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from spade_llm.conversation.prompt_files import prompt
from spade_llm.errors import ModelError
from spade_llm.providers.quoted import CONTEXT_NAME, QuotedPassage, quote_context
from spade_llm.text.surrogates import readable

if TYPE_CHECKING:
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import ChatModel

logger = logging.getLogger(__name__)

TIMEOUT_S = 30.0
"""Who shared it waits; without a summary they can ask for one."""
MAX_CHARS = 1500


async def summary_of(model: ChatModel, beginning: str, *, name: str, language: str) -> str:
    """Empty: the model gave none."""
    if not beginning.strip():
        return ""
    messages = _messages(beginning, name=name, language=language)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            completion = await model.complete(messages, tool_choice="none")
    except (ModelError, TimeoutError) as error:
        logger.warning("no summary of a file: %s", error or "too late")
        return ""
    return readable(completion.text).strip()[:MAX_CHARS]


def _messages(beginning: str, *, name: str, language: str) -> list[ContextMessage]:
    quoted = quote_context(documents=[QuotedPassage(source=name, text=beginning, score=1.0)])
    return [
        {"role": "system", "content": prompt("file_summary", language=language)},
        {"role": "user", "content": quoted, "name": CONTEXT_NAME},
        {"role": "user", "content": "What is this document about?"},
    ]
