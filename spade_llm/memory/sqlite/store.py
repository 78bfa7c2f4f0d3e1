"""SqliteMemoryStore: the memory of one owner."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory import validation
from spade_llm.memory.contract import (
    BatchResult,
    MemoryAccess,
    OnError,
    ScoredMemory,
    SearchOutcome,
    SearchResult,
)
from spade_llm.memory.sqlite import (
    consent,
    conversations,
    entries,
    entry_changes,
    maintenance,
    queries,
    relations,
    removal,
    rows,
)
from spade_llm.memory.sqlite.consent import behaviour_patterns
from spade_llm.memory.sqlite.conversations import clear_messages
from spade_llm.memory.sqlite.entry_changes import validate_batch
from spade_llm.memory.sqlite.index_cache import ranks_by_importance
from spade_llm.memory.validation import normalize_subject
from spade_llm.search.memory_query import ANY_MEMORY, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.contract import (
        Consent,
        DecayPolicy,
        DecayStatus,
        MemoryChange,
        MemoryDraft,
        MemoryEntry,
        MemoryGrant,
        MemoryLink,
        MemoryPage,
        MemoryStatistics,
        ObservedMessage,
        RemovedCounts,
    )
    from spade_llm.memory.sqlite.backend import SQLiteMemoryBackend
    from spade_llm.memory.sqlite.connection import SqlValue
    from spade_llm.memory.sqlite.index_cache import RankedRows
    from spade_llm.memory.sqlite.relations import AccessibleEntry, AccessibleMemory
    from spade_llm.search.memory_query import MemoryFilter, MemoryQuery


SIMILAR_CANDIDATES = 20
"""Read in the loop's own thread: 0.2 ms."""


