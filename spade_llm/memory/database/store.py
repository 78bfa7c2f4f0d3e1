"""SQLiteMemoryStore: the memory of one owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from spade_llm.core.errors import InvalidArguments, ServiceError
from spade_llm.memory import validation
from spade_llm.memory.contract import (
    BatchError,
    BatchResult,
    MemoryAccess,
    OnError,
    ScoredMemory,
    SearchOutcome,
    SearchResult,
)
from spade_llm.memory.database import (
    consent,
    conversations,
    entries,
    entry_changes,
    maintenance,
    queries,
    reflection,
    relations,
    removal,
    rows,
)
from spade_llm.memory.database.conversations import clear_messages
from spade_llm.memory.database.index_cache import RankedRows, ranks_by_importance
from spade_llm.memory.validation import normalize_subject
from spade_llm.search.memory_query import ANY_MEMORY, MemoryFilter, MemoryQuery, Origin, SearchMode

if TYPE_CHECKING:
    from spade_llm.memory.contract import (
        Consent,
        DecayPolicy,
        DecayStatus,
        LearnedChange,
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
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import SqlValue, Transaction
    from spade_llm.memory.database.relations import AccessibleEntry, AccessibleMemory


P = ParamSpec("P")
T = TypeVar("T")

MAX_INLINE_ENTRIES = 20
"""Maximum number of entries that are read in the event loop's thread: 0.2 ms."""


