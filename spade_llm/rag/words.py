"""The words of a query that say what it is about: stop words (English, Spanish) removed. Pure."""

from __future__ import annotations

import re

MAX_QUERY_WORDS = 16
"""Further words of a query are not looked up."""

_WORD = re.compile(r"[^\W_]+")

_STOP_WORDS = """
a about after all also am an and any are as at be because been before being but by can could did
do does doing down for from had has have having he her here hers him his how i if in into is it
its itself just let may me might more most must my no nor not of off on once only or other our
ours out over own please same shall she should so some such tell than that the their theirs them
then there these they this those through to too under until up us very was we were what when
where which while who whom whose why will with would you your yours
al algo algunas algunos ante antes aquel aquella aquello aquí así aunque cada como cómo con contra
cual cuál cuales cuando cuándo cuanto cuánto de del desde donde dónde dos e el él ella ellas ellos
en entre era eran eres es esa esas ese eso esos esta está están estas este esto estos fue fueron
ha haber había hace hacer han hasta hay he la las le les lo los más me mi mí mis muy nada ni nos
nosotros nuestra nuestro o os otra otro para pero por porque puede pueden que qué quien quién se
sea ser si sí sido sin sobre son su sus también tan te tiene tienen todo todos tu tú tus u un una
unas uno unos usted vosotros y ya yo
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def query_words(query: str) -> tuple[str, ...]:
    """Lower case, each once, in order, at most MAX_QUERY_WORDS."""
    found = (word for word in _WORD.findall(query.lower()) if word not in STOP_WORDS)
    return tuple(dict.fromkeys(found))[:MAX_QUERY_WORDS]
