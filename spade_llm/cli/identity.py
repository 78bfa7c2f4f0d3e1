"""From `[identity]` to who an agent is: its name, what it says of itself, its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from spade_llm.cli.definition import Definition
    from spade_llm.xmpp.identity import Avatar, Identity

_DESCRIPTIONS = {
    "assistant": "An assistant, not a person: a language model answers here. Write help to see what"
    " it can do, memories to see what it remembers about you.",
    "memory": "Keeps what agents remember. Write to it to see, correct or remove what is stored"
    " about you: help says how.",
    "rag": "Keeps documents, and finds passages in them for agents.",
    "tools": "Runs tools for agents.",
    "gateway": "Lets web programs and browsers talk to these agents over HTTP.",
}


def identity_of(definition: Definition) -> Identity:
    """Raises ConfigurationError: the picture cannot be read, or is none; a text cannot be sent."""
    avatar = _avatar(definition)
    try:
        return _identity(definition, avatar)
    except ConfigurationError as error:
        raise ConfigurationError(f"{definition.path}: identity.{error}") from None


def _identity(definition: Definition, avatar: Avatar) -> Identity:
    from spade_llm.xmpp.identity import Identity

    table, local = definition.settings.identity, definition.jid.partition("@")[0]
    described = table.description
    return Identity(
        name=table.name or local[:1].upper() + local[1:],
        description=_DESCRIPTIONS[definition.settings.kind] if described is None else described,
        url=table.url or "",
        avatar=avatar,
        is_published=table.publish,
        shows_load=table.status,
        busy_at=table.busy_at,
        status_every_s=table.status_every_s,
    )


def _avatar(definition: Definition) -> Avatar:
    from spade_llm.xmpp.identity import read_avatar
    from spade_llm.xmpp.portrait import portrait

    given = definition.settings.identity.avatar
    if given is None:
        return read_avatar(portrait(definition.settings.kind, definition.jid))
    try:
        return read_avatar((definition.path.parent / given).read_bytes())
    except (OSError, ConfigurationError) as error:
        raise ConfigurationError(f"{definition.path}: identity.avatar {given!r}: {error}") from None
