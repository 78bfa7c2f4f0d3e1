"""File messages: replies to a shared file and reasons for refusal, English and Spanish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.core.errors import (
    Busy,
    HostNotAllowed,
    InvalidArguments,
    NotFound,
    QuotaExceeded,
    RequestTimeout,
    TooLarge,
    Unauthorised,
)
from spade_llm.rag.loading.text_files import file_kind

if TYPE_CHECKING:
    from spade_llm.rag.contract import Ingested

MAX_REASON_CHARS = 200
SUPPORTED_FILES = ".txt, .md, .html, .pdf, .docx, .csv, .json, .toml, .yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMessages:
    shared: str
    """Text stored in the conversation instead of the message: file names without URLs."""
    reading: str
    still_reading: str
    read: str
    unchanged: str
    replaced: str
    characters: str
    passage: str
    passages: str
    ask: str
    encrypted: str
    in_private: str
    no_documents: str
    kind: str
    unreadable: str
    too_large: str
    foreign: str
    gone: str
    busy: str
    too_many: str
    full: str
    not_taken: str
    away: str
    too_long: str
    failed: str

    def done(self, found: Ingested, *, name: str, summary: str = "") -> str:
        """Title, size, passages; and what it is about."""
        named = _plain(found.title)
        title = f"“{named}”, " if named and named != name else ""
        passages = self.passage if found.chunks == 1 else self.passages
        size = f"{found.characters} {self.characters}, {found.chunks} {passages}"
        head = self.unchanged if found.was_unchanged else self.read
        later = found.version > 1 and not found.was_unchanged
        notes = [head.format(name, f"{title}{size}"), *([self.replaced] if later else []), self.ask]
        return "\n\n".join(filter(None, [" ".join(notes), summary]))

    def refusal(self, code: str, *, name: str, reason: str, is_away: bool) -> str:
        """Refusal text for a person, for an error code of the RAG agent."""
        if is_away:
            return self.away.format(name)
        said = {
            HostNotAllowed.code: self.foreign,
            InvalidArguments.code: self.unreadable,
            Unauthorised.code: self.not_taken,
            NotFound.code: self.gone,
            Busy.code: self.busy,
            QuotaExceeded.code: self.full,
            TooLarge.code: self.too_large,
            RequestTimeout.code: self.away,
        }
        return said.get(code, self.failed).format(name, _plain(reason))


def is_supported_file(name: str) -> bool:
    """True if files with this name's extension can be ingested."""
    return file_kind(name) is not None


def _plain(reason: str) -> str:
    # Text of others: one line, without marks that turn the direction of writing.
    words = " ".join(reason.split())
    return "".join(char for char in words if char.isprintable())[:MAX_REASON_CHARS].rstrip(".")


FILE_MESSAGES = {
    "en": FileMessages(
        shared="I share a file with you: {}",
        reading="I am reading {} …",
        still_reading="I am still reading {}; /stop ends it.",
        read="I have read {} ({}).",
        unchanged="I know {} already, and nothing has changed in it ({}).",
        replaced="It takes the place of the earlier one.",
        characters="characters",
        passage="passage",
        passages="passages",
        ask="Ask me about it.",
        encrypted="This file is end-to-end encrypted (OMEMO), and I cannot read it. Please switch "
        "encryption off in our chat and send it again.",
        in_private="I take files only in a chat with me alone: please send it there.",
        no_documents="I cannot read files: there is no agent here that keeps documents.",
        kind=f"I cannot read {{}}. I take documents and text: {SUPPORTED_FILES}, and source code.",
        unreadable="I cannot read {}: {}.",
        too_large="{} is too large for me. Please split it.",
        foreign="I take files only from the server that I am on, and fetch nothing from elsewhere; "
        "so I have not looked at {}.",
        gone="{} is not on the server any more. Please send it again.",
        busy="Too many documents are being read right now. Please send {} again in a minute.",
        too_many="You have shared {} files with me already; I take no more until you delete "
        "some (/documents delete NAME).",
        full="I keep files for as many people as I can, and have not read {}.",
        not_taken="The agent that keeps documents here takes none from you: {} was not read.",
        away="The agent that keeps documents cannot be reached now. Please send {} again later.",
        too_long="Reading {} took too long, and I have given up. Please split it.",
        failed="Something went wrong while I read {}. Please send it again.",
    ),
    "es": FileMessages(
        shared="Comparto contigo un archivo: {}",
        reading="Estoy leyendo {} …",
        still_reading="Sigo leyendo {}; con /stop lo dejo.",
        read="He leído {} ({}).",
        unchanged="Ya conozco {}, y no ha cambiado nada ({}).",
        replaced="Ocupa el lugar del anterior.",
        characters="caracteres",
        passage="pasaje",
        passages="pasajes",
        ask="Pregúntame lo que quieras sobre él.",
        encrypted="Este archivo está cifrado de extremo a extremo (OMEMO) y no puedo leerlo. "
        "Desactiva el cifrado en nuestro chat y envíalo otra vez, por favor.",
        in_private="Solo acepto archivos en un chat a solas: envíamelo allí, por favor.",
        no_documents="No puedo leer archivos: aquí no hay ningún agente que guarde documentos.",
        kind=f"No puedo leer {{}}. Acepto documentos y texto: {SUPPORTED_FILES}, y código fuente.",
        unreadable="No puedo leer {}: {}.",
        too_large="{} es demasiado grande para mí. Divídelo, por favor.",
        foreign="Solo acepto archivos del servidor en el que estoy y no busco nada en otros; no he "
        "mirado {}.",
        gone="{} ya no está en el servidor. Envíalo otra vez, por favor.",
        busy="Ahora se están leyendo demasiados documentos. Envía {} otra vez en un minuto.",
        too_many="Ya has compartido {} archivos conmigo; borra alguno (/documents delete NOMBRE).",
        full="Ya guardo archivos de tantas personas como puedo y no he leído {}.",
        not_taken="El agente que guarda documentos no acepta ninguno tuyo: {} no se ha leído.",
        away="El agente que guarda documentos no está disponible. Envía {} más tarde, por favor.",
        too_long="Leer {} ha tardado demasiado y lo he dejado. Divídelo, por favor.",
        failed="Algo ha ido mal al leer {}. Envíalo otra vez, por favor.",
    ),
}
