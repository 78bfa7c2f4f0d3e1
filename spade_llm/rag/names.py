"""Names in a library: namespace addresses, sources, document ids, grantees."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from spade_llm.core.errors import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_SOURCE_CHARS = 1024
MAX_JID_CHARS = 1024

PERSONAL_PATTERN = "person." + "[0-9a-f]" * 32
"""Pattern of personal namespaces, which are searched only if they are named; for `re` and SQLite's
GLOB."""
_NAMESPACE = re.compile(r"(?!\.+$)[\w.-]{1,64}")
_BARE_JID = re.compile(r"[^@/\s]+@[^@/\s]+")
_DOMAIN = re.compile(r"[^@/\s]+")
_DOCUMENT_ID_NAMESPACE = UUID("8a6e7d3c-1f0b-5d52-9c7e-5f4b0c7b6a11")
"""UUID namespace of document ids (RFC 9562 §5.5), drawn once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceAddress:
    """Address of a namespace: owner and name."""

    owner: str
    """A bare JID."""
    name: str

    def __str__(self) -> str:
        """Format the address as `owner@domain/name`; neither part contains a `/`."""
        return f"{self.owner}/{self.name}"

    def seen_by(self, reader: str) -> str:
        """Format the address for a reader; its own namespaces have only their name."""
        return self.name if self.owner == reader else str(self)


def parse_address(text: str, *, asker: str) -> NamespaceAddress:
    """Parse the address of a namespace: `name` belongs to the asker, `owner@domain/name` to the
    named owner.

    Raises:
        InvalidArguments: the text is neither.
    """
    owner, slash, name = text.rpartition("/")
    if not slash:
        return NamespaceAddress(owner=asker, name=check_namespace(name))
    if not _BARE_JID.fullmatch(owner) or len(owner) > MAX_JID_CHARS:
        raise _invalid_name(text)
    # Servers stamp JIDs in lower case (RFC 7622); people may write them otherwise.
    owner = asker if owner.lower() == asker.lower() else owner.lower()
    return NamespaceAddress(owner=owner, name=check_namespace(name))


def personal_namespace(jid: str) -> str:
    """Return the name of the namespace with the documents that the person with this bare JID gave
    to an owner. The name does not reveal the JID."""
    digest = hashlib.sha256(jid.lower().encode(errors="surrogatepass")).hexdigest()
    return f"person.{digest[:32]}"


def is_personal_namespace(name: str) -> bool:
    return re.fullmatch(PERSONAL_PATTERN, name) is not None


def is_named_by(address: NamespaceAddress, named: Collection[str]) -> bool:
    """True if its owner or the namespace itself is named."""
    return address.owner in named or str(address) in named


def check_namespace(name: str) -> str:
    if not _NAMESPACE.fullmatch(name):
        raise _invalid_name(name)
    return name


def check_source(source: str) -> str:
    if not source.strip() or len(source) > MAX_SOURCE_CHARS:
        raise InvalidArguments(f"source must be 1 to {MAX_SOURCE_CHARS} characters")
    return source


def check_grantee(to: str, *, owner: str) -> str:
    """Validate the grantee and normalise its spelling for the comparison with callers."""
    is_one = _BARE_JID.fullmatch(to) or _DOMAIN.fullmatch(to)
    if not is_one or len(to) > MAX_JID_CHARS:
        raise InvalidArguments(f"to: {to[:80]!r} is neither a bare JID nor a domain")
    if to.lower() == owner.lower():
        raise InvalidArguments("to: you already own this namespace")
    return to.lower()


def grantee_names(asker: str) -> tuple[str, str]:
    """Return the names under which the asker may have a grant: its JID and its domain."""
    return asker.lower(), asker.lower().rpartition("@")[2]


def document_id(owner: str, namespace: str, source: str) -> str:
    """Id of a document, determined by its namespace and source."""
    return str(uuid5(_DOCUMENT_ID_NAMESPACE, f"{owner}/{namespace}/{source}"))


def _invalid_name(text: str) -> InvalidArguments:
    return InvalidArguments(
        f"namespace {text[:80]!r} is not valid; use 1 to 64 letters, digits, '_', '-' or '.', "
        "for a namespace of another owner after its bare JID and '/'"
    )
