"""Memory passport: signed file with the memories about one person, to take to another server.

JSON Lines. The first line is the header: format, version, issuer, subject, date, public key and
counts. Each further line is a record `entry` or `message` of the export format (json_lines.py). The
last line has the issuer's Ed25519 signature (RFC 8032) of all bytes before it, exactly as they are
in the file: nothing is serialized again to verify it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    ValidationError,
)

from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.core.text import validation_problems
from spade_llm.memory import validation
from spade_llm.memory.contract import MemoryDraft, ObservedMessage
from spade_llm.memory.database.rows import ROLE_CODES, from_microseconds
from spade_llm.memory.transfer import json_lines
from spade_llm.memory.validation import normalize_subject

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlValue

FORMAT = "spade-llm memory passport"
VERSION = 1
MAX_PASSPORT_BYTES = 10_000_000
MAX_ENTRIES = 5000
MAX_MESSAGES = 5000
MAX_LINE_BYTES = 1_000_000
"""Maximum length of a line in bytes; no valid entry or message is longer."""
MAX_CLOCK_SKEW_S = 86_400.0
"""Dates may be this much, in seconds, after the date of the passport."""
KEY_FILE = "passport.key"
KEY_NODE = "urn:spade-llm:passport-key:1"
"""PEP node in which a memory agent publishes its public key."""
KEY_BYTES = 32
FINGERPRINT_GROUPS = 5
"""Groups of four hexadecimal digits: 80 bits, few enough to compare by eye."""

TRAVELLING_FIELDS = frozenset(
    {
        "id", "owner", "content", "type", "category", "tier", "content_type", "origin", "context",
        "confidence", "subject", "sources", "importance", "importance_reason", "created_at",
        "updated_at", "valid_at", "invalid_at", "expires_at",
    }
)  # fmt: skip
"""Fields of an entry that a passport has. Tags, metadata, sessions and use are the agent's own
records, which mean something to that agent only."""

_BARE_JID = re.compile(r"[^@/\s]+@[^@/\s]+")

Record = tuple[str, "Mapping[str, SqlValue]"]
"""Kind and fields of a record, as `json_lines.decode_record` returns them."""


class PassportFault(StrEnum):
    """Reason for which a file is refused."""

    FOREIGN = "foreign"
    """It is no passport."""
    VERSION = "version"
    INCOMPLETE = "incomplete"
    ALTERED = "altered"
    CONTENT = "content"
    """Signed, and not valid: too large, or a wrong record."""


class InvalidPassport(InvalidArguments):
    """A file is no valid memory passport; `fault` says why, `detail` where."""

    def __init__(self, fault: PassportFault, text: str, *, detail: str = "") -> None:
        super().__init__(text)
        self.fault = fault
        self.detail = detail


class PassportHeader(BaseModel):
    """First line of the file, without format and version."""

    model_config = ConfigDict(frozen=True)

    issuer: str = Field(max_length=validation.MAX_NAME_CHARS)
    """Bare JID of the memory agent that made it."""
    subject: str = Field(max_length=validation.MAX_NAME_CHARS)
    """Bare JID of the person at the issuer."""
    made_at: Annotated[AwareDatetime, AfterValidator(lambda at: at.astimezone(UTC))]
    key: str
    """Public key (Ed25519, Base64 of 32 bytes)."""
    entries: NonNegativeInt
    messages: NonNegativeInt
    left_out: NonNegativeInt = 0
    """Number of older entries and messages that did not fit."""

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passport:
    """A passport with a valid signature and valid records."""

    header: PassportHeader
    records: tuple[Record, ...]

    @property
    def agents(self) -> Sequence[str]:
        """Bare JIDs of the agents that remembered it, in alphabetical order."""
        return sorted({str(values["owner"]) for _, values in self.records})


class PassportKey:
    """Private Ed25519 key of a memory agent."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
        """Public key in Base64."""

    @classmethod
    def generate(cls) -> PassportKey:
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load_or_create(cls, directory: Path) -> PassportKey:
        """Read the key of this agent's directory; create it (mode 600) if there is none. Raises
        ConfigurationError: the file cannot be read or written, or is no such key."""
        path = directory / KEY_FILE
        if not path.exists():
            write_key_file(path, cls.generate())
        return read_key_file(path)

    @classmethod
    def from_pem(cls, pem: str, *, place: str) -> PassportKey:
        """`place`: where it was found. Raises ConfigurationError: it is no such key."""
        try:
            private = load_pem_private_key(pem.encode(), password=None)
        except (ValueError, TypeError):
            private = None
        if not isinstance(private, Ed25519PrivateKey):
            raise ConfigurationError(
                f"{place} is no Ed25519 key: restore it from a backup, or remove it to get a"
                " new one (passports signed by the old one are not recognized any more)"
            )
        return cls(private)

    @property
    def pem(self) -> str:
        """Private key (PKCS #8, not encrypted)."""
        return self._private.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ).decode()

    def sign(self, content: bytes) -> bytes:
        return self._private.sign(content)


