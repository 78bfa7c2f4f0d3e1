"""Memory passport commands of the memory agent: /passport, received passport files, /import."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum, auto
from typing import TYPE_CHECKING

from spade_llm.assistant.commands.memory import MAX_EXPORT_BYTES
from spade_llm.assistant.commands.personal_memory import parse_personal_command
from spade_llm.assistant.middleware.file_messages import FILE_MESSAGES
from spade_llm.assistant.middleware.file_sharing import shared_file
from spade_llm.core.errors import (
    HostNotAllowed,
    InvalidArguments,
    NotFound,
    RequestError,
    ServiceError,
    TooLarge,
)
from spade_llm.core.limits import LruDict
from spade_llm.core.text import load_texts, pluralize, single_line
from spade_llm.memory.transfer.passport import (
    InvalidPassport,
    PassportFault,
    fingerprint,
    read_passport,
)
from spade_llm.memory.transfer.passport_import import MAX_IMPORTED
from spade_llm.messaging import Encoding
from spade_llm.search.language import fold_accents

if TYPE_CHECKING:
    from spade_llm.assistant.chat.reply_presenter import SendFile
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.memory.transfer.passport import Passport, PassportHeader
    from spade_llm.memory.transfer.passport_store import PassportStore

MAX_PENDING = 1000
"""Maximum number of people whose received passport waits for a yes (LRU)."""
PENDING_S = 3600.0
"""Time in seconds for which it waits."""
MAX_INLINE_LINE_BYTES = 2500
"""Maximum length of a line of a passport in chat messages of 4000 characters: these are cut between
lines then, so that the messages joined by line breaks are the file."""
SHOWN_AGENTS = 5
MAX_SHOWN_CHARS = 100
"""Maximum length of text of a file in a reply, in characters."""

FetchFile = Callable[[str], Awaitable[bytes]]
"""Downloads an uploaded file. Raises ServiceError."""
KeyOf = Callable[[str], Awaitable[str]]
"""Public key that a bare JID has published; empty: it could not be asked."""

_YES = frozenset({"yes", "si"})
_NO = frozenset({"no"})
_UNDO = frozenset({"undo", "deshacer"})


class IssuerCheck(StrEnum):
    """Result of asking the issuer for its key."""

    CONFIRMED = auto()
    UNKNOWN = auto()
    """It could not be asked."""
    DENIED = auto()
    """It has another key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassportTexts:
    """All replies in one language; `{}` is filled in."""

    memory: tuple[str, str]
    message: tuple[str, str]
    nothing: str
    made: str
    secret: str
    address: str
    left_out: str
    no_upload: str
    what: str
    agents: str
    more_agents: str
    checks: dict[IssuerCheck, str]
    other_address: str
    one_owner: str
    which_owner: str
    no_owner: str
    no_such_owner: str
    none_pending: str
    changed_meanwhile: str
    declined: str
    imported: str
    removed: str
    which_issuer: str
    none_imported: str
    too_many: str
    faults: dict[PassportFault, str]
    foreign_host: str
    gone: str
    too_large: str
    not_fetched: str
    only_in_private: str


