"""Translation of the memory's SQL and schema from SQLite's dialect to PostgreSQL's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.core.postgres import translated_types
from spade_llm.memory.database.schema import SCHEMA

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlValue

# In this order: a list of values before other uses of json_each, and `%` before placeholders.
_REWRITES = (
    (r"%", "%%"),
    (r"\bIN \(SELECT value FROM json_each\((:\w+)\)\)", r"= ANY(\1)"),
    (r"\bjson_each\(([\w.]+)\)", r"jsonb_array_elements_text(\1::jsonb) AS value"),
    (r"\bjson_extract\((\w+), '\$\.(\w+)\.(\w+)'\)", r"(\1::jsonb #>> '{\2,\3}')"),
    # Hints for SQLite's planner.
    (r" INDEXED BY \w+", ""),
    (r"\bCROSS JOIN\b", "JOIN"),
    # Conditions that lead to too many rows: no index is used for an expression.
    (r"(?<=[\s(])\+((?:\w+\.)?owner)\b", r"(\1 + 0)"),
    (r"(?<=[\s(])\+((?:\w+\.)?subject)\b", r"(\1 || '')"),
    (r"\bIS (:\w+)", r"IS NOT DISTINCT FROM \1"),
    (r"\bmax\(([^(),]+),", r"greatest(\1,"),
    (r"\binstr\(", "strpos("),
    (r"\bAS BLOB\)", "AS BYTEA)"),
    (r"(?<!:):([a-z]\w*)", r"%(\1)s"),
)
_LISTS = re.compile(r"json_each\(:(\w+)\)")
_NAMES = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class PostgresStatement:
    """Statement as psycopg takes it."""

    query: str
    names: tuple[str, ...]
    """Parameters in use."""
    lists: frozenset[str]
    """Parameters that SQLite takes as JSON text, and PostgreSQL as arrays."""
    is_change: bool

    def bound(self, parameters: Mapping[str, SqlValue]) -> dict[str, object]:
        """Values of the parameters in use."""
        values: dict[str, object] = {name: _storable(parameters[name]) for name in self.names}
        for name in self.lists:
            values[name] = json.loads(str(values[name]))
        return values


@lru_cache(maxsize=512)
def translated(sql: str) -> PostgresStatement:
    """Translate a statement with named parameters."""
    query = sql
    for pattern, replacement in _REWRITES:
        query = re.sub(pattern, replacement, query)
    query = query.strip()
    return PostgresStatement(
        query=query,
        names=tuple(dict.fromkeys(_NAMES.findall(query))),
        lists=frozenset(_LISTS.findall(sql)),
        is_change=query.startswith(("INSERT", "UPDATE", "DELETE")),
    )


def _storable(value: SqlValue) -> SqlValue:
    """PostgreSQL's texts cannot contain U+0000: the replacement character stands for it."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


# As the triggers of schema.py. The key of a row is seq * 2 for an entry and seq * 2 + 1 for a
# message.
_TRIGGERS = """
    CREATE OR REPLACE FUNCTION row_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO vector_wanted VALUES (new.seq * 2 + tg_argv[0]::bigint) ON CONFLICT DO NOTHING;
        RETURN NULL;
    END $$;
    CREATE OR REPLACE FUNCTION row_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM vector WHERE row = old.seq * 2 + tg_argv[0]::bigint;
        DELETE FROM vector_wanted WHERE row = old.seq * 2 + tg_argv[0]::bigint;
        RETURN NULL;
    END $$;
    CREATE OR REPLACE FUNCTION entry_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM vector WHERE row = old.seq * 2;
        INSERT INTO vector_wanted VALUES (old.seq * 2) ON CONFLICT DO NOTHING;
        RETURN NULL;
    END $$;
    CREATE OR REPLACE FUNCTION vector_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM vector_wanted WHERE row = new.row;
        RETURN NULL;
    END $$;
    CREATE OR REPLACE TRIGGER entry_added AFTER INSERT ON entry
        FOR EACH ROW EXECUTE FUNCTION row_added('0');
    CREATE OR REPLACE TRIGGER entry_changed AFTER UPDATE OF content ON entry
        FOR EACH ROW WHEN (old.content <> new.content) EXECUTE FUNCTION entry_changed();
    CREATE OR REPLACE TRIGGER entry_removed AFTER DELETE ON entry
        FOR EACH ROW EXECUTE FUNCTION row_removed('0');
    CREATE OR REPLACE TRIGGER message_added AFTER INSERT ON message
        FOR EACH ROW EXECUTE FUNCTION row_added('1');
    CREATE OR REPLACE TRIGGER message_removed AFTER DELETE ON message
        FOR EACH ROW EXECUTE FUNCTION row_removed('1');
    CREATE OR REPLACE TRIGGER vector_added AFTER INSERT ON vector
        FOR EACH ROW EXECUTE FUNCTION vector_added()
"""

# One row for each commit and owner. keys and accessed: rows of the owner's index that changed, for
# the caches of other processes; NULL: too many to name.
_OWNER_VERSION = """
    CREATE TABLE owner_version (
        owner TEXT NOT NULL,
        version INTEGER NOT NULL,
        keys BIGINT[],
        accessed BIGINT[],
        PRIMARY KEY (owner, version)
    )
"""


def postgres_schema() -> list[str]:
    """Statements that create missing tables, indexes and triggers."""
    return [*_tables(), _TRIGGERS]


def _tables() -> Iterator[str]:
    for statement in (*SCHEMA, _OWNER_VERSION):
        text = statement.strip()
        if text.startswith("CREATE TRIGGER"):
            continue
        text = re.sub(r"\) STRICT(, WITHOUT ROWID)?$", ")", text)
        text = re.sub(r"^CREATE (TABLE|INDEX) ", r"CREATE \1 IF NOT EXISTS ", text)
        text = re.sub(r"INTEGER PRIMARY KEY(?! AUTO)", "INTEGER PRIMARY KEY AUTOINCREMENT", text)
        yield translated_types(text)
