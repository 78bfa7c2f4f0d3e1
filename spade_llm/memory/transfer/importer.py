"""Importer: writes the records of another program into a memory, in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.database.rows import ID_BYTES, entry_key
from spade_llm.memory.transfer import json_lines, memory_file

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlValue, Transaction
    from spade_llm.memory.transfer.memory_file import MemoryPlace
    from spade_llm.memory.transfer.records import ImportedRecord

# A correction made here is newer than the text of the other program, and stays.
UPDATE_ENTRY = """
    UPDATE entry SET content = :content, content_hash = :content_hash, terms = :terms,
        updated_at = :updated_at, invalid_at = NULL
    WHERE id = :id AND content_hash <> :content_hash AND updated_at < :updated_at
        AND deleted_at IS NULL
    RETURNING seq
"""

SELECT_FORGOTTEN = """
    SELECT ids FROM audit JOIN owner ON owner.number = audit.owner
    WHERE jid = :owner AND action = 'forget'
"""

FORGOTTEN = "forgotten memory"
OTHER_PERSON = "other person's record"
MAX_PERSONS_SHOWN = 10


def import_records(
    place: MemoryPlace,
    records: Iterable[ImportedRecord],
    *,
    person: str = "",
    is_dry_run: bool = False,
) -> memory_file.ImportSummary:
    """Import records of another program; invalid records are left out and named.

    All imported records become memories about one person: of a file with records of several
    persons, only those of `person` are imported.

    Entries that were forgotten here stay forgotten. An entry that the other program has changed
    since gets the new text, unless it was changed here later.

    Raises:
        InvalidArguments: the imported file cannot be read, or has records of several persons and
            none of `person`; nothing was imported.
        StorageFailed: the memory could not be written.
    """
    with memory_file.opened_memory(place, is_dry_run=is_dry_run) as transaction:
        importer = _Importer(transaction, person)
        for record in records:
            importer.add(record)
        importer.check_person()
    return importer.summary()


class _Importer:
    """Import into an open transaction, with its counts."""

    def __init__(self, transaction: Transaction, person: str) -> None:
        self._transaction = transaction
        self._person = person
        self._persons = Counter[str]()
        self._added = Counter[str]()
        self._omitted = Counter[str]()
        self._conversations = set[str]()
        self._forgotten_ids: dict[SqlValue, frozenset[SqlValue]] = {}
        self._present = 0
        self._updated = 0
        self._left_out = 0
        self._faults: list[str] = []

    def add(self, record: ImportedRecord) -> None:
        """Insert or update what the record describes, or count why not."""
        if omitted := record.omitted or self._other_person(record):
            self._omitted[omitted] += 1
            return
        try:
            if record.fault:
                raise InvalidArguments(record.fault)
            kind, values = json_lines.decode_record(json.dumps(record.fields))
        except InvalidArguments as error:
            self._left_out += 1
            if len(self._faults) < memory_file.MAX_FAULTS:
                self._faults.append(f"{record.name}: {error}")
            return
        if kind == "entry":
            self._add_entry(values)
        elif memory_file.insert_record(self._transaction, kind, values):
            self._added[kind] += 1
            if kind == "message":
                self._conversations.add(str(values["conversation"]))
        else:
            self._present += 1

    def _other_person(self, record: ImportedRecord) -> str:
        """Count the person of a record; OTHER_PERSON if it is not the one to import."""
        self._persons[record.person] += 1
        return OTHER_PERSON if self._person and record.person != self._person else ""

    def check_person(self) -> None:
        """Raises InvalidArguments: what was imported is not of one person."""
        del self._persons[""]
        named = [f"{id}: {number}" for id, number in self._persons.most_common()]
        shown = ", ".join(named[:MAX_PERSONS_SHOWN])
        if self._person and self._person not in self._persons:
            raise InvalidArguments(
                f"--person: it has no records of {self._person!r},"
                f" but {f'of {shown}' if named else 'names no persons'}"
            )
        if len(named) > 1 and not self._person:
            raise InvalidArguments(
                f"it has records of {len(named)} persons ({shown}); all would become memories about"
                " one: import those of each with --person ID and their --about JID"
            )

    def summary(self) -> memory_file.ImportSummary:
        return memory_file.ImportSummary(
            added=self._added.total(),
            counts=self._added,
            conversations=len(self._conversations),
            present=self._present,
            updated=self._updated,
            faults=tuple(self._faults),
            left_out=self._left_out,
            omitted=self._omitted,
        )

    def _add_entry(self, values: Mapping[str, SqlValue]) -> None:
        if values["id"] in self._forgotten(values["owner"]):
            self._omitted[FORGOTTEN] += 1
        elif memory_file.insert_record(self._transaction, "entry", values):
            self._added["entry"] += 1
        else:
            row = {**values, **memory_file.derived_columns("entry", values)}
            keys = [entry_key(seq) for (seq,) in self._transaction.all(UPDATE_ENTRY, row)]
            self._transaction.mark_changed(str(values["owner"]), keys)
            self._updated += len(keys)
            self._present += not keys

    def _forgotten(self, owner: SqlValue) -> frozenset[SqlValue]:
        """Ids of the entries that an owner has forgotten, from the audit log."""
        if owner not in self._forgotten_ids:
            rows = self._transaction.all(SELECT_FORGOTTEN, {"owner": owner})
            self._forgotten_ids[owner] = frozenset(
                packed[at : at + ID_BYTES]
                for (packed,) in rows
                for at in range(0, len(packed), ID_BYTES)
            )
        return self._forgotten_ids[owner]