TEXTS = load_texts(PassportTexts, __file__, "memory_passport.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingPassport:
    """Passport that was shown and waits for a yes; the file stays where it was uploaded."""

    url: str
    digest: bytes
    shown: str
    until_s: float


class _Refused(Exception):
    """A reply instead of a passport."""


class PassportCommands:
    """Makes passports for people, and imports those that they send, each about themselves."""

    def __init__(
        self,
        passports: PassportStore,
        *,
        send: SendFile,
        fetch: FetchFile,
        key_of: KeyOf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: monotonic, in seconds."""
        self._passports = passports
        self._send = send
        self._fetch = fetch
        self._key_of = key_of
        self._clock = clock
        self._pending: LruDict[str, _PendingPassport] = LruDict(MAX_PENDING)
        self._languages: LruDict[str, str] = LruDict(MAX_PENDING)
        """Language of each person's last command: a file has none."""

    async def answer(self, turn_input: ChatTurnInput) -> str | None:
        """Answer a command or a file; None: it is something else. Raises ServiceError: memory is
        unavailable."""
        command, peer = parse_personal_command(turn_input.text), turn_input.peer
        file = shared_file(turn_input.text, file=turn_input.message.said.file)
        if file is None:
            self._languages[peer] = command.language
            if command.verb not in ("passport", "import"):
                return None
        language = self._languages.get(peer, "en")
        texts = TEXTS[language]
        if turn_input.message.said.room:
            return texts.only_in_private
        if file is not None:
            if file.is_encrypted:
                return FILE_MESSAGES[language].encrypted
            return await self._show(turn_input, file.url, texts)
        if command.verb == "passport":
            return await self._issue(turn_input, texts)
        return await self._import(turn_input, command.argument, texts)

    async def _issue(self, turn_input: ChatTurnInput, texts: PassportTexts) -> str:
        header, content = await self._passports.issue(turn_input.peer)
        if not header.entries + header.messages:
            return texts.nothing
        url = ""
        is_person = turn_input.message.encoding is Encoding.PLAIN
        if is_person:
            name = f"memory-passport-{datetime.now(UTC):%Y-%m-%d-%H%M%S}.jsonl"
            try:
                url = await self._send(turn_input.message, content.decode(), name)
            except (RequestError, OSError):
                url = ""
        if url:
            made = texts.made.format(url, *self._described(header, texts))
            return f"{made}\n{texts.secret}{texts.address}"
        header, content = await self._passports.issue(
            turn_input.peer, max_bytes=MAX_EXPORT_BYTES, max_line_bytes=MAX_INLINE_LINE_BYTES
        )
        if is_person and turn_input.tell is not None:
            told = texts.no_upload.format(*self._described(header, texts))
            await turn_input.tell(f"{told}\n{texts.secret}")
        return content.decode().rstrip("\n")

    def _described(self, header: PassportHeader, texts: PassportTexts) -> tuple[str, ...]:
        left_out = texts.left_out.format(header.left_out) if header.left_out else ""
        return _counts(header, texts), header.issuer, header.fingerprint, left_out

    async def _show(self, turn_input: ChatTurnInput, url: str, texts: PassportTexts) -> str:
        """Describe a received passport, and ask whether to import it."""
        peer = turn_input.peer
        # A file that is refused must not leave an earlier one to be confirmed by mistake.
        self._pending.pop(peer, None)
        try:
            async with turn_input.release_slot():
                passport, digest = await self._read(url, texts)
                check = await self._check_issuer(passport.header)
        except _Refused as refused:
            return str(refused)
        header = passport.header
        checked = texts.checks[check].format(header.issuer, header.fingerprint)
        if check is IssuerCheck.DENIED:
            return checked
        made_at = f"{header.made_at:%Y-%m-%d %H:%M} UTC"
        agents = texts.agents.format(_some(passport.agents, texts)) if passport.agents else ""
        counts = _counts(header, texts)
        lines = [texts.what.format(header.subject, header.issuer, made_at, counts, agents), checked]
        if header.subject != peer:
            lines.append(texts.other_address.format(peer))
        shown = "\n".join(lines)
        self._pending[peer] = _PendingPassport(
            url=url, digest=digest, shown=shown, until_s=self._clock() + PENDING_S
        )
        return f"{shown}\n{_how(await self._passports.owners(peer), texts)}"

    async def _import(self, turn_input: ChatTurnInput, argument: str, texts: PassportTexts) -> str:
        word, _, rest = argument.partition(" ")
        word, peer = fold_accents(word).strip(".!"), turn_input.peer
        if word in _UNDO:
            return await self._undo(peer, rest.strip(), texts)
        pending = self._pending.get(peer)
        if pending is None or pending.until_s < self._clock():
            return texts.none_pending
        if word in _NO:
            del self._pending[peer]
            return texts.declined
        owners = await self._passports.owners(peer)
        if word not in _YES:
            return f"{pending.shown}\n{_how(owners, texts)}"
        owner = _chosen(rest.strip(), owners)
        if owner is None:
            is_wrong = rest.strip() and owners
            wrong = f"{texts.no_such_owner.format(rest.strip()[:80])}\n" if is_wrong else ""
            return wrong + (_listed(owners) if is_wrong else _how(owners, texts))
        return await self._import_pending(turn_input, pending, owner, texts)

    async def _import_pending(
        self, turn_input: ChatTurnInput, pending: _PendingPassport, owner: str, texts: PassportTexts
    ) -> str:
        peer = turn_input.peer
        try:
            async with turn_input.release_slot():
                # Fetched again: waiting files would need bounded room here.
                passport, digest = await self._read(pending.url, texts)
                if digest != pending.digest:
                    return texts.changed_meanwhile
                done = await self._passports.load(passport, subject=peer, owner=owner)
        except _Refused as refused:
            return str(refused)
        except InvalidArguments:
            return texts.too_many.format(MAX_IMPORTED)
        self._pending.pop(peer, None)
        return texts.imported.format(done.added, done.present, owner, passport.header.issuer)

    async def _undo(self, peer: str, issuer: str, texts: PassportTexts) -> str:
        issuers = await self._passports.issuers(peer)
        if not issuer and len(issuers) > 1:
            return texts.which_issuer.format(", ".join(issuers))
        issuer = issuer or next(iter(issuers), "")
        removed = await self._passports.remove(peer, issuer) if issuer else 0
        return texts.removed.format(removed, issuer) if removed else texts.none_imported

    async def _read(self, url: str, texts: PassportTexts) -> tuple[Passport, bytes]:
        """Download and verify a passport. Raises _Refused."""
        try:
            content = await self._fetch(url)
            # In a thread: 10 MB of JSON take half a second.
            return await asyncio.to_thread(read_passport, content), hashlib.sha256(content).digest()
        except InvalidPassport as error:
            detail = single_line(error.detail, MAX_SHOWN_CHARS)
            raise _Refused(texts.faults[error.fault].format(detail)) from None
        except HostNotAllowed:
            raise _Refused(texts.foreign_host) from None
        except NotFound:
            raise _Refused(texts.gone) from None
        except TooLarge:
            raise _Refused(texts.too_large) from None
        except ServiceError as error:
            raise _Refused(texts.not_fetched.format(error)) from None

    async def _check_issuer(self, header: PassportHeader) -> IssuerCheck:
        if header.issuer == self._passports.issuer:
            published = self._passports.public_key
        else:
            published = await self._key_of(header.issuer)
        if not published:
            return IssuerCheck.UNKNOWN
        is_same = fingerprint(published) == header.fingerprint
        return IssuerCheck.CONFIRMED if is_same else IssuerCheck.DENIED


def _counts(header: PassportHeader, texts: PassportTexts) -> str:
    both = (pluralize(header.entries, *texts.memory), pluralize(header.messages, *texts.message))
    return " + ".join(both)


def _some(agents: Sequence[str], texts: PassportTexts) -> str:
    # Their names are text of the file, which must not look like a line of ours.
    names = [single_line(agent, MAX_SHOWN_CHARS) for agent in agents[:SHOWN_AGENTS]]
    shown, more = ", ".join(names), len(agents) - SHOWN_AGENTS
    return texts.more_agents.format(shown, more) if more > 0 else shown


def _how(owners: Sequence[str], texts: PassportTexts) -> str:
    if not owners:
        return texts.no_owner
    if len(owners) == 1:
        return texts.one_owner.format(owners[0])
    return f"{texts.which_owner}\n{_listed(owners)}"


def _listed(owners: Sequence[str]) -> str:
    return "\n".join(f"{number}. {owner}" for number, owner in enumerate(owners, start=1))


def _chosen(choice: str, owners: Sequence[str]) -> str | None:
    """Owner by number or JID; the only one without a choice."""
    if not choice:
        return owners[0] if len(owners) == 1 else None
    if choice.isascii() and choice.isdecimal():
        place = int(choice[:6])
        return owners[place - 1] if 1 <= place <= len(owners) else None
    return choice.lower() if choice.lower() in owners else None