def fingerprint(key: str) -> str:
    """Short form of a public key for people to compare: `1a2b 3c4d 5e6f 7a8b 9c0d`."""
    digits = hashlib.sha256(key.encode()).hexdigest()
    return " ".join(digits[4 * place : 4 * place + 4] for place in range(FINGERPRINT_GROUPS))


def header_line(header: PassportHeader) -> str:
    made_at = header.made_at.isoformat(timespec="seconds")
    fields = {"format": FORMAT, "version": VERSION, **header.model_dump(), "made_at": made_at}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def sign_passport(header: PassportHeader, lines: Sequence[str], key: PassportKey) -> bytes:
    """The file: header, records (encoded by `json_lines.encode_record`) and signature."""
    content = "".join(f"{line}\n" for line in (header_line(header), *lines)).encode()
    return content + _signature_line(key.sign(content))


def is_passport(content: bytes) -> bool:
    """True if the first line says so; what follows may still be wrong."""
    try:
        first = json.loads(content.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.get("format") == FORMAT


def read_passport(content: bytes) -> Passport:
    """Verify the signature, then read the records.

    Raises InvalidPassport: nothing of the file can be used; says what is wrong.
    """
    if not is_passport(content):
        raise InvalidPassport(PassportFault.FOREIGN, "it is no memory passport")
    if len(content) > MAX_PASSPORT_BYTES:
        raise _content_fault(f"it has over {MAX_PASSPORT_BYTES} bytes")
    header = _read_header(content.partition(b"\n")[0])
    # The last line: everything before it is signed.
    cut = content.rstrip(b"\n").rfind(b"\n") + 1
    signed, trailer = content[:cut], content[cut:]
    _verify(signed, _read_signature(trailer), header)
    lines = signed.split(b"\n")[1:-1]
    if len(lines) > MAX_ENTRIES + MAX_MESSAGES:
        raise _content_fault(f"it has over {MAX_ENTRIES + MAX_MESSAGES} records")
    records = tuple(
        _read_record(line, header, number=number) for number, line in enumerate(lines, start=2)
    )
    kinds = [kind for kind, _ in records]
    if (kinds.count("entry"), kinds.count("message")) != (header.entries, header.messages):
        raise _content_fault("line 1: the counts are not those of the file")
    return Passport(header=header, records=records)


def read_key_file(path: Path) -> PassportKey:
    """Raises ConfigurationError: the file cannot be read, or is no key."""
    try:
        pem = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise _unusable(path, error) from None
    return PassportKey.from_pem(pem, place=repr(str(path)))


def write_key_file(path: Path, key: PassportKey) -> None:
    """Write the key to a file (mode 600), unless another process has written one meanwhile. Raises
    ConfigurationError: it cannot be written."""
    try:
        _write_once(path, key.pem.encode())
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f"{str(path)!r} cannot be used: {error.strerror}; check its rights")


def _write_once(path: Path, pem: bytes) -> None:
    # Complete under another name first: the agent and the command line may both find none.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as (
            file
        ):
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        try:
            # Not rename: a key that another process has written meanwhile stays.
            os.link(unfinished, path)
        except FileExistsError:
            return
        except OSError:
            # A file system without hard links.
            unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _read_header(line: bytes) -> PassportHeader:
    version = json.loads(line).get("version")
    if version != VERSION:
        said = str(version)[:20]
        raise InvalidPassport(
            PassportFault.VERSION,
            f"version {said} of the format is unknown here ({VERSION} is known): it was made by a"
            " newer spade-llm",
            detail=said,
        )
    try:
        found = PassportHeader.model_validate_json(line, strict=True)
        is_key = len(base64.b64decode(found.key, validate=True)) == KEY_BYTES
    except ValidationError as error:
        problem = validation_problems(error, whole="header", most=1)
        raise _content_fault(f"line 1: {problem}") from None
    except ValueError:
        is_key = False
    if not is_key:
        raise _content_fault("line 1: key is no Ed25519 key")
    for name, jid in (("issuer", found.issuer), ("subject", found.subject)):
        # As people read it: a JID with invisible characters could pass for another one.
        if normalize_subject(jid) != jid or not _BARE_JID.fullmatch(jid) or not jid.isprintable():
            raise _content_fault(f"line 1: {name} is no bare JID in lower case")
    return found


