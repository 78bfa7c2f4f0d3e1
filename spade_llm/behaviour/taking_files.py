"""A file that a person shares goes to the documents' agent, under this person's namespace.

A layer: it answers in the turn's place, or lets the turn answer what was said beside the file.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from spade_llm.acl import Encoding
from spade_llm.behaviour.layers import Outcome
from spade_llm.conversation.file_summary import summary_of
from spade_llm.conversation.file_texts import FILE_TEXTS, is_read
from spade_llm.conversation.shared_file import host_of, shared_file
from spade_llm.conversation.turn import TurnResult
from spade_llm.errors import NotFound, PeerUnavailable, RequestError
from spade_llm.providers.offline_words import language_of
from spade_llm.rag.names import personal_namespace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.behaviour.layers import Proceed
    from spade_llm.conversation.file_rules import FileRules
    from spade_llm.conversation.file_texts import FileTexts
    from spade_llm.conversation.history import Conversation
    from spade_llm.conversation.shared_file import SharedFile
    from spade_llm.providers.model import ChatModel
    from spade_llm.rag.documents import DocumentPage, Ingested
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)

TOLD_AFTER_S = (3.0, 30.0, 300.0)
"""When a person is told that it is still being read: so often at the most, since the messages stay
in their chat. After less than the first nothing is said, for the answer is there."""
LISTED = 1


class FileLibrary(Protocol):
    """The part of a RagClient that takes files and counts them."""

    async def ingest_url(
        self, url: str, *, source: str, namespace: str, id: str | None
    ) -> Ingested: ...

    async def documents(
        self, *, namespace: str | None, limit: int = 100, offset: int = 0
    ) -> DocumentPage: ...


UploadHost = Callable[[], Awaitable[str]]
"""`HOST:PORT` of our own server's uploads, or nothing. Must not raise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One file, while it is dealt with."""

    utterance: Utterance
    file: SharedFile
    texts: FileTexts
    language: str


class TakingFiles:
    def __init__(
        self,
        library: FileLibrary | None,
        *,
        upload_host: UploadHost,
        rules: FileRules,
        model: ChatModel | None,
    ) -> None:
        """`library=None`: files are declined. `model`: says what a file is about; None: nobody."""
        self._library = library
        self._upload_host = upload_host
        self._rules = rules
        self._model = model

    async def __call__(
        self, utterance: Utterance, conversation: Conversation, proceed: Proceed
    ) -> Outcome:
        file = await self._shared(utterance)
        if file is None:
            return await proceed(utterance)
        language = language_of(file.text, *_said_before(conversation))
        reading = _Reading(
            utterance=utterance, file=file, texts=FILE_TEXTS[language], language=language
        )
        found = await self._read(reading)
        if isinstance(found, str):
            return _outcome(reading, found)
        return await self._told(reading, found, proceed)

    async def _shared(self, utterance: Utterance) -> SharedFile | None:
        """An address alone is a file only on our own server: any other is something to talk of."""
        message = utterance.message
        if message.encoding is not Encoding.PLAIN or not self._rules.takes:
            return None
        said = message.said.file
        file = shared_file(utterance.text, file=said)
        if file is None or said or file.is_encrypted:
            return file
        is_ours = host_of(file.url) == await self._upload_host()
        return file if is_ours else None

    async def _read(self, reading: _Reading) -> Ingested | str:
        """What became of it; text: why nothing did."""
        file, texts = reading.file, reading.texts
        if file.is_encrypted:
            return texts.encrypted
        if reading.utterance.message.said.room:
            return texts.in_private
        if self._library is None:
            return texts.no_documents
        if not is_read(file.name):
            return texts.kind.format(file.name or "it")
        try:
            return await self._taken(self._library, reading)
        except RequestError as error:
            logger.info("a file of %s was not read: %s", reading.utterance.peer, error)
            is_away = isinstance(error, PeerUnavailable)
            code, reason = error.wire_code, error.detail
            return texts.refusal(code, name=file.name, reason=reason, is_away=is_away)
        except TimeoutError:
            return texts.too_long.format(file.name)

    async def _taken(self, library: FileLibrary, reading: _Reading) -> Ingested | str:
        """Its wait is nobody else's: others are served, and the turn's time stands still."""
        utterance, mine = reading.utterance, personal_namespace(reading.utterance.peer)
        async with utterance.aside(), _telling(reading), asyncio.timeout(self._rules.seconds):
            count = await _count(library, mine)
            if count >= self._rules.max_files:
                return reading.texts.too_many.format(count)
            return await library.ingest_url(
                reading.file.url,
                source=reading.file.name,
                namespace=mine,
                id=f"{utterance.id}.file",
            )

    async def _told(self, reading: _Reading, found: Ingested, proceed: Proceed) -> Outcome:
        """A question beside the file is answered with what stands in it."""
        file, texts = reading.file, reading.texts
        if not file.text:
            summary = await self._summary(reading, found)
            return _outcome(reading, texts.done(found, name=file.name, summary=summary))
        await _tell(reading, texts.done(found, name=file.name))
        asked = f"{texts.shared.format(file.name)}\n\n{file.text}"
        return await proceed(replace(reading.utterance, text=asked))

    async def _summary(self, reading: _Reading, found: Ingested) -> str:
        if self._model is None:
            return ""
        return await summary_of(
            self._model, found.beginning, name=reading.file.name, language=reading.language
        )


async def _count(library: FileLibrary, namespace: str) -> int:
    try:
        return (await library.documents(namespace=namespace, limit=LISTED)).total
    except RequestError as error:
        if error.wire_code != NotFound.code:
            raise
        return 0  # This person's first.


@asynccontextmanager
async def _telling(reading: _Reading) -> AsyncIterator[None]:
    """Within its block the person is told now and then that it is still being read."""
    task = asyncio.create_task(_tell_on(reading))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _tell_on(reading: _Reading) -> None:
    text, passed_s = reading.texts.reading, 0.0
    for at_s in TOLD_AFTER_S:
        await asyncio.sleep(at_s - passed_s)
        await _tell(reading, text.format(reading.file.name))
        text, passed_s = reading.texts.still_reading, at_s


async def _tell(reading: _Reading, text: str) -> None:
    """Who cannot be told now gets the answer all the same."""
    if reading.utterance.tell is not None:
        with suppress(RequestError):
            await reading.utterance.tell(text)


def _said_before(conversation: Conversation) -> list[str]:
    """Latest first: in which language somebody writes who sends nothing but a file."""
    said = (one for one in reversed(conversation.messages) if one["role"] == "user")
    return [str(one["content"]) for one in said][:3]


def _outcome(reading: _Reading, text: str) -> Outcome:
    """The conversation has the file's name, and not its address, which is a key to it."""
    result = TurnResult()
    result.close_as(text)
    return Outcome(question=reading.texts.shared.format(reading.file.name), result=result)
