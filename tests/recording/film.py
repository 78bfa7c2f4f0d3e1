"""Timing of a moving picture: shots as a camera took them, and how long each is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

Picture = TypeVar("Picture")

MIN_SHOT_S = 0.06
"""Shots shown for less, such as a prompt that is erased and drawn again, are left out."""
MAX_SHOT_S = 1.8
LAST_SHOT_S = 5.0
MAX_FILM_S = 60.0


def cut(shots: Sequence[tuple[float, Picture]]) -> list[tuple[float, Picture]]:
    """Shots with the time in seconds that each is shown; equal neighbours are one.

    Args:
        shots: time in seconds at which each was taken, ascending, and the picture.

    Raises:
        ValueError: the film is longer than MAX_FILM_S.
    """
    kept: list[tuple[float, Picture]] = []
    for number, (at_s, picture) in enumerate(shots):
        is_last = number == len(shots) - 1
        is_brief = not is_last and shots[number + 1][0] - at_s < MIN_SHOT_S
        if not is_brief and (not kept or kept[-1][1] != picture):
            kept.append((at_s, picture))
    ends = [at_s for at_s, _ in kept[1:]]
    film = [
        (min(end_s - at_s, MAX_SHOT_S), picture)
        for (at_s, picture), end_s in zip(kept, ends, strict=False)
    ]
    film.append((LAST_SHOT_S, kept[-1][1]))
    length_s = sum(shown_s for shown_s, _ in film)
    if length_s > MAX_FILM_S:
        raise ValueError(f"the film takes {length_s:.0f} s, the maximum is {MAX_FILM_S:g} s")
    return film
