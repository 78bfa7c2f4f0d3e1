"""Options of an agent from agent.toml: admission control, rooms, files, identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.assistant.config import FileSharingOptions
from spade_llm.assistant.middleware.quota import GroupQuotas, PeerQuota
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.limits import Rate

if TYPE_CHECKING:
    from spade_llm.cli.factory.deployment_spec import DeploymentSpec
    from spade_llm.core.settings import AdmissionTable, AgentSettings, FilesTable, LimitsTable
    from spade_llm.xmpp.admission_control import AdmissionPolicy
    from spade_llm.xmpp.features.rooms import RoomsOptions
    from spade_llm.xmpp.stanzas.vcard import Avatar, Identity

_DESCRIPTIONS = {
    "assistant": "An assistant, not a person: a language model answers here. Write help to see what"
    " it can do, memories to see what it remembers about you.",
    "memory": "Keeps what agents remember. Write to it to see, correct or remove what is stored"
    " about you: help says how.",
    "rag": "Keeps documents, and finds passages in them for agents.",
    "tools": "Runs tools for agents.",
    "gateway": "Lets web programs and browsers talk to these agents over HTTP.",
}


def build_admission(table: AdmissionTable) -> AdmissionPolicy:
    from spade_llm.xmpp.admission_control import AdmissionPolicy

    return AdmissionPolicy(
        allow=tuple(map(str.lower, table.allow)),
        guests=tuple(map(str.lower, table.guests)),
        talk=_rate(table.messages_per_minute / 60, table.messages_at_once),
        guest_talk=_rate(table.guest_messages_per_minute / 60, table.guest_messages_at_once),
        domain_talk=_rate(table.domain_messages_per_minute / 60, table.domain_messages_at_once),
        requests=_rate(table.requests_per_second, table.requests_at_once),
        signals=_rate(table.signals_per_second, table.signals_at_once),
    )


def build_crowd_limits(table: LimitsTable) -> GroupQuotas:
    return GroupQuotas(
        guest=PeerQuota(**table.guest.model_dump()),
        domain=PeerQuota(**table.domain.model_dump()),
        all_guests=PeerQuota(**table.all_guests.model_dump()),
    )


def build_file_rules(table: FilesTable) -> FileSharingOptions:
    return FileSharingOptions(
        takes=table.take,
        max_files=table.max_files,
        seconds=table.seconds,
        long_answer_chars=table.long_answer_chars,
    )


def build_rooms_options(settings: AgentSettings) -> RoomsOptions:
    from spade_llm.xmpp.features.room_membership import KnownRoom
    from spade_llm.xmpp.features.rooms import RoomsOptions

    return RoomsOptions(
        rooms=tuple(
            KnownRoom(jid=one.jid.lower(), nick=one.nick or "", password=one.password)
            for one in settings.rooms
        ),
        takes_invitations=settings.room_invitations,
    )


def build_identity(spec: DeploymentSpec) -> Identity:
    """Raises ConfigurationError: the picture cannot be read, or is none; a text cannot be sent."""
    avatar = _avatar(spec)
    try:
        return _identity(spec, avatar)
    except ConfigurationError as error:
        raise ConfigurationError(f"{spec.path}: identity.{error}") from None


def _rate(per_s: float, burst: int) -> Rate | None:
    return Rate(per_s=per_s, burst=burst) if per_s else None


def _identity(spec: DeploymentSpec, avatar: Avatar) -> Identity:
    from spade_llm.xmpp.stanzas.vcard import Identity

    table, local = spec.settings.identity, spec.jid.partition("@")[0]
    described = table.description
    return Identity(
        name=table.name or local[:1].upper() + local[1:],
        description=_DESCRIPTIONS[spec.settings.kind] if described is None else described,
        url=table.url or "",
        avatar=avatar,
        is_published=table.publish,
        shows_load=table.status,
        busy_at=table.busy_at,
        status_every_s=table.status_every_s,
    )


def _avatar(spec: DeploymentSpec) -> Avatar:
    from spade_llm.xmpp.stanzas.vcard import default_avatar, read_avatar

    given = spec.settings.identity.avatar
    if given is None:
        return read_avatar(default_avatar(spec.settings.kind, spec.jid))
    try:
        return read_avatar((spec.path.parent / given).read_bytes())
    except (OSError, ConfigurationError) as error:
        raise ConfigurationError(f"{spec.path}: identity.avatar {given!r}: {error}") from None
