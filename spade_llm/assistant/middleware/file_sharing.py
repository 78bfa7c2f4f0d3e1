"""File sharing middleware: ingests files that people send (XEP-0363) into their documents."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from spade_llm.assistant.chat.reply_presenter import LongAnswerSender, export_name
from spade_llm.assistant.commands.command_registry import parse_command
from spade_llm.assistant.middleware.file_messages import FILE_MESSAGES, is_supported_file
from spade_llm.assistant.turn.prompt import render_prompt
from spade_llm.assistant.turn.tool_loop import TurnResult
from spade_llm.assistant.turn.turn import CallNext, TurnOutcome
from spade_llm.core.errors import ModelError, NotFound, PeerUnavailable, RequestError
from spade_llm.core.text import replace_lone_surrogates
from spade_llm.messaging import Encoding
from spade_llm.providers.model import ChatModel, ContextMessage, language_model
from spade_llm.providers.quoted_context import CONTEXT_NAME, QuotedPassage, quote_context
from spade_llm.rag.names import personal_namespace
from spade_llm.search.language import language_of
from spade_llm.xmpp.features.uploads import send_file, upload_host

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.config import FileSharingOptions
    from spade_llm.assistant.history.conversation_cache import Conversation
    from spade_llm.assistant.middleware.file_messages import FileMessages
    from spade_llm.rag.contract import DocumentPage, Ingested
    from spade_llm.rag.remote import RagClient
    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

MAX_NAME_CHARS = 100
MAX_ENDING_CHARS = 12
ENCRYPTED = "aesgcm"
"""Scheme of addresses that hold a key: what lies there only the person's own clients can read."""
_ADDRESS = re.compile(r"(?:https?|aesgcm)://[^\s<>\"]{1,2000}", re.IGNORECASE)
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    url: str
    name: str
    """File name from the URL, made safe for display."""
    text: str = ""
    """Text sent together with the file."""

    @property
    def is_encrypted(self) -> bool:
        return self.url.lower().startswith(ENCRYPTED)


def shared_file(text: str, *, file: str) -> SharedFile | None:
    """File that a message shares, or None. `file`: address that the client marks as a file."""
    if not file:
        # An address inside a text is talked about; one that stands alone may be a file.
        is_address = _ADDRESS.fullmatch(text.strip()) is not None
        return _parse_address(text.strip(), "") if is_address else None
    return _parse_address(file, text.replace(file, "").strip())


def host_of(url: str) -> str:
    """`HOST:PORT` of an address; empty if it is not valid."""
    parts = _split(url)
    try:
        # `port` raises for what is no number, or is above 65535.
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    return f"{parts.hostname}:{port}" if parts.hostname and port else ""


def _parse_address(url: str, text: str) -> SharedFile:
    name = PurePosixPath(unquote(_split(url).path)).name
    return SharedFile(url=url, name=shown_name(name), text=text)


def shown_name(name: str) -> str:
    """File name without bidirectional marks, control characters and paths. The extension, which
    shows the file type, is kept (at most MAX_ENDING_CHARS)."""
    plain = "".join(char for char in name if char.isprintable()).replace("\\", "/")
    path = PurePosixPath(" ".join(plain.rpartition("/")[2].split()).lstrip("."))
    ending = path.suffix[:MAX_ENDING_CHARS]
    return path.name.removesuffix(path.suffix)[: MAX_NAME_CHARS - len(ending)] + ending


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")


TIMEOUT_S = 30.0
"""Timeout of the summary, in seconds, since the sender waits; without a summary they can ask for
one."""
MAX_CHARS = 1500


async def summarize_document(model: ChatModel, beginning: str, *, name: str, language: str) -> str:
    """Summary of a document by the model; empty if the model gave none."""
    if not beginning.strip():
        return ""
    quoted = quote_context(documents=[QuotedPassage(source=name, text=beginning, score=1.0)])
    messages: list[ContextMessage] = [
        {"role": "system", "content": render_prompt("file_summary", language=language)},
        {"role": "user", "content": quoted, "name": CONTEXT_NAME},
        {"role": "user", "content": "What is this document about?"},
    ]
    try:
        async with asyncio.timeout(TIMEOUT_S):
            # No tools: the document is somebody's text, and must not cause a call.
            completion = await model.complete(messages, tool_choice="none")
    except (ModelError, TimeoutError) as error:
        logger.warning("a file could not be summarized: %s", error or "timeout")
        return ""
    return replace_lone_surrogates(completion.text).strip()[:MAX_CHARS]


PROGRESS_EVERY_S = (3.0, 30.0, 300.0)
"""Times after which the person is told that ingestion is still running, in seconds. They are few,
since the messages stay in the chat; nothing is sent for a file that takes less than the first."""
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
class _FileIngestion:
    """State of one file's ingestion."""

    turn_input: ChatTurnInput
    file: SharedFile
    texts: FileMessages