class SQLiteMemoryStore:
    """An OwnedMemory: checks the arguments and runs an operation in a database thread."""

    # The time is taken before an operation is queued: one that is repeated gives the same.

    def __init__(self, database: DatabaseMemoryBackend, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def add(
        self, draft: MemoryDraft, *, key: str | None = None, merge: bool = True
    ) -> MemoryEntry:
        validation.check_draft(draft)
        validation.check_optional("key", key, validation.MAX_NAME_CHARS)
        row = self._row(draft, key)
        added = await self._write(entries.add_entry, row, merge=merge)
        return rows.entry_from_row(added, now=self._now())

    async def add_many(
        self,
        drafts: Sequence[MemoryDraft],
        *,
        key: str | None = None,
        on_error: OnError = OnError.ROLLBACK,
    ) -> BatchResult:
        validation.check_number("drafts", len(drafts), 0, validation.MAX_ROWS)
        validation.check_optional("key", key, validation.MAX_NAME_CHARS)
        new: list[Mapping[str, SqlValue]] = []
        errors: list[BatchError] = []
        for index, draft in enumerate(drafts):
            try:
                validation.check_draft(draft)
            except ServiceError as error:
                errors.append(BatchError(index=index, code=error.code, reason=str(error)))
                if on_error is OnError.STOP:
                    break
            else:
                new.append(self._row(draft, f"{key}\0{index}" if key else None))
        if errors and on_error is OnError.ROLLBACK:
            new = []
        if new:
            await self._write(entries.add_entries, new)
        return BatchResult(ids=tuple(_text_ids(row["id"] for row in new)), errors=tuple(errors))

    async def get(self, id: str) -> MemoryEntry:
        found = await self._accessible_entry(id)
        key = rows.entry_key(found.seq)
        self._database.access_counter.count(found.owner, [key], now=self._now())
        return found.entry

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]:
        parsed = validation.parse_ids(ids)
        return await self._read(queries.own_entries, parsed, now=self._now())

    async def update(self, change: MemoryChange) -> MemoryEntry:
        validation.check_change(change)
        now, ttl_s = self._now(), self._database.short_term_ttl_s
        return await self._write(entry_changes.update_entry, change, now=now, ttl_s=ttl_s)

    async def update_many(
        self, changes: Sequence[MemoryChange], *, on_error: OnError = OnError.ROLLBACK
    ) -> BatchResult:
        validation.check_number("changes", len(changes), 0, validation.MAX_ROWS)
        now, ttl_s = self._now(), self._database.short_term_ttl_s
        return await self._write(
            entry_changes.update_entries, changes, on_error=on_error, now=now, ttl_s=ttl_s
        )

    async def set_importance(self, id: str, score: float, *, reason: str) -> float:
        validation.check_fraction("score", score)
        validation.check_text("reason", reason, validation.MAX_REASON_CHARS)
        parsed = validation.parse_id(id)
        return await self._write(
            entry_changes.set_entry_importance, parsed, score, reason, now=self._now()
        )

    async def replace(
        self, ids: Sequence[str], draft: MemoryDraft, *, keep: bool, key: str | None = None
    ) -> MemoryEntry:
        validation.check_draft(draft)
        validation.check_optional("key", key, validation.MAX_NAME_CHARS)
        parsed, row, now = validation.parse_ids(ids), self._row(draft, key), self._now()
        added = await self._write(entry_changes.supersede_entries, parsed, row, keep=keep, now=now)
        return rows.entry_from_row(added, now=self._now())

    async def merge(self, into: str, others: Sequence[str]) -> MemoryEntry:
        kept, rest = validation.parse_id(into, "into"), validation.parse_ids(others)
        return await self._write(entry_changes.merge_entries, kept, rest, now=self._now())

    async def search(self, query: MemoryQuery) -> SearchResult:
        validation.check_query(query)
        memory = await self._accessible_memory(query.which.of)
        if memory.is_denied:
            return SearchResult(outcome=SearchOutcome.DENIED)
        # The index reads importance from the file: accesses that are only counted must be there.
        if ranks_by_importance(query):
            await self._database.access_counter.flush()
        query = replace(query, which=_normalized_filter(query.which))
        ranked = await self._database.ranker.search(memory.owner, query, scopes=memory.scopes)
        found, accessed = await self._ranked_entries(memory.owner, ranked)
        self._database.access_counter.count(memory.owner, accessed, now=self._now())
        subject = query.which.subject
        if subject is None or memory.scopes is not None:
            return found
        if query.mode is SearchMode.RECALL:
            found = await self._with_former(found, memory.owner, subject)
        if query.with_patterns:
            return await self._with_patterns(found, memory.owner, subject)
        return found

    async def similar(
        self, id: str, *, limit: int = 10, min_score: float = 0.0, which: MemoryFilter = ANY_MEMORY
    ) -> SearchResult:
        validation.check_filter(which)
        validation.check_number("limit", limit, 1, validation.MAX_ROWS)
        validation.check_fraction("min_score", min_score)
        like = await self._accessible_entry(id)
        memory = await self._accessible_memory(like.owner)
        ranked = await self._database.ranker.similar(
            like.owner,
            rows.entry_key(like.seq),
            limit=limit,
            min_score=min_score,
            which=_normalized_filter(which),
            scopes=memory.scopes,
        )
        found, _ = await self._ranked_entries(memory.owner, ranked)
        return found

    async def list(
        self, which: MemoryFilter = ANY_MEMORY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage:
        validation.check_filter(which)
        validation.check_number("limit", limit, 1, validation.MAX_ROWS)
        validation.check_number("offset", offset, 0, validation.MAX_OFFSET)
        wanted, now = _normalized_filter(which), self._now()
        return await self._read(
            relations.list_accessible, wanted, now=now, limit=limit, offset=offset
        )

    async def delete(
        self,
        which: MemoryFilter,
        *,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Sequence[str]:
        validation.check_filter(which)
        validation.check_number("limit", limit or 0, 0, validation.MAX_OFFSET)
        wanted, now = _normalized_filter(which), self._now()
        parsed = None if ids is None else validation.parse_ids(ids)
        hidden = await self._write(relations.hide_accessible, wanted, parsed, limit=limit, now=now)
        return _text_ids(hidden)

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        validation.check_optional("subject", subject, validation.MAX_NAME_CHARS)
        parsed, now = validation.parse_ids(ids), self._now()
        known_as = normalize_subject(subject)
        return await self._write(relations.forget_accessible, parsed, subject=known_as, now=now)

    async def forget_subject(self, subject: str) -> int:
        return sum((await self.clear_subject(subject)).by_type.values())

    async def clear_subject(self, subject: str) -> RemovedCounts:
        validation.check_name("subject", subject)
        known_as = str(normalize_subject(subject))
        return await self._write(removal.forget_subject, known_as, now=self._now())

    async def forget_session(self, session: str) -> RemovedCounts:
        validation.check_name("session", session)
        return await self._write(removal.forget_session, session, now=self._now())

    async def clear_messages(self, conversations: Sequence[str]) -> int:
        validation.check_number("conversations", len(conversations), 0, validation.MAX_ROWS)
        for name in conversations:
            validation.check_name("conversations", name)
        now, is_learned_from = self._now(), self._database.is_learned_from
        return await self._write(
            clear_messages, conversations, now=now, is_learned_from=is_learned_from
        )

    async def reviewed(self, ids: Sequence[str]) -> None:
        parsed, at = validation.parse_ids(ids), self._database.now()
        await self._write(entry_changes.review_entries, parsed, at=at)

    async def stats(self, session: str | None = None) -> MemoryStatistics:
        validation.check_optional("session", session, validation.MAX_NAME_CHARS)
        return await self._read(queries.memory_statistics, session, now=self._now())

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        validation.check_name("conversation", conversation)
        validation.check_optional("subject", subject, validation.MAX_NAME_CHARS)
        validation.check_messages(messages)
        new = [rows.message_row(message) for message in messages]
        known_as = normalize_subject(subject)
        return await self._write(conversations.append_messages, conversation, new, subject=known_as)

    async def history(
        self, conversation: str, *, limit: int = 50, before: str | None = None
    ) -> Sequence[ObservedMessage]:
        validation.check_name("conversation", conversation)
        validation.check_number("limit", limit, 1, validation.MAX_ROWS)
        validation.check_optional("before", before, validation.MAX_NAME_CHARS)
        return await self._read(
            conversations.message_history, conversation, limit=limit, before=before
        )

    async def retract(self, conversation: str, ids: Sequence[str]) -> int:
        validation.check_name("conversation", conversation)
        return await self._write(removal.retract_messages, conversation, ids, now=self._now())

    async def close_conversation(self, conversation: str) -> None:
        validation.check_name("conversation", conversation)
        await self._write(conversations.close_conversation, conversation)

    async def episode_messages(self, id: str) -> Sequence[ObservedMessage]:
        episode = await self._accessible_entry(id)
        if episode.entry.origin is not Origin.EPISODE:
            return []
        return await self._database.read(
            lambda tx: conversations.episode_messages(tx, episode.owner, episode.seq)
        )

    async def link(self, source: str, target: str, *, relation: str = "related") -> MemoryLink:
        validation.check_relation(relation)
        ends = _link_ends(source, target)
        return await self._write(relations.add_link, ends, relation, now=self._now())

    async def unlink(self, source: str, target: str, *, relation: str | None = None) -> int:
        validation.check_optional("relation", relation, validation.MAX_RELATION_CHARS)
        ends = _link_ends(source, target)
        return await self._write(relations.remove_links, ends, relation, now=self._now())

    async def links(self, id: str) -> Sequence[MemoryLink]:
        parsed = validation.parse_id(id)
        return await self._read(relations.entry_links, parsed, now=self._now())

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
        return await self._write(
            relations.add_grant, to, access=access, tag=tag, session=session, now=self._now()
        )

    async def revoke(self, id: str) -> bool:
        parsed = validation.parse_id(id)
        return await self._write(relations.remove_grant, parsed, now=self._now())

    async def grants(self) -> Sequence[MemoryGrant]:
        return await self._read(relations.list_grants)

    async def configure_decay(self, policy: DecayPolicy) -> DecayStatus:
        validation.check_policy(policy)
        return await self._write(maintenance.configure_decay, policy, now=self._now())

    async def run_decay(self, *, dry_run: bool = True) -> Sequence[str]:
        now = self._now()
        if dry_run:
            due = await self._read(maintenance.preview_decay, now=now)
        else:
            due = await self._write(maintenance.run_decay, now=now)
        return _text_ids(due)

    async def decay_status(self) -> DecayStatus:
        return await self._read(maintenance.decay_status, now=self._now())

    async def consent(self, subject: str) -> Consent:
        validation.check_name("subject", subject)
        known_as = str(normalize_subject(subject))
        return await self._read(consent.consent_state, known_as)

    async def learned(self, subject: str) -> Sequence[LearnedChange]:
        validation.check_name("subject", subject)
        known_as = str(normalize_subject(subject))
        return await self._read(reflection.list_changes, known_as)

    async def undo_learned(self, subject: str, ids: Sequence[str]) -> int:
        validation.check_name("subject", subject)
        parsed, known_as = validation.parse_ids(ids), str(normalize_subject(subject))
        return await self._write(consent.undo_reflection, known_as, parsed, now=self._now())

    async def set_consent(self, subject: str, *, is_given: bool) -> Consent:
        validation.check_name("subject", subject)
        change = consent.give_consent if is_given else consent.withdraw_consent
        known_as = str(normalize_subject(subject))
        return await self._write(change, known_as, now=self._now())

    async def _read(
        self,
        operation: Callable[Concatenate[Transaction, str, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run an operation on this owner's memory that only reads."""
        return await self._database.read(lambda tx: operation(tx, self._owner, *args, **kwargs))

    async def _write(
        self,
        operation: Callable[Concatenate[Transaction, str, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        return await self._database.write(lambda tx: operation(tx, self._owner, *args, **kwargs))

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

    async def _accessible_entry(self, id: str) -> AccessibleEntry:
        parsed, now = validation.parse_id(id), self._now()
        found = await self._database.read_inline(
            lambda tx: relations.accessible_entry(
                tx, self._owner, parsed, access=MemoryAccess.READ, now=now
            )
        )
        entry = self._database.access_counter.with_pending(
            found.owner, rows.entry_key(found.seq), found.entry, now=self._now()
        )
        return replace(found, entry=entry)

    async def _accessible_memory(self, of: str | None) -> AccessibleMemory:
        if of is None or of == self._owner:
            return relations.AccessibleMemory(owner=self._owner, scopes=None)
        return await self._read(relations.accessible_memory, of, access=MemoryAccess.READ)

    async def _ranked_entries(
        self, owner: str, ranked: RankedRows
    ) -> tuple[SearchResult, Sequence[int]]:
        """The rows that were ranked, and the keys of entries among them; rows that were deleted
        meanwhile are left out."""
        keys, now = [hit.key for hit in ranked.hits], self._now()
        if len(keys) > MAX_INLINE_ENTRIES:
            found = await self._database.read(
                lambda tx: queries.entries_by_key(tx, owner, keys, now=now)
            )
        else:
            found = await self._database.read_inline(
                lambda tx: queries.entries_by_key(tx, owner, keys, now=now)
            )
            with_pending = self._database.access_counter.with_pending
            found = {key: with_pending(owner, key, entry, now=now) for key, entry in found.items()}
        if self._database.is_learned_from:
            self._database.message_aliases.note(owner, found)
        hits = tuple(
            ScoredMemory(entry=found[hit.key], score=hit.score, why=hit.why)
            for hit in ranked.hits
            if hit.key in found
        )
        accessed = [key for key, entry in found.items() if entry.origin is not Origin.MESSAGE]
        return SearchResult(outcome=ranked.outcome, hits=hits), accessed

    async def _with_former(self, found: SearchResult, owner: str, subject: str) -> SearchResult:
        verbatim = (Origin.MESSAGE, Origin.EPISODE)
        said = [hit.entry.content for hit in found.hits if hit.entry.origin in verbatim]
        if not said:
            return found
        now = self._now()
        former = await self._database.read_inline(
            lambda tx: queries.former_facts(tx, owner, subject, now=now)
        )
        if not former:
            return found
        # Here, so that a start does not load the rules.
        from spade_llm.memory.validity import related_facts

        return replace(found, former=related_facts(former, said))

    async def _with_patterns(self, found: SearchResult, owner: str, subject: str) -> SearchResult:
        now = self._now()
        patterns = await self._database.read_inline(
            lambda tx: consent.behaviour_patterns(tx, owner, subject, now=now)
        )
        known = {hit.entry.id for hit in found.hits}
        more = [ScoredMemory(entry=one, score=0.0) for one in patterns if one.id not in known]
        if not more:
            return found
        outcome = SearchOutcome.OK if found.outcome is SearchOutcome.EMPTY else found.outcome
        return replace(found, outcome=outcome, hits=(*found.hits, *more))


def _normalized_filter(which: MemoryFilter) -> MemoryFilter:
    return replace(which, subject=normalize_subject(which.subject))


def _link_ends(source: str, target: str) -> tuple[bytes, bytes]:
    ends = validation.parse_id(source, "source"), validation.parse_id(target, "target")
    if ends[0] == ends[1]:
        raise InvalidArguments("source and target must be two memories")
    return ends


def _text_ids(ids: Iterable[SqlValue]) -> Sequence[str]:
    return [str(UUID(bytes=id)) for id in ids if isinstance(id, bytes)]
