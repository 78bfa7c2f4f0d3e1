"""Sets of memory tools: entry tools, further tools, and decay and grants for the owner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import AfterValidator, Field, StrictBool, StrictFloat

from spade_llm.core.errors import InvalidArguments, NotFound
from spade_llm.memory.contract import DecayStore, GrantStore, LinkStore, MemoryAccess, MemoryStore
from spade_llm.memory.tools.arguments import Fraction, Id, Text, ToolArguments, unique_values
from spade_llm.memory.tools.batches import MAX_BATCH, BatchTools, ConsolidateTool
from spade_llm.memory.tools.entries import EntryTools, LinkTools, ScoreTools
from spade_llm.memory.tools.entry_tool import (
    EntryTool,
    SubjectScope,
    format_date,
    format_optional_date,
    format_score,
)
from spade_llm.memory.tools.search_tools import (
    DeduplicateTool,
    ExplainTool,
    SearchTool,
    SimilarTool,
)
from spade_llm.search.memory_query import Tier

if TYPE_CHECKING:
    from spade_llm.memory.contract import DecayPolicy, DecayStatus, MemoryGrant
    from spade_llm.memory.tools.entry_tool import ToolAnswer
    from spade_llm.providers.model import ChatModel

DAY_S = 86_400.0
MAX_LISTED = 1000
"""Maximum number of ids in one answer; the count is of all."""


class LinkedMemory(MemoryStore, LinkStore, Protocol):
    """Memories with the links between them."""


class ManagedMemory(DecayStore, GrantStore, Protocol):
    """Administration of an owner's whole memory: decay and grants."""


def entry_tools(
    scope: SubjectScope, *, max_batch: int = MAX_BATCH, model: ChatModel | None = None
) -> tuple[EntryTool, ...]:
    """The eleven memory_* tools. With a model, summaries may be abstractive."""
    groups = (
        EntryTools(scope),
        SearchTool(scope),
        BatchTools(scope, max_batch=max_batch),
        ScoreTools(scope),
        ConsolidateTool(scope, model),
    )
    return tuple(chain.from_iterable(groups))


def further_tools(scope: SubjectScope, links: LinkStore) -> tuple[EntryTool, ...]:
    """Tools memory_explain, memory_similar, memory_deduplicate, and those for links."""
    groups = (
        ExplainTool(scope),
        SimilarTool(scope),
        DeduplicateTool(scope),
        LinkTools(scope, links),
    )
    return tuple(chain.from_iterable(groups))


def owner_tools(memory: ManagedMemory) -> tuple[EntryTool, ...]:
    """Tools for decay and grants.

    They act on all data of an owner: never offer them in a conversation with one person, because
    that person could share or remove memories about others.
    """
    return (*DecayTools(memory), *GrantTools(memory))


class ConfigureDecayArguments(ToolArguments):
    enabled: StrictBool | None = Field(
        default=None, description="Whether memories decay by themselves"
    )
    older_than_days: Annotated[StrictFloat, Field(ge=0, le=36_500)] | None = Field(
        default=None, description="Neither made nor used for more than so many days …"
    )
    below_importance: Fraction | None = Field(
        default=None, description="… and less important than this …"
    )
    memory_tiers: Annotated[tuple[Tier, ...], AfterValidator(unique_values)] | None = Field(
        default=None, description="… and in one of these tiers: is deleted"
    )

    def changed(self, policy: DecayPolicy) -> DecayPolicy:
        days, importance = self.older_than_days, self.below_importance
        return replace(
            policy,
            is_enabled=policy.is_enabled if self.enabled is None else self.enabled,
            older_than_s=policy.older_than_s if days is None else days * DAY_S,
            below_importance=policy.below_importance if importance is None else importance,
            tiers=policy.tiers if self.memory_tiers is None else self.memory_tiers,
        )


class RunDecayArguments(ToolArguments):
    dry_run: StrictBool = Field(default=True, description="true only says what would be deleted")


