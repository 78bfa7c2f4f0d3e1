"""Checks of an agent's keyword arguments."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger(__name__)


def check_keywords(given: Mapping[str, object], known: type, *, of: str) -> None:
    """Raises TypeError, naming each keyword that a TypedDict has not."""
    names = sorted(known.__annotations__)
    if unknown := sorted(set(given) - set(names)):
        raise TypeError(
            f"{of} takes no {', '.join(unknown)}: remove it, or check its spelling;"
            f" beside its own parameters it takes {', '.join(names)}"
        )


_said: set[str] = set()


def warn_about_verify_security(jid: str, *, verify_security: bool | None) -> None:
    """Says once per account that it is not left out."""
    if verify_security is False and jid not in _said:
        _said.add(jid)
        logger.warning(
            "%s: verify_security=False has no effect: certificates are always verified;"
            " SPADE_LLM_CA names the CA of a server of your own",
            jid,
        )
