"""Memory passport commands of the memory agent: /passport, received passport files, /import."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
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
from spade_llm.core.text import fold_accents, pluralize, single_line
from spade_llm.memory.transfer.passport import (
    InvalidPassport,
    PassportFault,
    fingerprint,
    read_passport,
)
from spade_llm.memory.transfer.passport_import import MAX_IMPORTED
from spade_llm.messaging import Encoding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.presentation.reply_presenter import SendFile
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


class IssuerCheck(Enum):
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


ENGLISH = PassportTexts(
    memory=("memory", "memories"),
    message=("message", "messages"),
    nothing="Nothing is remembered about you: there is nothing to take along.",
    made="""\
Your memory passport: {}
It has {} about you, signed by {} (key {}).{}
To take them along: save the file, and send it to the memory agent of the other server.""",
    secret=(
        "Keep it to yourself. It is not encrypted, and has everything that you told, also codes and"
        " passwords."
    ),
    address=" Anybody who has the address can download it until the server deletes it.",
    left_out=" {} older ones do not fit.",
    no_upload=(
        "This server takes no files: copy the lines of my next messages, all of them, into one"
        " file. It has {} about you, signed by {} (key {}).{}"
    ),
    what="This is the memory passport of {}, made by {} on {}: {}{}.",
    agents=" of {}",
    more_agents="{} and {} more",
    checks={
        IssuerCheck.CONFIRMED: "The signature is valid: {} confirms that it is its own.",
        IssuerCheck.UNKNOWN: (
            "The signature is intact, but {} could not be asked whether it is its own. Compare the"
            " key with the one that /passport showed you there: {}."
        ),
        IssuerCheck.DENIED: (
            "I do not take this file: its signature is not by {}, which has another key. It is"
            " forged, or that server has a new key: then ask for a new passport there."
        ),
    },
    other_address="You are {} here: they will be memories about you.",
    one_owner="They go to {}. Write /import yes if you want that, /import no if not.",
    which_owner="Which agent are they for? Write /import yes NUMBER, or /import no.",
    no_owner=(
        "No agent here knows you yet: write a message to your assistant first, and then to me"
        " /import yes."
    ),
    no_such_owner="There is no agent {!r} that knows you. Write /import yes NUMBER:",
    none_pending=(
        "Send me the file of your memory passport here: /passport at the memory agent of the other"
        " server makes it. /import undo removes what you have imported."
    ),
    changed_meanwhile="The file is another one than before. Please send it to me again.",
    declined="Nothing was imported.",
    imported=(
        "Imported: {} new memories and messages; {} were here already. They belong to {} now."
        " /memories lists them, /import undo removes what came from {}."
    ),
    removed="Removed: {} memories and messages that came from {}.",
    which_issuer="You have imported from {}. Write /import undo ADDRESS.",
    none_imported="You have imported nothing.",
    too_many=(
        "That is too much: a person can import {} memories and messages. /import undo removes"
        " earlier ones."
    ),
    faults={
        PassportFault.FOREIGN: "This file is no memory passport: I take those only, for /import.",
        PassportFault.VERSION: (
            "I do not take this file: its format has version {}, which is newer than mine."
        ),
        PassportFault.INCOMPLETE: (
            "I do not take this file: it ends without its signature, so a part of it is missing."
        ),
        PassportFault.ALTERED: (
            "I do not take this file: the signature does not fit, it was changed after {} had made"
            " it."
        ),
        PassportFault.CONTENT: "I do not take this file: it is signed, but not valid ({}).",
    },
    foreign_host=(
        "I only take files from the server that I am on: save the file, and send me the file"
        " itself, not its address."
    ),
    gone="The file is not there any more: please send it again.",
    too_large="The file is too large for a memory passport.",
    not_fetched="I could not download the file; please try again. ({})",
    only_in_private="Please write to me in private for that.",
)

SPANISH = PassportTexts(
    memory=("recuerdo", "recuerdos"),
    message=("mensaje", "mensajes"),
    nothing="No se recuerda nada de ti: no hay nada que llevarse.",
    made="""\
