"""Judgement of one reply in the memory exam, by its words alone."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from bench.memory_exam.cases import Group, Kind

if TYPE_CHECKING:
    from bench.memory_exam.cases import Line

SHORT = 200
"""Maximum number of characters of an acknowledgement, and of the first lines of an answer."""
NOTICE = re.compile(r"\A\((no language|my language|no hay ning|mi modelo)[^)]*\)\s*", re.I)
"""In front of the first answer of a conversation."""
NOT_ACKNOWLEDGED = re.compile(
    r"i found nothing|i remember nothing|this is what i remember|perhaps one of these"
    r"|i can remember things|i know no time zone|that needs the tool|i could not store"
    r"|from [^:\n]{1,80}:\n"
    r"|no he encontrado|no recuerdo nada|esto es lo que recuerdo|quiza lo diga"
    r"|puedo recordar cosas|no conozco la zona|para eso hace falta|no he podido",
    re.I,
)
"""How the offline provider begins when it found nothing, or shows what it found."""
NOTHING = re.compile(
    r"i (found|remember) nothing [^.\n]*\.( perhaps[^:\n]*:)?|i can remember things.*documents\."
    r"|no (he encontrado|recuerdo) nada [^.\n]*\.( quiza[^:\n]*:)?"
    r"|puedo recordar cosas.*documentos\.",
    re.I,
)
"""Says nothing about the person, but contains words and numbers that answers contain."""
FORGOTTEN = re.compile(
    r"\b(forg[eo]t|delet|remov|eras|dropp|gone|no longer|won.t|olvid|borr|elimin|quit|ya no)", re.I
)
WAS_SO = re.compile(
    r"\b(before|previous\w*|used to|until|former\w*|no longer|not|any ?more|past|earlier|was|were"
    r"|changed|instead|replaced|old (one|value|code|number|address|name)|antes|ya no|hasta"
    r"|anterior\w*|en vez|era|eras|cambi\w+|vivia\w*|trabajaba\w*|tenia\w*|dej\w+|no \w+)\b|n't\b",
    re.I,
)
"""A sentence that says so does not state what it names as if it still held."""
NOT_CLAIMED = re.compile(
    r"\b(if|wish\w*|would|(?<!you )(said|says|told)|quot\w+|not|never|nothing|unless|wonder\w*"
    r"|imagin\w*|dream\w*|si \w+(ra|ras|ramos|se)|ojala|dice|dijo|nunca|nada|ningun\w*|gustaria"
    r"|no \w+)\b|n't\b",
    re.I,
)
"""A sentence that says so does not claim what it names of the person."""
DAY = r"(\d{4}-\d\d-\d\d|\d{1,2} (de )?[a-z]+ (de )?\d{4}|[a-z]+ \d{1,2}, \d{4})"
DATE = re.compile(rf"\b(on |el )?{DAY}\b", re.I)
TOLD_ON = re.compile(rf"\([^()\n]*{DAY}[^()\n]*\)", re.I)
"""When a memory was told: its figures are no answer."""
SENTENCE = re.compile(r"\n+|(?<=[.!?])(?<!\bdr\.)(?<!\bmr\.)(?<!\bmrs\.)(?<!\bprof\.)\s+", re.I)


def fold(text: str) -> str:
    """Without accents, and with plain quotation marks."""
    parts = unicodedata.normalize("NFKD", text)
    plain = "".join(part for part in parts if not unicodedata.combining(part))
    return plain.replace("’", "'").replace("‘", "'")


def fault(line: Line, reply: str, group: Group) -> str:
    """What is wrong with the reply; empty: nothing."""
    said = TOLD_ON.sub("", fold(NOTICE.sub("", reply.strip()).strip()))
    match line.kind:
        case Kind.SAID:
            return ""
        case Kind.TOLD | Kind.CHANGED:
            return _unlike_acknowledgement(said) or _missing(line, said)
        case Kind.FORGET:
            wrong = _unlike_acknowledgement(said)
            return wrong or ("" if FORGOTTEN.search(said) else "does not say that it is forgotten")
        case Kind.WHICH:
            return _missing(line, said) or ("" if "?" in said else "does not ask which")
        case _:
            return _wrong_answer(line, said, group)


def _unlike_acknowledgement(said: str) -> str:
    if len(said) > SHORT:
        return f"longer than {SHORT} characters"
    return "is no acknowledgement" if NOT_ACKNOWLEDGED.search(said) else ""


def _wrong_answer(line: Line, said: str, group: Group) -> str:
    if wrong := _missing(line, said):
        return wrong
    if line.wanted and len(DATE.sub("", _beginning(said))) > SHORT:
        return f"begins with more than {SHORT} characters"
    if not line.forbidden:
        return ""
    is_changed = group is Group.CHANGES or (group is Group.CONVERSATIONS and line.wanted)
    excuses = [WAS_SO] if is_changed else []
    excuses += [NOT_CLAIMED] if group is Group.TRAPS else []
    excuses += [_pattern(line.excuse)] if line.excuse else []
    for sentence in map(str.strip, SENTENCE.split(said)):
        is_excused = sentence.endswith("?") or any(one.search(sentence) for one in excuses)
        if (found := _pattern(line.forbidden).search(sentence)) and not is_excused:
            return f"says {found[0]!r}"
    return ""


def _missing(line: Line, said: str) -> str:
    said = NOTHING.sub("", said)
    lost = [one for one in line.wanted if not _pattern(one).search(said)]
    return f"lacks {' and '.join(lost)}" if lost else ""


def _beginning(said: str) -> str:
    """The first line; with the one after it, if it only announces that."""
    lines = [line for line in said.splitlines() if line.strip()] or [""]
    return "\n".join(lines[:2] if lines[0].rstrip().endswith(":") else lines[:1])


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{fold(text)})", re.I)
