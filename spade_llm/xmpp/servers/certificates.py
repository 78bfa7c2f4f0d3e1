"""TLS certificates of a server: a local CA, renewal, and import of given certificates.

Clients verify the server by this CA, so local TLS is as strict as TLS to any other server.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from spade_llm.core.errors import ConfigurationError

CA_DAYS = 3650
SERVER_DAYS = 397
"""Validity of a server certificate in days: the maximum for Apple's and Google's clients."""
RENEW_BEFORE = timedelta(days=30)
LOOPBACK = ("127.0.0.1", "::1")
CHAIN_FILE = "fullchain.pem"
KEY_FILE = "privkey.pem"
CA_CERTIFICATE_FILE = "ca.pem"
"""CA certificate; only needed if the system does not trust the issuer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """Paths of the certificate files. Clients need `ca_path` only; keys are readable by the owner
    only."""

    ca_path: Path
    cert_path: Path
    key_path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """Server certificate with its chain, and its private key, from any issuer."""

    cert_path: Path
    key_path: Path


def local_certificates(
    directory: Path, domain: str, *, names: Sequence[str] = (), now: datetime | None = None
) -> Certificates:
    """Return a CA and a server certificate for `domain`, kept in `directory` and renewed in time.

    `names`: other names that its clients know the server by.

    Raises:
        ConfigurationError: the directory cannot be written.
    """
    try:
        # The first is the common name.
        all_names = tuple(dict.fromkeys([domain, f"conference.{domain}", *names, "localhost"]))
        return _kept_certificates(directory, all_names, now or datetime.now(UTC))
    except OSError as error:
        raise ConfigurationError(
            f"the certificates of {domain!r} cannot be kept in {str(directory)!r} "
            f"({error.strerror}); choose another data directory with --data"
        ) from error