Tu pasaporte de recuerdos: {}
Tiene {} sobre ti, firmados por {} (clave {}).{}
Para llevártelos: guarda el archivo y envíaselo al agente de memoria del otro servidor.""",
    secret=(
        "No se lo des a nadie. No está cifrado y tiene todo lo que contaste, también códigos y"
        " contraseñas."
    ),
    address=" Quien tenga la dirección puede descargarlo hasta que el servidor lo borre.",
    left_out=" {} más antiguos no caben.",
    no_upload=(
        "Este servidor no acepta archivos: copia las líneas de mis próximos mensajes, todas, en un"
        " archivo. Tiene {} sobre ti, firmados por {} (clave {}).{}"
    ),
    what="Es el pasaporte de recuerdos de {}, hecho por {} el {}: {}{}.",
    agents=" de {}",
    more_agents="{} y {} más",
    checks={
        IssuerCheck.CONFIRMED: "La firma es válida: {} confirma que es suya.",
        IssuerCheck.UNKNOWN: (
            "La firma está intacta, pero no se pudo preguntar a {} si es suya. Compara la clave con"
            " la que te mostró /pasaporte allí: {}."
        ),
        IssuerCheck.DENIED: (
            "No acepto este archivo: la firma no es de {}, que tiene otra clave. Está falsificado,"
            " o ese servidor tiene una clave nueva: pide allí otro pasaporte."
        ),
    },
    other_address="Aquí eres {}: serán recuerdos sobre ti.",
    one_owner="Serán de {}. Escribe /importar sí si lo quieres, /importar no si no.",
    which_owner="¿Para qué agente son? Escribe /importar sí NÚMERO, o /importar no.",
    no_owner=(
        "Aquí todavía no te conoce ningún agente: escribe primero un mensaje a tu asistente y"
        " luego a mí /importar sí."
    ),
    no_such_owner="No hay ningún agente {!r} que te conozca. Escribe /importar sí NÚMERO:",
    none_pending=(
        "Envíame aquí el archivo de tu pasaporte de recuerdos: lo hace /pasaporte en el agente de"
        " memoria del otro servidor. /importar deshacer borra lo que has importado."
    ),
    changed_meanwhile="El archivo es distinto del de antes. Envíamelo otra vez, por favor.",
    declined="No se ha importado nada.",
    imported=(
        "Importado: {} recuerdos y mensajes nuevos; {} ya estaban aquí. Ahora son de {}."
        " /recuerdos los enumera, /importar deshacer borra lo que vino de {}."
    ),
    removed="Borrado: {} recuerdos y mensajes que vinieron de {}.",
    which_issuer="Has importado de {}. Escribe /importar deshacer DIRECCIÓN.",
    none_imported="No has importado nada.",
    too_many=(
        "Es demasiado: una persona puede importar {} recuerdos y mensajes. /importar deshacer borra"
        " los anteriores."
    ),
    faults={
        PassportFault.FOREIGN: (
            "Este archivo no es un pasaporte de recuerdos: solo acepto esos, para /importar."
        ),
        PassportFault.VERSION: (
            "No acepto este archivo: su formato tiene la versión {}, más nueva que la mía."
        ),
        PassportFault.INCOMPLETE: (
            "No acepto este archivo: termina sin su firma, así que le falta una parte."
        ),
        PassportFault.ALTERED: (
            "No acepto este archivo: la firma no encaja, fue cambiado después de que {} lo hiciera."
        ),
        PassportFault.CONTENT: "No acepto este archivo: está firmado, pero no es válido ({}).",
    },
    foreign_host=(
        "Solo acepto archivos del servidor en el que estoy: guarda el archivo y envíame el propio"
        " archivo, no su dirección."
    ),
    gone="El archivo ya no está ahí: envíalo otra vez, por favor.",
    too_large="El archivo es demasiado grande para un pasaporte de recuerdos.",
    not_fetched="No pude descargar el archivo; inténtalo otra vez, por favor. ({})",
    only_in_private="Escríbeme en privado para eso, por favor.",
)
TEXTS = {"en": ENGLISH, "es": SPANISH}


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
