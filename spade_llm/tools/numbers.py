"""Exact numbers of bounded size, and how they are written. Knows no syntax.

An int or a Fraction is exact; a float comes from a root, a logarithm or the like, and stays one.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Callable

Number = Fraction | float

MAX_BITS = 10_000
"""Of a numerator or denominator: about 3000 digits."""
MAX_ROUND_DIGITS = 100
_FIFTEEN_DIGITS = Context(prec=15, Emax=10_000, Emin=-10_000)


def checked(value: Number) -> Number:
    """Raises InvalidArguments when it is too large, infinite or not a number."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidArguments("the result is too large or not a number")
        return value
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise InvalidArguments("the result has more than 3000 digits")
    return value


def add(left: Number, right: Number) -> Number:
    return checked(left + right)


def subtract(left: Number, right: Number) -> Number:
    return checked(left - right)


def multiply(left: Number, right: Number) -> Number:
    return checked(left * right)


def divide(left: Number, right: Number) -> Number:
    _check_divisor(right)
    return checked(left / right)


def floor_divide(left: Number, right: Number) -> Number:
    _check_divisor(right)
    quotient = left // right
    return checked(quotient if isinstance(quotient, float) else Fraction(quotient))


def modulo(left: Number, right: Number) -> Number:
    _check_divisor(right)
    return checked(left % right)


def power(base: Number, exponent: Number) -> Number:
    """Exact for whole exponents; refused before it is computed when it would be too large."""
    if base == 0 and exponent < 0:
        raise InvalidArguments("division by zero")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        return _whole_power(base, exponent.numerator)
    if base < 0 and exponent != math.floor(exponent):
        raise InvalidArguments("a power of a negative number with a broken exponent is not real")
    return checked(math.pow(base, exponent))


def square_root(value: Number) -> Number:
    """Exact when it can be."""
    if value < 0:
        raise InvalidArguments("the square root of a negative number is not real")
    if isinstance(value, Fraction):
        exact = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if exact * exact == value:
            return exact
        return _scaled_root(value)
    return math.sqrt(value)


def _scaled_root(value: Fraction) -> float:
    """Also of what is too large or too small for a float, while its root is not."""
    half = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(value / Fraction(4) ** half), half)


def logarithm(value: Number, base: Number = math.e) -> Number:
    """To any base; of a number that is too large or too small for a float, too."""
    if base in (2, 10) and isinstance(value, Fraction) and _power_of(value, int(base)) is not None:
        return Fraction(_power_of(value, int(base)) or 0)
    natural = _natural_logarithm(value)
    return natural if base == math.e else natural / _natural_logarithm(base)


def _natural_logarithm(value: Number) -> float:
    if value <= 0 or isinstance(value, float) or 1e-300 < value < 1e300:
        return math.log(value)
    return math.log(value.numerator) - math.log(value.denominator)


def _power_of(value: Fraction, base: int) -> int | None:
    """The whole exponent, if there is one."""
    if value <= 0:
        return None
    large = max(value.numerator, value.denominator)
    exponent = round(math.log(large) / math.log(base))
    if base**exponent != large or min(value.numerator, value.denominator) != 1:
        return None
    return exponent if value >= 1 else -exponent


def rounded(value: Number, digits: Number = Fraction(0)) -> Number:
    """Half away from zero, as people do it."""
    places = int(digits)
    if digits != places or abs(places) > MAX_ROUND_DIGITS:
        raise InvalidArguments(f"round takes whole digits up to {MAX_ROUND_DIGITS}")
    scale = Fraction(10**places) if places >= 0 else Fraction(1, 10**-places)
    units = math.floor(abs(Fraction(value)) * scale + Fraction(1, 2))
    return checked((units if value >= 0 else -units) / scale)


def whole(rounding: Callable[[Number], int]) -> Callable[[Number], Number]:
    return lambda value: Fraction(rounding(value))


def written(value: Number) -> str:
    """Whole and decimal numbers in full; others to 15 digits, a fraction with its exact form."""
    if isinstance(value, float):
        return _written_float(value)
    if value.denominator == 1:
        return str(value.numerator)
    places = _decimal_places(value.denominator)
    if places is not None:
        return _written_decimal(value, places)
    return f"{_approximate(value)} (exactly {value.numerator}/{value.denominator})"


def _whole_power(base: Fraction, exponent: int) -> Number:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(base) not in (0, 1) and (bits - 1) * abs(exponent) > MAX_BITS:
        raise InvalidArguments("the result has more than 3000 digits")
    if abs(base) in (0, 1):
        exponent = exponent % 2 if base < 0 else min(abs(exponent), 1)
    return checked(base**exponent)


def _check_divisor(value: Number) -> None:
    if value == 0:
        raise InvalidArguments("division by zero")


def _decimal_places(denominator: int) -> int | None:
    """How many decimals write the fraction exactly; None when no number up to 30 does."""
    for places in range(1, 31):
        if 10**places % denominator == 0:
            return places
    return None


def _written_decimal(value: Fraction, places: int) -> str:
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def _approximate(value: Fraction) -> str:
    try:
        near = float(value)
    except OverflowError:
        near = math.inf
    if near and math.isfinite(near):
        return _written_float(near)
    quotient = _FIFTEEN_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{quotient.normalize(_FIFTEEN_DIGITS):e}"


def _written_float(value: float) -> str:
    return f"{value:.15g}"
