"""Extractive summary: the most informative sentences of several texts, in order."""

from __future__ import annotations

import heapq
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spade_llm.search.language import split_sentences

FACT_WEIGHT = 8.0
"""Weight of a name, a number or a date, relative to an ordinary word."""
SHORT_WORD_WEIGHT = 0.25
"""Words of up to three letters mostly carry no meaning of their own."""

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Scripts written without spaces (Thai, Japanese, Chinese), and Korean with its endings."""
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{2,}")
_ARTICLE = re.compile(r"^(?i:the|an?|el|la|un|una|der|das|eine?|le|une) +(?=[a-zà-ÿ])")
"""Article at the beginning of a line; not in names such as La Paz or The Hague."""
_DROPPABLE_WORD = re.compile(
    r"(?<=\w )(?:is|are|was|were|the|an?|es|está|son|el|la|los|las|una?|ist|sind|est|sont) (?=\w)"
)
"""Little words within a line that can be dropped."""
_NEEDLESS_GAP = re.compile(
    r"(?<=[^\w\s])[\n ](?=[^\d\s])|(?<=[^\W\d])\n(?=[^\w\s])"
    r"|(?<=[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff])\n"
    r"|\n(?=[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff])"
)
"""Gap after a sign that can be dropped without joining two words or two numbers."""
_UNSPACED_END = re.compile(r"[\u3000-\u303f\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]$")

OPENING_WORDS = """
a about after all also an and any are as at because before both but by can could did do does during
each even every finally first for from had has have he her here his how however i if in is it its
just last later let many maybe more most much my never next no not now of often on once one only or
our please perhaps several she should since so some soon sometimes still such than that the their
then there these they this those though thus to today together tomorrow two until was we well were
what when where whether which while who whose why will with would yes yesterday yet you your al ante
antes aqui aquí cada como con cuando de del desde después donde el ella ellas ellos en entre era es
esa ese eso esta estas este esto estos fue ha han hay hoy la las le les lo los luego mañana mas más
me mi mis mucho muy nada nos nosotros o otra otro para pero por porque que qué se si sí sin sobre
solo sólo son su sus también te tiene tu tus un una uno y ya yo aber alle als auch auf aus bei das
dass dem den der des die dies diese dieser doch ein eine einen einer er für heute ich ihr im ist ja
kein man mein mit nach nicht noch nur oder sein sich sie sind und uns unter vom von vor war weil
wenn wer wie wir wo zu zum zur au aux avec ce ces cette dans du elle elles et il ils je leur lui
mais mon ne nous ou où par pas plus pour qu quand qui sa ses sur très une vous
"""
"""Words that begin sentences with a capital and are no names (English, Spanish, German, French)."""

_OPENING_WORDS = frozenset(OPENING_WORDS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceSentence:
    text: str
    source: int
    line: int
    """Counted over all sources."""
    words: frozenset[str]
    facts: frozenset[str]


def extractive_summary(
    texts: Sequence[str], max_chars: int, *, aim_chars: int | None = None
) -> str:
    """The sentences that say most, at most `max_chars` and never longer than the texts together.

    What repeats is said once. Beyond `aim_chars` only sentences with a new name, number or date are
    taken. Empty only if the texts are; if no sentence fits, the beginning of the best one.
    """
    if max_chars < 1:
        raise ValueError(f"max_chars must be at least 1, not {max_chars}")
    found = _distinct(texts)
    if not found:
        return ""
    limit = min(max_chars, len("\n".join(texts)))
    chosen = _select_sentences(found, limit, limit if aim_chars is None else aim_chars)
    if not chosen:
        weights = _weights(found)
        # The first of the best: max() keeps the first of equals.
        best = max(found, key=lambda one: _gain_per_character(one, weights, set()))
        return _truncate_beginning(best.text, limit)
    return _fit_lines(chosen, sum(map(len, texts)))


def extract_facts(text: str) -> frozenset[str]:
    """Extract names, numbers and dates, as they are written."""
    return _facts(text, _certain_names([text]))


def _distinct(texts: Sequence[str]) -> list[_SourceSentence]:
    names = _certain_names(texts)
    found: dict[str, _SourceSentence] = {}
    line = 0
    for source, text in enumerate(texts):
        for line_text in text.splitlines():
            line += 1
            for sentence in split_sentences(line_text):
                key = " ".join(sentence.casefold().split()).rstrip(".。")
                found.setdefault(key or sentence, _parse_sentence(sentence, source, line, names))
    return list(found.values())


def _parse_sentence(text: str, source: int, line: int, names: frozenset[str]) -> _SourceSentence:
    return _SourceSentence(
        text=text,
        source=source,
        line=line,
        words=frozenset(_words(text)),
        facts=_facts(text, names),
    )


def _facts(text: str, names: frozenset[str]) -> frozenset[str]:
    return frozenset({*_NUMBER.findall(text), *_KATAKANA.findall(text), *_names(text, names)})


def _words(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    for run in _UNSPACED.findall(folded):
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
    yield from _WORD.findall(_UNSPACED.sub(" ", folded))


def _certain_names(texts: Iterable[str]) -> frozenset[str]:
    """Words that some text has with a capital and none without."""
    words = Counter(word for text in texts for word in _WORD.findall(text))
    return frozenset(
        word
        for word in words
        if word[0].isupper() and word.lower() not in words and word.lower() not in _OPENING_WORDS
    )


def _names(text: str, names: frozenset[str]) -> Iterator[str]:
    first = True
    for word in _WORD.findall(text):
        if word in names or (
            word[0].isupper() and not first and word.lower() not in _OPENING_WORDS
        ):
            yield word
        first = False


def _select_sentences(
    found: Sequence[_SourceSentence], limit: int, aim: int
) -> list[_SourceSentence]:
    """Greedy: always the one that adds most per character. What a sentence adds only shrinks while
    others are chosen, so an old figure is an upper bound and few are computed anew."""
    weights = _weights(found)
    said: set[str] = set()
    chosen: list[int] = []
    length = -1
    heap = [(-_gain_per_character(one, weights, said), at) for at, one in enumerate(found)]
    heapq.heapify(heap)
    while heap:
        _, at = heapq.heappop(heap)
        one = found[at]
        worth = _gain_per_character(one, weights, said)
        if worth <= 0 or length + 1 + len(one.text) > (limit if one.facts - said else aim):
            continue
        if heap and worth < -heap[0][0]:
            heapq.heappush(heap, (-worth, at))
            continue
        chosen.append(at)
        said |= one.words | one.facts
        length += 1 + len(one.text)
    return [found[at] for at in sorted(_fill_remaining_room(found, chosen, said, limit))]


def _fill_remaining_room(
    found: Sequence[_SourceSentence], chosen: list[int], said: set[str], limit: int
) -> list[int]:
    """Add sentences with a new fact that still fit: a space was counted where sentences follow each
    other without one."""
    if not any(_UNSPACED_END.search(one.text) for one in found):
        return chosen
    for at, one in enumerate(found):
        more = sorted([*chosen, at])
        if one.facts - said and len(_join_sentences([found[at] for at in more])) <= limit:
            chosen, said = more, said | one.facts
    return chosen


def _weights(found: Sequence[_SourceSentence]) -> dict[str, float]:
    counts = Counter(word for one in found for word in one.words)
    weights = {
        word: math.log1p(count) * (SHORT_WORD_WEIGHT if len(word) <= 3 and word.isascii() else 1.0)
        for word, count in counts.items()
    }
    return weights | {fact: FACT_WEIGHT for one in found for fact in one.facts}


def _gain_per_character(one: _SourceSentence, weights: dict[str, float], said: set[str]) -> float:
    """Weight of a sentence's new words, divided by the square root of its length, so that length
    alone decides nothing. New facts come first."""
    new = (one.words | one.facts) - said
    # Sorted: a sum of floats depends on its order, and that of a set on the process's hash seed.
    worth = sum(weights[word] for word in sorted(new)) / math.sqrt(len(one.text) + 1)
    return worth + (1000.0 if one.facts - said else 0.0)


def _truncate_beginning(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    space = text.rfind(" ", 0, limit)
    cut = text[: space if space > limit // 2 else limit - 1].rstrip()
    return f"{cut}…" if cut else text[:limit]


def _fit_lines(chosen: Sequence[_SourceSentence], room: int) -> str:
    """Format one source per line. If the line ends alone make it longer than the sources, shorten
    the beginnings and ends of lines, then remove little words, then shorten the least important
    line."""
    lines = _join_sentences(chosen).split("\n")
    shorter = list(lines)
    excess = sum(map(len, lines)) + len(lines) - 1 - room
    for shortened in (
        _without_stop,
        _without_article,
        _without_repeated_name,
        _without_droppable_word,
    ):
        for at in range(len(lines)):
            if excess <= 0:
                return "\n".join(shorter)
            line = shortened(shorter[at], lines, at)
            excess -= len(shorter[at]) - len(line)
            shorter[at] = line
    text = "\n".join(shorter)
    if len(text) > room:
        text = _NEEDLESS_GAP.sub("", text, count=len(text) - room)
    return _drop_least_important(text.split("\n"), room)


def _without_stop(line: str, lines: Sequence[str], at: int) -> str:
    """Drop the full stop: the end of the line replaces it."""
    is_last = at == len(lines) - 1
    return line if is_last or len(line) < 2 or line[-1] not in ".。" else line[:-1]


def _without_article(line: str, lines: Sequence[str], at: int) -> str:
    return _ARTICLE.sub("", line)


def _without_repeated_name(line: str, lines: Sequence[str], at: int) -> str:
    """Drop the name if the line before is one sentence that begins with the same name."""
    name, _, rest = line.partition(" ")
    is_repeated = at > 0 and name[:1].isupper() and lines[at - 1].startswith(f"{name} ")
    return rest if is_repeated and rest and len(split_sentences(lines[at - 1])) == 1 else line


def _without_droppable_word(line: str, lines: Sequence[str], at: int) -> str:
    return _DROPPABLE_WORD.sub("", line, count=1)


def _drop_least_important(lines: list[str], room: int) -> str:
    """Shorten the text to `room`: the line with the fewest numbers first, then with the fewest
    facts, then the shortest."""

    def importance(at: int) -> tuple[int, int, int, int]:
        line = lines[at]
        return len(_NUMBER.findall(line)), len(extract_facts(line)), len(line), -at

    while (excess := len("\n".join(lines)) - room) > 0 and len(lines) > 1:
        least = min(range(len(lines)), key=importance)
        rest = _truncate_line(lines[least], len(lines[least]) - excess)
        lines[least : least + 1] = [rest] if rest else []
    return _truncate_beginning("\n".join(lines), room)


def _truncate_line(line: str, most: int) -> str:
    """Cut a line within a word of letters, else before it, since half a number is another number;
    empty if nothing fits."""
    cut = line[: max(0, most - 1)]
    before, _, kept = cut.rpartition(" ")
    if len(kept) > 1 and line[len(cut) - len(kept) :].split()[0].isalpha():
        return f"{cut}…"
    return f"{before.rstrip()}…" if before.strip() else ""


def _join_sentences(chosen: Sequence[_SourceSentence]) -> str:
    text = chosen[0].text
    for before, one in zip(chosen, chosen[1:], strict=False):
        if before.line != one.line:
            text += "\n"
        elif not _UNSPACED_END.search(before.text):
            text += " "
        text += one.text
    return text
