"""`verify_security`, as programs for spade_llm 0.2/0.3 say it: TLS is verified anyway."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)

_said: set[str] = set()


def note_security(jid: str, *, verify_security: bool | None) -> None:
    """Says once per account that it is not left out."""
    if verify_security is False and jid not in _said:
        _said.add(jid)
        logger.warning(
            "%s: verify_security=False has no effect: certificates are always verified;"
            " SPADE_LLM_CA names the CA of a server of your own",
            jid,
        )