def dns_names(certificate: x509.Certificate) -> list[str]:
    """Return the DNS names of a certificate; `*.` stands for one label."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(x509.DNSName)


def write_file(path: Path, content: bytes, *, mode: int) -> None:
    """Replace the file in one step: a reader sees the old file or the new one, never a half."""
    new_path = path.with_name(path.name + ".new")
    # Always a new file (O_EXCL): one that exists would keep its mode, and a link would be followed.
    new_path.unlink(missing_ok=True)
    with open(os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    new_path.replace(path)


def import_certificates(
    source: Path, target: Path, names: Sequence[str], *, now: datetime | None = None
) -> KeyPair:
    """Copy what is in `source` (named as certbot does) to `target`; the server reads it there.

    Raises:
        ConfigurationError: a file is missing or unreadable, they are no pair, the time is over, or
            a name is not in the certificate.
    """
    chain, key = _read_file(source / CHAIN_FILE), _read_file(source / KEY_FILE)
    certificate = _checked_pair(source, chain, key)
    if certificate.not_valid_after_utc <= (now or datetime.now(UTC)):
        raise ConfigurationError(
            f"--certificates: {CHAIN_FILE} in {str(source)!r} ended on"
            f" {certificate.not_valid_after_utc:%Y-%m-%d}: renew it"
        )
    missing = [name for name in names if not name_matches(name, dns_names(certificate))]
    if missing:
        raise ConfigurationError(
            f"--certificates: {CHAIN_FILE} in {str(source)!r} is not for {', '.join(missing)}:"
            f" ask your authority for one certificate with {', '.join(names)}"
        )
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_file(target / KEY_FILE, key, mode=0o600)
    write_file(target / CHAIN_FILE, chain, mode=0o644)
    return KeyPair(cert_path=target / CHAIN_FILE, key_path=target / KEY_FILE)


def imported_ca(source: Path) -> Path | None:
    """The CA that clients need beside the system's; None: they need none.

    Raises:
        ConfigurationError: the file holds none.
    """
    path = source / CA_CERTIFICATE_FILE
    if not path.is_file():
        return None
    try:
        ssl.create_default_context(cafile=str(path))
    except (OSError, ssl.SSLError):
        raise ConfigurationError(
            f"--certificates: {str(path)!r} holds no CA: leave it out if the system trusts yours"
        ) from None
    return path


def name_matches(name: str, patterns: Sequence[str]) -> bool:
    """True if one of the certificate's names matches this name (RFC 9525)."""
    parent = name.partition(".")[2]
    known = {pattern.lower() for pattern in patterns}
    return name.lower() in known or bool(parent) and f"*.{parent.lower()}" in known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Identity:
    """Certificate with its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def _kept_certificates(directory: Path, names: tuple[str, ...], now: datetime) -> Certificates:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    ca = _load(directory / "ca.pem", directory / "ca.key")
    if ca is None or _expires_soon(ca, now):
        ca = _new_ca(now)
        _save(ca, directory / "ca.pem", directory / "ca.key")
    server = _load(directory / "server.pem", directory / "server.key")
    if server is None or not _covers_names(server, ca, names, now):
        server = _new_server(ca, names, now)
        _save(server, directory / "server.pem", directory / "server.key")
    return Certificates(
        ca_path=directory / "ca.pem",
        cert_path=directory / "server.pem",
        key_path=directory / "server.key",
    )


def _load(cert_path: Path, key_path: Path) -> _Identity | None:
    """Return what the two files hold, or None if they are missing, damaged or not a pair."""
    try:
        certificate = x509.load_pem_x509_certificate(cert_path.read_bytes())
        key = serialization.load_pem_private_key(key_path.read_bytes(), password=None)
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        return None
    # So after a kill between the two writes of `_save`: both are then made again.
    if certificate.public_key() != key.public_key():
        return None
    return _Identity(certificate=certificate, key=key)


def _expires_soon(identity: _Identity, now: datetime) -> bool:
    return identity.certificate.not_valid_after_utc - now < RENEW_BEFORE


def _covers_names(server: _Identity, ca: _Identity, names: tuple[str, ...], now: datetime) -> bool:
    if _expires_soon(server, now) or not set(names) <= set(dns_names(server.certificate)):
        return False
    try:
        server.certificate.verify_directly_issued_by(ca.certificate)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _new_ca(now: datetime) -> _Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _x509_name("spade-llm local CA")
    builder = (
        _builder(name, name, key.public_key(), now, days=CA_DAYS)
        # It signs servers only, no other CA.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(_key_identifier(key), critical=False)
    )
    return _Identity(certificate=builder.sign(key, hashes.SHA256()), key=key)


def _new_server(ca: _Identity, names: tuple[str, ...], now: datetime) -> _Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = ca.certificate.subject
    general_names: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
    general_names += [x509.IPAddress(ip_address(address)) for address in LOOPBACK]
    builder = (
        _builder(_x509_name(names[0]), issuer, key.public_key(), now, days=SERVER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(general_names), critical=False)
        .add_extension(_key_identifier(key), critical=False)
        # Python 3.13 verifies strictly, and refuses a certificate without it.
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key()), critical=False
        )
    )
    return _Identity(certificate=builder.sign(ca.key, hashes.SHA256()), key=key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    now: datetime,
    *,
    days: int,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        # An hour back: a client whose clock is slightly behind still accepts it.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
    )


def _x509_name(common_name: str) -> x509.Name:
    # The upper bound of RFC 5280 (ub-common-name); clients look at the alternative names.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _key_identifier(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _save(identity: _Identity, cert_path: Path, key_path: Path) -> None:
    key = identity.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_file(key_path, key, mode=0o600)
    write_file(cert_path, identity.certificate.public_bytes(serialization.Encoding.PEM), mode=0o644)


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"--certificates: {str(path)!r} cannot be read ({error.strerror}): put {CHAIN_FILE} and"
            f" {KEY_FILE} there, readable by the user who runs this command"
        ) from None


def _checked_pair(source: Path, chain: bytes, key: bytes) -> x509.Certificate:
    try:
        certificate = x509.load_pem_x509_certificates(chain)[0]
        private = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError):
        raise ConfigurationError(
            f"--certificates: {CHAIN_FILE} or {KEY_FILE} in {str(source)!r} is no PEM file without"
            " a passphrase: take them as your authority made them"
        ) from None
    if certificate.public_key() != private.public_key():
        raise ConfigurationError(
            f"--certificates: {KEY_FILE} in {str(source)!r} is the key of another certificate than"
            f" the first in {CHAIN_FILE}: copy both again"
        )
    return certificate
