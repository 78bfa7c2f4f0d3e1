"""Certificates of our own: kept, renewed in time, and accepted by a strict client."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography import x509

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.servers.certificates import SERVER_DAYS, Certificates, local_certificates

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def contents(certificates: Certificates) -> tuple[bytes, bytes]:
    return certificates.ca_path.read_bytes(), certificates.cert_path.read_bytes()


def test_certificates_are_kept_while_they_are_valid(tmp_path: Path) -> None:
    first = contents(local_certificates(tmp_path, "localhost", now=NOW))

    later = contents(local_certificates(tmp_path, "localhost", now=NOW + timedelta(days=300)))

    assert later == first


def test_a_certificate_within_thirty_days_of_its_end_is_renewed_by_the_same_ca(
    tmp_path: Path,
) -> None:
    ca, cert = contents(local_certificates(tmp_path, "localhost", now=NOW))
    close = NOW + timedelta(days=SERVER_DAYS - 29)

    new_ca, new_cert = contents(local_certificates(tmp_path, "localhost", now=close))

    assert new_ca == ca
    assert new_cert != cert


def test_a_ca_close_to_its_end_is_renewed_with_everything_below_it(tmp_path: Path) -> None:
    ca, _ = contents(local_certificates(tmp_path, "localhost", now=NOW))

    renewed = local_certificates(tmp_path, "localhost", now=NOW + timedelta(days=3649))

    certificate = x509.load_pem_x509_certificate(renewed.cert_path.read_bytes())
    authority = x509.load_pem_x509_certificate(renewed.ca_path.read_bytes())
    assert contents(renewed)[0] != ca
    certificate.verify_directly_issued_by(authority)


def test_another_domain_gets_a_certificate_of_its_own(tmp_path: Path) -> None:
    local_certificates(tmp_path, "localhost")

    certificates = local_certificates(tmp_path, "agents.example")

    certificate = x509.load_pem_x509_certificate(certificates.cert_path.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"agents.example", "localhost"} <= set(names.get_values_for_type(x509.DNSName))
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    assert addresses == ["127.0.0.1", "::1"]


@pytest.mark.parametrize("damaged", ["ca.pem", "ca.key", "server.pem", "server.key"])
def test_a_damaged_file_is_replaced(tmp_path: Path, damaged: str) -> None:
    local_certificates(tmp_path, "localhost")
    (tmp_path / damaged).write_text("not a certificate")

    certificates = local_certificates(tmp_path, "localhost")

    assert_is_accepted(certificates, "localhost")


def test_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    certificates = local_certificates(tmp_path / "certificates", "localhost")

    for key in (certificates.key_path, tmp_path / "certificates" / "ca.key"):
        assert key.stat().st_mode & 0o777 == 0o600


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="choose another data directory"):
        local_certificates(tmp_path / "file" / "below", "localhost")


def assert_is_accepted(certificates: Certificates, domain: str) -> None:
    """A whole TLS handshake in memory, by a client as strict as OpenSSL can be."""
    client = ssl.create_default_context(cafile=str(certificates.ca_path))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificates.cert_path, certificates.key_path)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=domain),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for side in sides * 3:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert sides[0].version() == "TLSv1.3"