def _signature_line(signature: bytes) -> bytes:
    text = base64.b64encode(signature).decode()
    trailer = {"kind": "signature", "algorithm": "Ed25519", "signature": text}
    return json.dumps(trailer, separators=(",", ":")).encode() + b"\n"


def _read_signature(line: bytes) -> bytes:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("kind") != "signature":
        raise InvalidPassport(
            PassportFault.INCOMPLETE, "it ends without its signature: a part of it is missing"
        )
    try:
        signature = base64.b64decode(str(found.get("signature")), validate=True)
    except (ValueError, binascii.Error):
        return b""
    # The line itself is not signed: one form only, so that no byte of a passport can be changed.
    return signature if line.rstrip(b"\n") == _signature_line(signature).rstrip(b"\n") else b""


def _verify(signed: bytes, signature: bytes, header: PassportHeader) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(header.key)).verify(signature, signed)
    except (InvalidSignature, ValueError):
        raise InvalidPassport(
            PassportFault.ALTERED,
            f"the signature does not fit: it was changed after {header.issuer} had made it",
            detail=header.issuer,
        ) from None


def _read_record(line: bytes, header: PassportHeader, *, number: int) -> Record:
    try:
        if len(line) > MAX_LINE_BYTES:
            raise InvalidArguments(f"it has over {MAX_LINE_BYTES} bytes")
        kind, values = json_lines.decode_record(line.decode())
        if kind not in ("entry", "message"):
            raise InvalidArguments(f"kind: a passport has no {kind}")
        first, end = validation.room_subject_range(header.subject)
        subject = str(values["subject"])
        if subject != header.subject and not first <= subject < end:
            raise InvalidArguments("subject: it is about another person")
        validation.check_name("owner", str(values["owner"]))
        if kind == "entry":
            _check_entry(values, header)
        else:
            _check_message(values, header)
        return kind, values
    except (InvalidArguments, UnicodeDecodeError, RecursionError) as error:
        reason = error if isinstance(error, InvalidArguments) else "it is not a JSON object"
        raise _content_fault(f"line {number}: {reason}") from None


def _check_entry(values: Mapping[str, SqlValue], header: PassportHeader) -> None:
    kept = TRAVELLING_FIELDS | {"access_count"}
    if extra := [name for name, value in values.items() if value is not None and name not in kept]:
        raise InvalidArguments(f"{extra[0]}: a passport has no such field")
    draft = MemoryDraft(
        content=str(values["content"]),
        context=_text(values["context"]),
        confidence=_number(values["confidence"]) or 0.0,
        importance=_number(values["importance"]),
    )
    validation.check_draft(draft)
    validation.check_optional(
        "importance_reason", _text(values["importance_reason"]), validation.MAX_REASON_CHARS
    )
    sources = values["sources"]
    if isinstance(sources, bytes) and len(sources) > 16 * validation.MAX_SOURCES:
        raise InvalidArguments(f"sources must be at most {validation.MAX_SOURCES} ids")
    _check_date("created_at", values["created_at"], header)
    _check_date("updated_at", values["updated_at"], header)
    if _integer(values["updated_at"]) < _integer(values["created_at"]):
        raise InvalidArguments("updated_at must not be before created_at")


def _check_message(values: Mapping[str, SqlValue], header: PassportHeader) -> None:
    if extra := [one for one in ("recalled", "episode") if values[one] is not None]:
        raise InvalidArguments(f"{extra[0]}: a passport has no such field")
    validation.check_name("conversation", str(values["conversation"]))
    _check_date("at", values["at"], header)
    message = ObservedMessage(
        id=str(values["id"]),
        role=ROLE_CODES.value(_integer(values["role"])),
        content=str(values["content"]),
        at=from_microseconds(_integer(values["at"])),
        speaker=_text(values["speaker"]),
    )
    validation.check_messages([message])


def _check_date(name: str, value: SqlValue, header: PassportHeader) -> None:
    at = _integer(value)
    if at <= 0 or at / 1e6 > header.made_at.timestamp() + MAX_CLOCK_SKEW_S:
        raise InvalidArguments(f"{name} must be between 1970 and the date of the passport")


def _text(value: SqlValue) -> str | None:
    return None if value is None else str(value)


def _number(value: SqlValue) -> float | None:
    return value if isinstance(value, float | int) else None


def _integer(value: SqlValue) -> int:
    return value if isinstance(value, int) else 0


def _content_fault(text: str) -> InvalidPassport:
    return InvalidPassport(PassportFault.CONTENT, text, detail=text)