class DecayTools:
    def __init__(self, decay: DecayStore) -> None:
        self._decay = decay

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_decay_configure",
            description="Say which unused memories are deleted by themselves. What is not given"
            " stays as it is.",
            arguments=ConfigureDecayArguments,
            run=self.configure,
        )
        yield EntryTool(
            name="memory_decay_run",
            description="Delete unused memories now, as configured; by default only list them.",
            arguments=RunDecayArguments,
            run=self.run,
        )
        yield EntryTool(
            name="memory_decay_status",
            description="Show how memories decay, what the last run did and how many are due.",
            arguments=ToolArguments,
            run=self.status,
        )

    async def configure(self, arguments: ConfigureDecayArguments) -> ToolAnswer:
        if not arguments.model_fields_set:
            names = ", ".join(ConfigureDecayArguments.model_fields)
            raise InvalidArguments(f"give something to configure: {names}")
        policy = arguments.changed((await self._decay.decay_status()).policy)
        return _status_object(await self._decay.configure_decay(policy))

    async def run(self, arguments: RunDecayArguments) -> ToolAnswer:
        dry_run = arguments.dry_run
        ids = await self._decay.run_decay(dry_run=dry_run)
        listed = list(ids[:MAX_LISTED])
        return {"dry_run": dry_run, "deleted_count": len(ids), "deleted_ids": listed}

    async def status(self, _arguments: ToolArguments) -> ToolAnswer:
        return _status_object(await self._decay.decay_status())


class NewGrant(ToolArguments):
    to: Text = Field(
        description="Who is let in: a JID (ada@example.org) or a whole domain (example.org)"
    )
    access: MemoryAccess = Field(
        default=MemoryAccess.READ,
        description="read: search and list. write: also correct and delete.",
    )
    tag: Text | None = Field(default=None, description="Only memories with this tag")
    session: Text | None = Field(default=None, description="Only memories of this session")


class Revoke(ToolArguments):
    id: Id = Field(description="ID of the grant (UUID), from memory_grants")


class GrantTools:
    def __init__(self, grants: GrantStore) -> None:
        self._grants = grants

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_grant",
            description="Let another agent or domain see memories: those with a tag, of a session,"
            " or all.",
            arguments=NewGrant,
            run=self.grant,
        )
        yield EntryTool(
            name="memory_revoke",
            description="Take a grant back.",
            arguments=Revoke,
            run=self.revoke,
        )
        yield EntryTool(
            name="memory_grants",
            description="List the grants that are given, oldest first.",
            arguments=ToolArguments,
            run=self.list,
        )

    async def grant(self, arguments: NewGrant) -> ToolAnswer:
        granted = await self._grants.grant(
            arguments.to, access=arguments.access, tag=arguments.tag, session=arguments.session
        )
        return _grant_object(granted)

    async def revoke(self, arguments: Revoke) -> ToolAnswer:
        id = arguments.id
        if not await self._grants.revoke(id):
            raise NotFound(f"there is no grant {id}")
        return {"id": id, "revoked": True}

    async def list(self, _arguments: ToolArguments) -> ToolAnswer:
        grants = [_grant_object(grant) for grant in await self._grants.grants()]
        return {"grants": grants, "total": len(grants)}


def _status_object(status: DecayStatus) -> dict[str, object]:
    policy = status.policy
    return {
        "enabled": policy.is_enabled,
        "older_than_days": round(policy.older_than_s / DAY_S, 6),
        "below_importance": format_score(policy.below_importance),
        "memory_tiers": [tier.value for tier in policy.tiers],
        "last_run_at": format_optional_date(status.last_run_at),
        "last_deleted": status.last_deleted,
        "due": status.due,
    }


def _grant_object(grant: MemoryGrant) -> dict[str, object]:
    return {
        "id": grant.id,
        "to": grant.to,
        "access": grant.access.value,
        "tag": grant.tag,
        "session": grant.session,
        "created_at": format_date(grant.created_at),
    }
