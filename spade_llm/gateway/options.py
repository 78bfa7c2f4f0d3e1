"""How a gateway serves HTTP. Knows no file of settings."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from spade_llm.errors import ConfigurationError

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """`[http]`; settings/http_tables.py says what each is, and its default."""

    host: str = "127.0.0.1"
    port: int = 8000
    local_principal: str | None = None
    """A bare JID."""
    language: Literal["en", "es"] = "es"
    hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    requests_per_minute: int = 6000
    max_body_bytes: int = 1024 * 1024
    max_upload_bytes: int = 50 * 1024 * 1024
    max_streams: int = 512
    console: bool = True

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    def check(self) -> None:
        """Raises ConfigurationError."""
        if is_unspecified(self.host) and not self.hosts:
            raise ConfigurationError(
                f"[http] host: {self.host} is no name to be reached by: say those that clients use"
                " in [http] hosts"
            )


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """A name other than `localhost` could be anywhere."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
