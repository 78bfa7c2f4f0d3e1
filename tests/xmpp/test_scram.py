"""Our key derivation is slixmpp's, only faster."""

from __future__ import annotations

import pytest
from slixmpp.util.sasl.client import MECHANISMS, SASLCancelled
from slixmpp.util.sasl.mechanisms import SCRAM

from spade_llm.xmpp.connection.xmpp_client import MAX_ITERATIONS, Scram, use_fast_scram


def mechanism(kind: type[SCRAM], name: str) -> SCRAM:
    made: SCRAM = object.__new__(kind)
    made.security_settings = {"encrypted": True}
    made.setup(name)
    return made


@pytest.mark.parametrize("name", ["SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("password", ["correct horse", "contraseña"])
def test_a_password_gives_the_key_that_slixmpp_computes(name: str, password: str) -> None:
    expected = mechanism(SCRAM, name).Hi(password, b"salt", 100)

    assert mechanism(Scram, name).Hi(password, b"salt", 100) == expected


@pytest.mark.parametrize("iterations", [0, -1, MAX_ITERATIONS + 1])
def test_a_server_does_not_make_us_compute_for_ever(iterations: int) -> None:
    with pytest.raises(SASLCancelled):
        mechanism(Scram, "SCRAM-SHA-1").Hi("secret", b"salt", iterations)


def test_every_kind_of_scram_is_ours() -> None:
    use_fast_scram()

    kinds = {kind for name, kind in MECHANISMS.items() if name.startswith("SCRAM-")}
    assert kinds == {Scram}
