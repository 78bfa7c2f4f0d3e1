"""A certificate that somebody else made for our server: read, checked and copied. Makes none."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from spade_llm.errors import ConfigurationError
from spade_llm.xmpp.certificates import KeyPair, dns_names, write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CHAIN = "fullchain.pem"
KEY = "privkey.pem"
CA = "ca.pem"
"""Only where the system does not trust its issuer."""


def take_certificates(
    source: Path, target: Path, names: Sequence[str], *, now: datetime | None = None
) -> KeyPair:
    """Copy what is in `source` (named as certbot does) to `target`; the server reads it there.

    Raises:
        ConfigurationError: a file is missing or unreadable, they are no pair, the time is over, or
            a name is not in the certificate.
    """
    chain, key = _read(source / CHAIN), _read(source / KEY)
    certificate = _checked_pair(source, chain, key)
    _check_time(certificate, source, now or datetime.now(UTC))
    _check_names(certificate, source, names)
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_file(target / KEY, key, mode=0o600)
    write_file(target / CHAIN, chain, mode=0o644)
    return KeyPair(cert_path=target / CHAIN, key_path=target / KEY)


def given_authority(source: Path) -> Path | None:
    """The CA that clients need beside the system's; None: they need none.

    Raises:
        ConfigurationError: the file holds none.
    """
    path = source / CA
    if not path.is_file():
        return None
    try:
        ssl.create_default_context(cafile=str(path))
    except (OSError, ssl.SSLError):
        raise ConfigurationError(
            f"--certificates: {str(path)!r} holds no CA: leave it out if the system trusts yours"
        ) from None
    return path


def covers(name: str, patterns: Sequence[str]) -> bool:
    """Whether one of the certificate's names stands for this one (RFC 9525)."""
    parent = name.partition(".")[2]
    known = {pattern.lower() for pattern in patterns}
    return name.lower() in known or bool(parent) and f"*.{parent.lower()}" in known


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"--certificates: {str(path)!r} cannot be read ({error.strerror}): put {CHAIN} and"
            f" {KEY} there, readable by the user who runs this command"
        ) from None


def _checked_pair(source: Path, chain: bytes, key: bytes) -> x509.Certificate:
    try:
        certificate = x509.load_pem_x509_certificates(chain)[0]
        private = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError):
        raise ConfigurationError(
            f"--certificates: {CHAIN} or {KEY} in {str(source)!r} is no PEM file without a"
            " passphrase: take them as your authority made them"
        ) from None
    if certificate.public_key() != private.public_key():
        raise ConfigurationError(
            f"--certificates: {KEY} in {str(source)!r} is the key of another certificate than the"
            f" first in {CHAIN}: copy both again"
        )
    return certificate


def _check_time(certificate: x509.Certificate, source: Path, now: datetime) -> None:
    if certificate.not_valid_after_utc <= now:
        raise ConfigurationError(
            f"--certificates: {CHAIN} in {str(source)!r} ended on"
            f" {certificate.not_valid_after_utc:%Y-%m-%d}: renew it"
        )


def _check_names(certificate: x509.Certificate, source: Path, names: Sequence[str]) -> None:
    missing = [name for name in names if not covers(name, dns_names(certificate))]
    if missing:
        raise ConfigurationError(
            f"--certificates: {CHAIN} in {str(source)!r} is not for {', '.join(missing)}: ask your"
            f" authority for one certificate with {', '.join(names)}"
        )
