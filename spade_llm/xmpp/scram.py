"""SCRAM's key derivation by OpenSSL (RFC 5802 §2.2). Knows no stream.

slixmpp 1.12 iterates in Python: 25 ms of each login, in the event loop, so that a hundred agents
of one process come back from a restarted server one after the other.
"""

from __future__ import annotations

from hashlib import pbkdf2_hmac

from slixmpp.util.sasl.client import MECHANISMS, SASLCancelled
from slixmpp.util.sasl.mechanisms import SCRAM

MAX_ITERATIONS = 1_000_000
"""What a server may make us do: 0.3 s. Prosody asks for 10 000."""


class Scram(SCRAM):
    def Hi(self, text: str | bytes, salt: bytes, iterations: int) -> bytes:
        if not 0 < iterations <= MAX_ITERATIONS:
            raise SASLCancelled(f"the server asks for {iterations} iterations")
        password = text.encode() if isinstance(text, str) else text
        return pbkdf2_hmac(self.hash().name, password, salt, iterations)


def use_fast_scram() -> None:
    """Of all slixmpp clients in this process: its registry of mechanisms is one."""
    for name, mechanism in MECHANISMS.items():
        if mechanism is SCRAM:
            MECHANISMS[name] = Scram
