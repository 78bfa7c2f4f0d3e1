"""SqliteMemoryStore: all that one owner has. Knows no file, no SQL and no ranking.

Arguments out of bounds raise InvalidArguments before anything is done.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.errors import InvalidArguments
from spade_llm.memory import limits
from spade_llm.memory.sqlite import (
    adding,
    changing,
    clearing,
    consent,
    conversations,
    decay,
    finding,
    folding,
    grants,
    links,
    patterns,
    reaching,
    removing,
    rows,
    statistics,
)
from spade_llm.memory.sqlite.batch import checked
from spade_llm.memory.sqlite.ranker import weighs_importance
from spade_llm.memory.store import (
    ANY,
    Access,
    BatchResult,
    Found,
    OnError,
    Origin,
    Outcome,
    ScoredMemory,
)
from spade_llm.memory.subject import known_as

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.database import Database
    from spade_llm.memory.sqlite.ranker import Ranked
    from spade_llm.memory.sqlite.reaching import Asked, Reached
    from spade_llm.memory.sqlite.transaction import Value
    from spade_llm.memory.store import (
        Cleared,
        Consent,
        DecayPolicy,
        DecayStatus,
        Grant,
        Link,
        MemoryChange,
        MemoryDraft,
        MemoryEntry,
        MemoryFilter,
        MemoryPage,
        MemoryQuery,
        MemoryStats,
        ObservedMessage,
    )


NEAR_ROWS = 20
"""Read in the loop's own thread: 0.2 ms."""