class SqliteMemoryStore:
    """An OwnedMemory."""

    def __init__(self, database: SQLiteMemoryBackend, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def add(
        self, draft: MemoryDraft, *, key: str | None = None, merge: bool = True
    ) -> MemoryEntry:
        validation.check_draft(draft)
        validation.check_optional("key", key, validation.MAX_NAME_CHARS)
        operation = partial(
            entries.add_entry, jid=self._owner, row=self._row(draft, key), merge=merge
        )
        return rows.entry_from_row(await self._database.write(operation), now=self._now())

    async def add_many(
        self,
        drafts: Sequence[MemoryDraft],
        *,
        key: str | None = None,
        on_error: OnError = OnError.ROLLBACK,
    ) -> BatchResult:
        validation.check_number("drafts", len(drafts), 0, validation.MAX_ROWS)
        validation.check_optional("key", key, validation.MAX_NAME_CHARS)
        good, errors = validate_batch(drafts, validation.check_draft, on_error)
        new = [self._row(draft, f"{key}\0{at}" if key else None) for at, draft in good]
        if new:
            await self._database.write(partial(entries.add_entries, jid=self._owner, rows=new))
        return BatchResult(ids=tuple(_id_of(row) for row in new), errors=errors)

    async def get(self, id: str) -> MemoryEntry:
        found = await self._reached(id)
        self._database.access_counter.count(
            found.owner, [rows.entry_key(found.seq)], now=self._now()
        )
        return found.entry

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]:
        operation = partial(
            queries.own_entries, owner=self._owner, ids=validation.parse_ids(ids), now=self._now()
        )
        return await self._database.read(operation)

    async def update(self, change: MemoryChange) -> MemoryEntry:
        validation.check_change(change)
        return await self._database.write(
            partial(
                entry_changes.update_entry,
                caller=self._owner,
                wanted=change,
                now=self._now(),
                ttl_s=self._database.short_term_ttl_s,
            )
        )

    async def update_many(
        self, changes: Sequence[MemoryChange], *, on_error: OnError = OnError.ROLLBACK
    ) -> BatchResult:
        validation.check_number("changes", len(changes), 0, validation.MAX_ROWS)
        operation = partial(
            entry_changes.update_entries,
            caller=self._owner,
            changes=changes,
            on_error=on_error,
            now=self._now(),
            ttl_s=self._database.short_term_ttl_s,
        )
        return await self._database.write(operation)

    async def set_importance(self, id: str, score: float, *, reason: str) -> float:
        validation.check_fraction("score", score)
        validation.check_text("reason", reason, validation.MAX_REASON_CHARS)
        operation = partial(
            entry_changes.set_entry_importance,
            caller=self._owner,
            id=validation.parse_id(id),
            score=score,
            reason=reason,
            now=self._now(),
        )
        return await self._database.write(operation)

    async def replace(
        self, ids: Sequence[str], draft: MemoryDraft, *, keep: bool, key: str | None = None
    ) -> MemoryEntry:
        validation.check_draft(draft)
        validation.check_optional("key", key, validation.MAX_NAME_CHARS)
        operation = partial(
            entry_changes.supersede_entries,
            owner=self._owner,
            ids=validation.parse_ids(ids),
            row=self._row(draft, key),
            keep=keep,
            now=self._now(),
        )
        return rows.entry_from_row(await self._database.write(operation), now=self._now())

    async def merge(self, into: str, others: Sequence[str]) -> MemoryEntry:
        operation = partial(
            entry_changes.merge_entries,
            owner=self._owner,
            into=validation.parse_id(into, "into"),
            others=validation.parse_ids(others),
            now=self._now(),
        )
        return await self._database.write(operation)

    async def search(self, query: MemoryQuery) -> SearchResult:
        validation.check_query(query)
        asked = await self._asked(query.which.of)
        if asked.is_denied:
            return SearchResult(outcome=SearchOutcome.DENIED)
        # The index reads importance from the file: uses that are only gathered must be there.
        if ranks_by_importance(query):
            await self._database.access_counter.flush()
        query = replace(query, which=_normalized_filter(query.which))
        ranked = await self._database.ranker.search(asked.owner, query, scopes=asked.scopes)
        found, used = await self._read(asked, ranked)
        self._database.access_counter.count(asked.owner, used, now=self._now())
        subject = query.which.subject
        if query.with_patterns and subject is not None and asked.scopes is None:
            return await self._with_patterns(found, asked.owner, subject)
        return found

    async def similar(
        self, id: str, *, limit: int = 10, min_score: float = 0.0, which: MemoryFilter = ANY_MEMORY
    ) -> SearchResult:
        validation.check_filter(which)
        validation.check_number("limit", limit, 1, validation.MAX_ROWS)
        validation.check_fraction("min_score", min_score)
        like = await self._reached(id)
        asked = await self._asked(like.owner)
        ranked = await self._database.ranker.similar(
            like.owner,
            rows.entry_key(like.seq),
            limit=limit,
            min_score=min_score,
            which=_normalized_filter(which),
            scopes=asked.scopes,
        )
        found, _ = await self._read(asked, ranked)
        return found

    async def list(
        self, which: MemoryFilter = ANY_MEMORY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage:
        validation.check_filter(which)
        validation.check_number("limit", limit, 1, validation.MAX_ROWS)
        validation.check_number("offset", offset, 0, validation.MAX_OFFSET)
        operation = partial(
            relations.list_accessible,
            caller=self._owner,
            which=_normalized_filter(which),
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
        validation.check_filter(which)
        validation.check_number("limit", limit or 0, 0, validation.MAX_OFFSET)
        operation = partial(
            relations.hide_accessible,
            caller=self._owner,
            which=_normalized_filter(which),
            ids=None if ids is None else validation.parse_ids(ids),
            limit=limit,
            now=self._now(),
        )
        return _parse_text_ids(await self._database.write(operation))

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        validation.check_optional("subject", subject, validation.MAX_NAME_CHARS)
        operation = partial(
            relations.forget_accessible,
            caller=self._owner,
            ids=validation.parse_ids(ids),
            subject=normalize_subject(subject),
            now=self._now(),
        )
        return await self._database.write(operation)

    async def forget_subject(self, subject: str) -> int:
        return sum((await self.clear_subject(subject)).by_type.values())

    async def clear_subject(self, subject: str) -> RemovedCounts:
        validation.check_name("subject", subject)
        return await self._database.write(
            partial(
                removal.forget_subject,
                owner=self._owner,
                subject=str(normalize_subject(subject)),
                now=self._now(),
            )
        )

    async def forget_session(self, session: str) -> RemovedCounts:
        validation.check_name("session", session)
        return await self._database.write(
            partial(removal.forget_session, owner=self._owner, session=session, now=self._now())
        )

    async def clear_messages(self, conversations: Sequence[str]) -> int:
        validation.check_number("conversations", len(conversations), 0, validation.MAX_ROWS)
        for name in conversations:
            validation.check_name("conversations", name)
        operation = partial(
            clear_messages,
            owner=self._owner,
            conversations=conversations,
            now=self._now(),
            is_learned_from=self._database.is_learned_from,
        )
        return await self._database.write(operation)

    async def reviewed(self, ids: Sequence[str]) -> None:
        operation = partial(
            entry_changes.review_entries,
            owner=self._owner,
            ids=validation.parse_ids(ids),
            at=self._database.now(),
        )
        await self._database.write(operation)

    async def stats(self, session: str | None = None) -> MemoryStatistics:
        validation.check_optional("session", session, validation.MAX_NAME_CHARS)
        return await self._database.read(
            partial(queries.memory_statistics, owner=self._owner, session=session, now=self._now())
        )

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        validation.check_name("conversation", conversation)
        validation.check_optional("subject", subject, validation.MAX_NAME_CHARS)
        validation.check_messages(messages)
        operation = partial(
            conversations.append_messages,
            jid=self._owner,
            conversation=conversation,
            messages=[rows.message_row(message) for message in messages],
            subject=normalize_subject(subject),
        )
        return await self._database.write(operation)

    async def history(
        self, conversation: str, *, limit: int = 50, before: str | None = None
    ) -> Sequence[ObservedMessage]:
        validation.check_name("conversation", conversation)
        validation.check_number("limit", limit, 1, validation.MAX_ROWS)
        validation.check_optional("before", before, validation.MAX_NAME_CHARS)
        operation = partial(
            conversations.message_history,
            owner=self._owner,
            conversation=conversation,
            limit=limit,
            before=before,
        )
        return await self._database.read(operation)

    async def retract(self, conversation: str, ids: Sequence[str]) -> int:
        validation.check_name("conversation", conversation)
        operation = partial(
            removal.retract_messages,
            owner=self._owner,
            session=conversation,
            ids=ids,
            now=self._now(),
        )
        return await self._database.write(operation)

    async def close_conversation(self, conversation: str) -> None:
        validation.check_name("conversation", conversation)
        await self._database.write(
            partial(conversations.close_conversation, jid=self._owner, conversation=conversation)
        )

    async def episode_messages(self, id: str) -> Sequence[ObservedMessage]:
        episode = await self._reached(id)
        if episode.entry.origin is not Origin.EPISODE:
            return []
        return await self._database.read(
            partial(conversations.episode_messages, owner=episode.owner, seq=episode.seq)
        )

    async def link(self, source: str, target: str, *, relation: str = "related") -> MemoryLink:
        validation.check_relation(relation)
        operation = partial(
            relations.add_link,
            owner=self._owner,
            ends=_link_ends(source, target),
            relation=relation,
            now=self._now(),
        )
        return await self._database.write(operation)

    async def unlink(self, source: str, target: str, *, relation: str | None = None) -> int:
        validation.check_optional("relation", relation, validation.MAX_RELATION_CHARS)
        operation = partial(
            relations.remove_links,
            owner=self._owner,
            ends=_link_ends(source, target),
            relation=relation,
            now=self._now(),
        )
        return await self._database.write(operation)

    async def links(self, id: str) -> Sequence[MemoryLink]:
        operation = partial(
            relations.entry_links, owner=self._owner, id=validation.parse_id(id), now=self._now()
        )
        return await self._database.read(operation)

    async def grant(
        self,
        to: str,
        *,
        access: MemoryAccess = MemoryAccess.READ,
        tag: str | None = None,
        session: str | None = None,
    ) -> MemoryGrant:
        validation.check_grantee(to, owner=self._owner)
        validation.check_optional("tag", tag, validation.MAX_TAG_CHARS)
        validation.check_optional("session", session, validation.MAX_NAME_CHARS)
        row = relations.grant_row(to, access=access, tag=tag, session=session, now=self._now())
        return await self._database.write(partial(relations.add_grant, jid=self._owner, row=row))

    async def revoke(self, id: str) -> bool:
        operation = partial(
            relations.remove_grant, owner=self._owner, id=validation.parse_id(id), now=self._now()
        )
        return await self._database.write(operation)

    async def grants(self) -> Sequence[MemoryGrant]:
        return await self._database.read(partial(relations.list_grants, owner=self._owner))

    async def configure_decay(self, policy: DecayPolicy) -> DecayStatus:
        validation.check_policy(policy)
        operation = partial(
            maintenance.configure_decay, jid=self._owner, policy=policy, now=self._now()
        )
        return await self._database.write(operation)

    async def run_decay(self, *, dry_run: bool = True) -> Sequence[str]:
        if dry_run:
            return _parse_text_ids(
                await self._database.read(
                    partial(maintenance.preview_decay, owner=self._owner, now=self._now())
                )
            )
        return _parse_text_ids(
            await self._database.write(
                partial(maintenance.run_decay, owner=self._owner, now=self._now())
            )
        )

    async def decay_status(self) -> DecayStatus:
        return await self._database.read(
            partial(maintenance.decay_status, owner=self._owner, now=self._now())
        )

    async def consent(self, subject: str) -> Consent:
        validation.check_name("subject", subject)
        return await self._database.read(
            partial(consent.consent_state, jid=self._owner, subject=str(normalize_subject(subject)))
        )

    async def set_consent(self, subject: str, *, is_given: bool) -> Consent:
        validation.check_name("subject", subject)
        change = consent.give_consent if is_given else consent.withdraw_consent
        return await self._database.write(
            partial(
                change, jid=self._owner, subject=str(normalize_subject(subject)), now=self._now()
            )
        )

    def _now(self) -> int:
        return rows.to_microseconds(self._database.now())

    def _row(self, draft: MemoryDraft, key: str | None) -> Mapping[str, SqlValue]:
        return rows.entry_row(
            draft,
            owner=self._owner,
            key=key,
            now=self._now(),
            short_term_ttl_s=self._database.short_term_ttl_s,
        )

    async def _reached(self, id: str) -> AccessibleEntry:
        operation = partial(
            relations.accessible_entry,
            caller=self._owner,
            id=validation.parse_id(id),
            access=MemoryAccess.READ,
            now=self._now(),
        )
        found = await self._database.read_inline(operation)
        uses, key = self._database.access_counter, rows.entry_key(found.seq)
        entry = uses.with_pending(found.owner, key, found.entry, now=self._now())
        return replace(found, entry=entry)

    async def _asked(self, of: str | None) -> AccessibleMemory:
        if of is None or of == self._owner:
            return relations.AccessibleMemory(owner=self._owner, scopes=None)
        return await self._database.read(
            partial(
                relations.accessible_memory, caller=self._owner, of=of, access=MemoryAccess.READ
            )
        )

    async def _read(
        self, asked: AccessibleMemory, ranked: RankedRows
    ) -> tuple[SearchResult, Sequence[int]]:
        """The rows that were ranked, and the keys of entries among them; those that went meanwhile
        are left out."""
        entries = await self._by_keys(asked.owner, [hit.key for hit in ranked.hits])
        hits = (
            ScoredMemory(entry=entries[hit.key], score=hit.score, why=hit.why)
            for hit in ranked.hits
            if hit.key in entries
        )
        if self._database.is_learned_from:
            self._database.message_aliases.note(asked.owner, entries)
        used = [key for key, entry in entries.items() if entry.origin is not Origin.MESSAGE]
        return SearchResult(outcome=ranked.outcome, hits=tuple(hits)), used

    async def _with_patterns(self, found: SearchResult, owner: str, subject: str) -> SearchResult:
        operation = partial(behaviour_patterns, owner=owner, subject=subject, now=self._now())
        ways = await self._database.read_inline(operation)
        known = {hit.entry.id for hit in found.hits}
        more = [ScoredMemory(entry=one, score=0.0) for one in ways if one.id not in known]
        if not more:
            return found
        outcome = SearchOutcome.OK if found.outcome is SearchOutcome.EMPTY else found.outcome
        return replace(found, outcome=outcome, hits=(*found.hits, *more))

    async def _by_keys(self, owner: str, keys: Sequence[int]) -> Mapping[int, MemoryEntry]:
        now, access_counter = self._now(), self._database.access_counter
        read = partial(queries.entries_by_key, owner=owner, keys=keys, now=now)
        if len(keys) > SIMILAR_CANDIDATES:
            return await self._database.read(read)
        found = await self._database.read_inline(read)
        return {
            key: access_counter.with_pending(owner, key, entry, now=now)
            for key, entry in found.items()
        }


def _normalized_filter(which: MemoryFilter) -> MemoryFilter:
    return replace(which, subject=normalize_subject(which.subject))


def _link_ends(source: str, target: str) -> tuple[bytes, bytes]:
    ends = validation.parse_id(source, "source"), validation.parse_id(target, "target")
    if ends[0] == ends[1]:
        raise InvalidArguments("source and target must be two memories")
    return ends


def _id_of(row: Mapping[str, SqlValue]) -> str:
    return _parse_text_ids([row["id"]])[0] if isinstance(row["id"], bytes) else ""


def _parse_text_ids(ids: Sequence[bytes]) -> Sequence[str]:
    return [str(UUID(bytes=id)) for id in ids]
