"""Rules for the names in a library: namespaces and their addresses, sources, documents' ids."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from spade_llm.errors import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_SOURCE_CHARS = 1024
MAX_JID_CHARS = 1024

PERSONAL = "person." + "[0-9a-f]" * 32
"""Names of namespaces that are looked through only where they are named: a pattern for re, and for
GLOB."""
_NAMESPACE = re.compile(r"(?!\.+$)[\w.-]{1,64}")
_BARE_JID = re.compile(r"[^@/\s]+@[^@/\s]+")
_DOMAIN = re.compile(r"[^@/\s]+")
_DOCUMENTS = UUID("8a6e7d3c-1f0b-5d52-9c7e-5f4b0c7b6a11")
"""What ids of documents are made in (RFC 9562 §5.5); drawn once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Which namespace of whose."""

    owner: str
    """A bare JID."""
    name: str

    def __str__(self) -> str:
        """The same for every reader: `owner@domain/name`. No owner and no name has a `/`."""
        return f"{self.owner}/{self.name}"

    def seen_by(self, reader: str) -> str:
        """As this reader says it: its own ones by their name."""
        return self.name if self.owner == reader else str(self)


def parse_address(text: str, *, asker: str) -> Address:
    """`name` is one of the asker's; `owner@domain/name` is whoever's it says.

    Raises:
        InvalidArguments: it is neither.
    """
    owner, slash, name = text.rpartition("/")
    if not slash:
        return Address(owner=asker, name=check_namespace(name))
    if not _BARE_JID.fullmatch(owner) or len(owner) > MAX_JID_CHARS:
        raise _no_name(text)
    # Servers stamp JIDs in lower case (RFC 7622), people write them as they like.
    whose = asker if owner.lower() == asker.lower() else owner.lower()
    return Address(owner=whose, name=check_namespace(name))


def personal_namespace(jid: str) -> str:
    """Where an owner keeps what the one with this bare JID gave it. Says to nobody who that is."""
    digest = hashlib.sha256(jid.lower().encode(errors="surrogatepass")).hexdigest()
    return f"person.{digest[:32]}"


def is_personal(name: str) -> bool:
    return re.fullmatch(PERSONAL, name) is not None


def is_one_of(address: Address, named: Collection[str]) -> bool:
    """Whether its owner, or it alone, is named."""
    return address.owner in named or str(address) in named


def check_namespace(name: str) -> str:
    if not _NAMESPACE.fullmatch(name):
        raise _no_name(name)
    return name


def check_source(source: str) -> str:
    if not source.strip() or len(source) > MAX_SOURCE_CHARS:
        raise InvalidArguments(f"source must be 1 to {MAX_SOURCE_CHARS} characters")
    return source


def check_grantee(to: str, *, owner: str) -> str:
    """In the one spelling by which whoever asks is compared with it."""
    is_one = _BARE_JID.fullmatch(to) or _DOMAIN.fullmatch(to)
    if not is_one or len(to) > MAX_JID_CHARS:
        raise InvalidArguments(f"to: {to[:80]!r} is neither a bare JID nor a domain")
    if to.lower() == owner.lower():
        raise InvalidArguments("to: this namespace is yours already")
    return to.lower()


def grantees(asker: str) -> tuple[str, str]:
    """Under which names somebody may have been let in: its JID and its domain."""
    return asker.lower(), asker.lower().rpartition("@")[2]


def document_id(owner: str, namespace: str, source: str) -> str:
    """Always the same for the same source in the same namespace."""
    return str(uuid5(_DOCUMENTS, f"{owner}/{namespace}/{source}"))


def _no_name(text: str) -> InvalidArguments:
    return InvalidArguments(
        f"namespace {text[:80]!r} is not a name; use 1 to 64 letters, digits, '_', '-' or '.', "
        "for another owner's with its bare JID and '/' before it"
    )
