"""Cases of the memory exam, read from text files.

A file holds the cases of one group. A case is a block of lines, separated by an empty line: first
`@id language`, then what the person says, in order. The first character says what a line is for:

    -  said, and no answer is expected
    +  a fact is told: the reply acknowledges it with one of its key words
    *  a fact is changed or ended: likewise
    x  something is to be forgotten: the reply acknowledges that
    w  the same, but two memories fit: the reply names both and asks which
    k  question: the answer is known (before it is changed or deleted)
    1  question, asked in this conversation only
    ?  question, asked here and in a later conversation
    <  question after something that was so in the past, asked in both

After the text, separated by `||`: what the reply must contain, what it must not contain, and what
excuses a sentence that contains it. They are regular expressions that begin at a word's
beginning; case and accents are ignored. ` & ` joins several that must all be there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

FOLDER = Path(__file__).parent


class Half(StrEnum):
    DEV = "dev"
    HELD_OUT = "held_out"


class Group(StrEnum):
    STATEMENTS = "statements"
    CHANGES = "changes"
    DELETIONS = "deletions"
    TRAPS = "traps"
    CONVERSATIONS = "conversations"
    """Twenty lines or more, one subject after the other."""


class Kind(StrEnum):
    SAID = "-"
    TOLD = "+"
    CHANGED = "*"
    FORGET = "x"
    WHICH = "w"
    KNOWN = "k"
    ONCE = "1"
    ASKED = "?"
    PAST = "<"


ASKED_LATER = frozenset({Kind.ASKED, Kind.PAST})
CHANGING = frozenset({Kind.CHANGED, Kind.FORGET, Kind.WHICH})
"""Lines that change or delete what was told before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    kind: Kind
    text: str
    wanted: tuple[str, ...] = ()
    """Patterns that must all be in the reply."""
    forbidden: str = ""
    excuse: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    id: str
    group: Group
    language: str
    lines: tuple[Line, ...]

    @property
    def later(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.kind in ASKED_LATER)


def load(source: Half | Path, groups: tuple[Group, ...] = tuple(Group)) -> list[Case]:
    """The cases of a half, or of a folder with at least one `GROUP.txt`."""
    folder = FOLDER / source if isinstance(source, Half) else source
    files = {group: folder / f"{group}.txt" for group in groups}
    return [
        case
        for group, file in files.items()
        if isinstance(source, Half) or file.exists()
        for case in parse(file.read_text(encoding="utf-8"), group)
    ]


def parse(text: str, group: Group) -> list[Case]:
    """Raises ValueError with the line that cannot be read."""
    blocks = [block.splitlines() for block in text.strip().split("\n\n") if block.strip()]
    return [_case([line for line in block if line.strip()], group) for block in blocks]


def _case(block: list[str], group: Group) -> Case:
    head, *lines = block
    if not head.startswith("@") or len(head.split()) != 2:
        raise ValueError(f"a case begins with `@id language`, not {head!r}")
    id, language = head[1:].split()
    return Case(id=id, group=group, language=language, lines=tuple(map(_line, lines)))


def _line(text: str) -> Line:
    mark, _, rest = text.partition(" ")
    said, *patterns = (part.strip() for part in rest.split("||"))
    if mark not in list(Kind) or not said or len(patterns) > 3:
        raise ValueError(f"not a line of a case: {text!r}")
    wanted, forbidden, excuse = [*patterns, "", "", ""][:3]
    return Line(
        kind=Kind(mark),
        text=said,
        wanted=tuple(part.strip() for part in wanted.split(" & ") if part.strip()),
        forbidden=forbidden,
        excuse=excuse,
    )