class FileSharingMiddleware:
    """Turn middleware for files that people share."""

    def __init__(
        self,
        library: FileLibrary | None,
        *,
        upload_host: UploadHost,
        rules: FileSharingOptions,
        model: ChatModel | None,
    ) -> None:
        """Create the middleware. `library=None`: files are declined. `model` writes summaries;
        None, or rules: no summaries."""
        self._library = library
        self._upload_host = upload_host
        self._rules = rules
        self._model = model

    async def __call__(
        self, turn_input: ChatTurnInput, conversation: Conversation, call_next: CallNext
    ) -> TurnOutcome:
        file = await self._shared(turn_input)
        if file is None:
            return await call_next(turn_input)
        # The latest messages of a person that sends only a file tell its language.
        said = (one for one in reversed(conversation.messages) if one["role"] == "user")
        language = language_of(file.text, *[str(one["content"]) for one in said][:3])
        reading = _FileIngestion(turn_input=turn_input, file=file, texts=FILE_MESSAGES[language])
        found = await self._read(reading)
        if isinstance(found, str):
            return _outcome(reading, found)
        texts = reading.texts
        if file.text:
            # A question beside the file is answered with what stands in it.
            await _send_message(reading, texts.done(found, name=file.name))
            asked = f"{texts.shared.format(file.name)}\n\n{file.text}"
            return await call_next(replace(turn_input, text=asked))
        summary = ""
        if (model := language_model(self._model)) is not None:
            summary = await summarize_document(
                model, found.beginning, name=file.name, language=language
            )
        return _outcome(reading, texts.done(found, name=file.name, summary=summary))

    async def _shared(self, turn_input: ChatTurnInput) -> SharedFile | None:
        """File that the message shares. An address alone is one only on our own server: others are
        a subject of conversation."""
        message = turn_input.message
        if message.encoding is not Encoding.PLAIN or not self._rules.takes:
            return None
        said = message.said.file
        file = shared_file(turn_input.text, file=said)
        if file is None or said or file.is_encrypted:
            return file
        is_ours = host_of(file.url) == await self._upload_host()
        return file if is_ours else None

    async def _read(self, reading: _FileIngestion) -> Ingested | str:
        """Ingest the file; a text is the reason for a refusal."""
        file, texts = reading.file, reading.texts
        if file.is_encrypted:
            return texts.encrypted
        if reading.turn_input.message.said.room:
            return texts.in_private
        if self._library is None:
            return texts.no_documents
        # Judged by its name: what cannot be read is not fetched.
        if not is_supported_file(file.name):
            return texts.kind.format(file.name or "it")
        try:
            return await self._taken(self._library, reading)
        except RequestError as error:
            logger.info("a file of %s was not ingested: %s", reading.turn_input.peer, error)
            is_away = isinstance(error, PeerUnavailable)
            code, reason = error.wire_code, error.detail
            return texts.refusal(code, name=file.name, reason=reason, is_away=is_away)
        except TimeoutError:
            return texts.too_long.format(file.name)

    async def _taken(self, library: FileLibrary, reading: _FileIngestion) -> Ingested | str:
        """Ingest the file with the turn's slot released: other requests are processed meanwhile,
        and the turn's time limit is suspended."""
        turn_input, mine = reading.turn_input, personal_namespace(reading.turn_input.peer)
        async with (
            turn_input.release_slot(),
            _progress_messages(reading),
            asyncio.timeout(self._rules.seconds),
        ):
            count = await _count(library, mine)
            if count >= self._rules.max_files:
                return reading.texts.too_many.format(count)
            return await library.ingest_url(
                reading.file.url,
                source=reading.file.name,
                namespace=mine,
                # The turn's id: resumed after a kill, it takes up the same ingestion.
                id=f"{turn_input.id}.file",
            )


async def _count(library: FileLibrary, namespace: str) -> int:
    try:
        return (await library.documents(namespace=namespace, limit=LISTED)).total
    except RequestError as error:
        if error.wire_code != NotFound.code:
            raise
        return 0  # This person's first.


@asynccontextmanager
async def _progress_messages(reading: _FileIngestion) -> AsyncIterator[None]:
    """Send progress messages to the person within the block."""
    task = asyncio.create_task(_send_progress(reading))
    try:
        yield
    finally:
        task.cancel()
        # Waits for a message on its way; the task's CancelledError is not raised here.
        await asyncio.gather(task, return_exceptions=True)


async def _send_progress(reading: _FileIngestion) -> None:
    text, passed_s = reading.texts.reading, 0.0
    for at_s in PROGRESS_EVERY_S:
        await asyncio.sleep(at_s - passed_s)
        await _send_message(reading, text.format(reading.file.name))
        text, passed_s = reading.texts.still_reading, at_s


async def _send_message(reading: _FileIngestion, text: str) -> None:
    """Send a progress message; errors are ignored, since the answer follows."""
    if reading.turn_input.tell is not None:
        with suppress(RequestError):
            await reading.turn_input.tell(text)


def _outcome(reading: _FileIngestion, text: str) -> TurnOutcome:
    """Outcome with the file's name, not its address, which gives access to it."""
    result = TurnResult()
    result.close_as(text)
    return TurnOutcome(question=reading.texts.shared.format(reading.file.name), result=result)


class FileSharing:
    """File sharing of an assistant: received files, and long answers as files."""

    def __init__(
        self, agent: XmppAgent, documents: RagClient | None, *, rules: FileSharingOptions
    ) -> None:
        self._agent = agent
        self._documents = documents
        self._rules = rules

    def taking(self, model: ChatModel) -> FileSharingMiddleware:
        return FileSharingMiddleware(
            self._documents,
            upload_host=self._upload_host,
            rules=self._rules,
            model=model,
        )

    async def forget(self, peer: str) -> None:
        """Delete all files that this bare JID has shared. Raises RequestError."""
        if self._documents is None:
            return
        try:
            await self._documents.delete(namespace=personal_namespace(peer))
        except RequestError as error:
            if error.wire_code != NotFound.code:
                raise

    def sending(self) -> LongAnswerSender:
        return LongAnswerSender(
            partial(send_file, self._agent),
            long_answer_chars=self._rules.long_answer_chars,
            name_of=lambda text: export_name("export") if parse_command(text, ("export",)) else "",
        )

    async def _upload_host(self) -> str:
        try:
            return await upload_host(self._agent)
        except RequestError as error:
            logger.info("the server of %s offers no file upload: %s", self._agent.jid, error)
            return ""