class SqliteMemoryStore:
    """An OwnedMemory."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def add(
        self, draft: MemoryDraft, *, key: str | None = None, merge: bool = True
    ) -> MemoryEntry:
        limits.check_draft(draft)
        limits.check_optional("key", key, limits.MAX_NAME_CHARS)
        operation = partial(adding.add, jid=self._owner, row=self._row(draft, key), merge=merge)
        return rows.entry_from_row(await self._database.write(operation), now=self._now())

    async def add_many(
        self,
        drafts: Sequence[MemoryDraft],
        *,
        key: str | None = None,
        on_error: OnError = OnError.ROLLBACK,
    ) -> BatchResult:
        limits.check_number("drafts", len(drafts), 0, limits.MAX_ROWS)
        limits.check_optional("key", key, limits.MAX_NAME_CHARS)
        good, errors = checked(drafts, limits.check_draft, on_error)
        new = [self._row(draft, f"{key}\0{at}" if key else None) for at, draft in good]
        if new:
            await self._database.write(partial(adding.add_all, jid=self._owner, rows=new))
        return BatchResult(ids=tuple(_id_of(row) for row in new), errors=errors)

    async def get(self, id: str) -> MemoryEntry:
        found = await self._reached(id)
        self._database.uses.count(found.owner, [rows.entry_key(found.seq)], now=self._now())
        return found.entry

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]:
        operation = partial(
            finding.own, owner=self._owner, ids=limits.parsed_ids(ids), now=self._now()
        )
        return await self._database.read(operation)

    async def update(self, change: MemoryChange) -> MemoryEntry:
        limits.check_change(change)
        return await self._database.write(
            partial(
                changing.change,
                asker=self._owner,
                wanted=change,
                now=self._now(),
                ttl_s=self._database.short_term_ttl_s,
            )
        )

    async def update_many(
        self, changes: Sequence[MemoryChange], *, on_error: OnError = OnError.ROLLBACK
    ) -> BatchResult:
        limits.check_number("changes", len(changes), 0, limits.MAX_ROWS)
        operation = partial(
            changing.change_all,
            asker=self._owner,
            changes=changes,
            on_error=on_error,
            now=self._now(),
            ttl_s=self._database.short_term_ttl_s,
        )
        return await self._database.write(operation)

    async def set_importance(self, id: str, score: float, *, reason: str) -> float:
        limits.check_fraction("score", score)
        limits.check_text("reason", reason, limits.MAX_REASON_CHARS)
        operation = partial(
            changing.set_importance,
            asker=self._owner,
            id=limits.parsed_id(id),
            score=score,
            reason=reason,
            now=self._now(),
        )
        return await self._database.write(operation)

    async def replace(
        self, ids: Sequence[str], draft: MemoryDraft, *, keep: bool, key: str | None = None
    ) -> MemoryEntry:
        limits.check_draft(draft)
        limits.check_optional("key", key, limits.MAX_NAME_CHARS)
        operation = partial(
            folding.replace,
            owner=self._owner,
            ids=limits.parsed_ids(ids),
            row=self._row(draft, key),
            keep=keep,
            now=self._now(),
        )
        return rows.entry_from_row(await self._database.write(operation), now=self._now())

    async def merge(self, into: str, others: Sequence[str]) -> MemoryEntry:
        operation = partial(
            folding.fold,
            owner=self._owner,
            into=limits.parsed_id(into, "into"),
            others=limits.parsed_ids(others),
            now=self._now(),
        )
        return await self._database.write(operation)

    async def search(self, query: MemoryQuery) -> Found:
        limits.check_query(query)
        asked = await self._asked(query.which.of)
        if asked.is_denied:
            return Found(outcome=Outcome.DENIED)
        if weighs_importance(query):
            await self._database.uses.settle()
        query = replace(query, which=_known(query.which))
        ranked = await self._database.ranker.search(asked.owner, query, scopes=asked.scopes)
        found, used = await self._read(asked, ranked)
        self._database.uses.count(asked.owner, used, now=self._now())
        subject = query.which.subject
        if query.with_patterns and subject is not None and asked.scopes is None:
            return await self._with_patterns(found, asked.owner, subject)
        return found

    async def similar(
        self, id: str, *, limit: int = 10, min_score: float = 0.0, which: MemoryFilter = ANY
    ) -> Found:
        limits.check_filter(which)
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        limits.check_fraction("min_score", min_score)
        like = await self._reached(id)
        asked = await self._asked(like.owner)
        ranked = await self._database.ranker.similar(
            like.owner,
            rows.entry_key(like.seq),
            limit=limit,
            min_score=min_score,
            which=_known(which),
            scopes=asked.scopes,
        )
        found, _ = await self._read(asked, ranked)
        return found

    async def list(
        self, which: MemoryFilter = ANY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage:
        limits.check_filter(which)
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        limits.check_number("offset", offset, 0, limits.MAX_OFFSET)
        operation = partial(
            reaching.page,
            asker=self._owner,
            which=_known(which),
            now=self._now(),
            limit=limit,
            offset=offset,
        )
        return await self._database.read(operation)

    async def delete(
        self,
        which: MemoryFilter,
        *,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Sequence[str]:
        limits.check_filter(which)
        limits.check_number("limit", limit or 0, 0, limits.MAX_OFFSET)
        operation = partial(
            reaching.hide,
            asker=self._owner,
            which=_known(which),
            ids=None if ids is None else limits.parsed_ids(ids),
            limit=limit,
            now=self._now(),
        )
        return _texts(await self._database.write(operation))

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        limits.check_optional("subject", subject, limits.MAX_NAME_CHARS)
        operation = partial(
            reaching.forget,
            asker=self._owner,
            ids=limits.parsed_ids(ids),
            subject=known_as(subject),
            now=self._now(),
        )
        return await self._database.write(operation)

    async def forget_subject(self, subject: str) -> int:
        return sum((await self.clear_subject(subject)).by_type.values())

    async def clear_subject(self, subject: str) -> Cleared:
        limits.check_name("subject", subject)
        return await self._database.write(
            partial(
                removing.forget_subject,
                owner=self._owner,
                subject=str(known_as(subject)),
                now=self._now(),
            )
        )

    async def forget_session(self, session: str) -> Cleared:
        limits.check_name("session", session)
        return await self._database.write(
            partial(removing.forget_session, owner=self._owner, session=session, now=self._now())
        )

    async def clear_messages(self, conversations: Sequence[str]) -> int:
        limits.check_number("conversations", len(conversations), 0, limits.MAX_ROWS)
        for name in conversations:
            limits.check_name("conversations", name)
        operation = partial(
            clearing.clear,
            owner=self._owner,
            conversations=conversations,
            now=self._now(),
            is_learned_from=self._database.is_learned_from,
        )
        return await self._database.write(operation)

    async def reviewed(self, ids: Sequence[str]) -> None:
        operation = partial(
            changing.review, owner=self._owner, ids=limits.parsed_ids(ids), at=self._database.now()
        )
        await self._database.write(operation)

    async def stats(self, session: str | None = None) -> MemoryStats:
        limits.check_optional("session", session, limits.MAX_NAME_CHARS)
        return await self._database.read(
            partial(statistics.stats, owner=self._owner, session=session, now=self._now())
        )

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        limits.check_name("conversation", conversation)
        limits.check_optional("subject", subject, limits.MAX_NAME_CHARS)
        limits.check_messages(messages)
        operation = partial(
            conversations.observe,
            jid=self._owner,
            conversation=conversation,
            messages=[rows.message_row(message) for message in messages],
            subject=known_as(subject),
        )
        return await self._database.write(operation)

    async def history(
        self, conversation: str, *, limit: int = 50, before: str | None = None
    ) -> Sequence[ObservedMessage]:
        limits.check_name("conversation", conversation)
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        limits.check_optional("before", before, limits.MAX_NAME_CHARS)
        operation = partial(
            conversations.history,
            owner=self._owner,
            conversation=conversation,
            limit=limit,
            before=before,
        )
        return await self._database.read(operation)

    async def retract(self, conversation: str, ids: Sequence[str]) -> int:
        limits.check_name("conversation", conversation)
        operation = partial(
            removing.retract, owner=self._owner, session=conversation, ids=ids, now=self._now()
        )
        return await self._database.write(operation)

    async def close_conversation(self, conversation: str) -> None:
        limits.check_name("conversation", conversation)
        await self._database.write(
            partial(conversations.close, jid=self._owner, conversation=conversation)
        )

    async def episode_messages(self, id: str) -> Sequence[ObservedMessage]:
        episode = await self._reached(id)
        if episode.entry.origin is not Origin.EPISODE:
            return []
        return await self._database.read(
            partial(conversations.of_episode, owner=episode.owner, seq=episode.seq)
        )

    async def link(self, source: str, target: str, *, relation: str = "related") -> Link:
        limits.check_relation(relation)
        operation = partial(
            links.link,
            owner=self._owner,
            ends=_ends(source, target),
            relation=relation,
            now=self._now(),
        )
        return await self._database.write(operation)

    async def unlink(self, source: str, target: str, *, relation: str | None = None) -> int:
        limits.check_optional("relation", relation, limits.MAX_RELATION_CHARS)
        operation = partial(
            links.unlink,
            owner=self._owner,
            ends=_ends(source, target),
            relation=relation,
            now=self._now(),
        )
        return await self._database.write(operation)

    async def links(self, id: str) -> Sequence[Link]:
        operation = partial(
            links.links, owner=self._owner, id=limits.parsed_id(id), now=self._now()
        )
        return await self._database.read(operation)

    async def grant(
        self,
        to: str,
        *,
        access: Access = Access.READ,
        tag: str | None = None,
        session: str | None = None,
    ) -> Grant:
        limits.check_grantee(to, owner=self._owner)
        limits.check_optional("tag", tag, limits.MAX_TAG_CHARS)
        limits.check_optional("session", session, limits.MAX_NAME_CHARS)
        row = grants.grant_row(to, access=access, tag=tag, session=session, now=self._now())
        return await self._database.write(partial(grants.grant, jid=self._owner, row=row))

    async def revoke(self, id: str) -> bool:
        operation = partial(
            grants.revoke, owner=self._owner, id=limits.parsed_id(id), now=self._now()
        )
        return await self._database.write(operation)

    async def grants(self) -> Sequence[Grant]:
        return await self._database.read(partial(grants.given, owner=self._owner))

    async def configure_decay(self, policy: DecayPolicy) -> DecayStatus:
        limits.check_policy(policy)
        operation = partial(decay.configure, jid=self._owner, policy=policy, now=self._now())
        return await self._database.write(operation)

    async def run_decay(self, *, dry_run: bool = True) -> Sequence[str]:
        if dry_run:
            return _texts(
                await self._database.read(
                    partial(decay.would_hide, owner=self._owner, now=self._now())
                )
            )
        return _texts(
            await self._database.write(partial(decay.run, owner=self._owner, now=self._now()))
        )

    async def decay_status(self) -> DecayStatus:
        return await self._database.read(partial(decay.status, owner=self._owner, now=self._now()))

    async def consent(self, subject: str) -> Consent:
        limits.check_name("subject", subject)
        return await self._database.read(
            partial(consent.state, jid=self._owner, subject=str(known_as(subject)))
        )

    async def set_consent(self, subject: str, *, is_given: bool) -> Consent:
        limits.check_name("subject", subject)
        change = consent.give if is_given else consent.withdraw
        return await self._database.write(
            partial(change, jid=self._owner, subject=str(known_as(subject)), now=self._now())
        )

    def _now(self) -> int:
        return rows.to_microseconds(self._database.now())

    def _row(self, draft: MemoryDraft, key: str | None) -> Mapping[str, Value]:
        return rows.entry_row(
            draft,
            owner=self._owner,
            key=key,
            now=self._now(),
            short_term_ttl_s=self._database.short_term_ttl_s,
        )

    async def _reached(self, id: str) -> Reached:
        operation = partial(
            reaching.reach,
            asker=self._owner,
            id=limits.parsed_id(id),
            access=Access.READ,
            now=self._now(),
        )
        found = await self._database.glance(operation)
        uses, key = self._database.uses, rows.entry_key(found.seq)
        entry = uses.with_them(found.owner, key, found.entry, now=self._now())
        return replace(found, entry=entry)

    async def _asked(self, of: str | None) -> Asked:
        if of is None or of == self._owner:
            return reaching.Asked(owner=self._owner, scopes=None)
        return await self._database.read(
            partial(reaching.asked, asker=self._owner, of=of, access=Access.READ)
        )

    async def _read(self, asked: Asked, ranked: Ranked) -> tuple[Found, Sequence[int]]:
        """The rows that were ranked, and the keys of entries among them; those that went meanwhile
        are left out."""
        entries = await self._by_keys(asked.owner, [hit.key for hit in ranked.hits])
        hits = (
            ScoredMemory(entry=entries[hit.key], score=hit.score, why=hit.why)
            for hit in ranked.hits
            if hit.key in entries
        )
        if self._database.is_learned_from:
            self._database.given.note(asked.owner, entries)
        used = [key for key, entry in entries.items() if entry.origin is not Origin.MESSAGE]
        return Found(outcome=ranked.outcome, hits=tuple(hits)), used

    async def _with_patterns(self, found: Found, owner: str, subject: str) -> Found:
        operation = partial(patterns.ways, owner=owner, subject=subject, now=self._now())
        ways = await self._database.glance(operation)
        known = {hit.entry.id for hit in found.hits}
        more = [ScoredMemory(entry=one, score=0.0) for one in ways if one.id not in known]
        if not more:
            return found
        outcome = Outcome.OK if found.outcome is Outcome.EMPTY else found.outcome
        return replace(found, outcome=outcome, hits=(*found.hits, *more))

    async def _by_keys(self, owner: str, keys: Sequence[int]) -> Mapping[int, MemoryEntry]:
        now, uses = self._now(), self._database.uses
        read = partial(finding.by_keys, owner=owner, keys=keys, now=now)
        if len(keys) > NEAR_ROWS:
            return await self._database.read(read)
        found = await self._database.glance(read)
        return {key: uses.with_them(owner, key, entry, now=now) for key, entry in found.items()}


def _known(which: MemoryFilter) -> MemoryFilter:
    return replace(which, subject=known_as(which.subject))


def _ends(source: str, target: str) -> tuple[bytes, bytes]:
    ends = limits.parsed_id(source, "source"), limits.parsed_id(target, "target")
    if ends[0] == ends[1]:
        raise InvalidArguments("source and target must be two memories")
    return ends


def _id_of(row: Mapping[str, Value]) -> str:
    return _texts([row["id"]])[0] if isinstance(row["id"], bytes) else ""


def _texts(ids: Sequence[bytes]) -> Sequence[str]:
    return [str(UUID(bytes=id)) for id in ids]
