"""Reads and computes an arithmetic expression: a Pratt parser over exact numbers. No eval.

Bounded before anything is computed: length, nesting, and the size of every number on the way.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.tools import numbers
from spade_llm.tools.tokens import Kind, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.tools.numbers import Number
    from spade_llm.tools.tokens import Token

MAX_CHARS = 500
MAX_NESTING = 50
MAX_EXPONENT_DIGITS = 4
"""Of a literal such as 1e300."""

_UNARY = 30
_BINARY: dict[str, tuple[int, Callable[[Number, Number], Number]]] = {
    "+": (10, numbers.add),
    "-": (10, numbers.subtract),
    "*": (20, numbers.multiply),
    "/": (20, numbers.divide),
    "//": (20, numbers.floor_divide),
    "%": (20, numbers.modulo),
    "**": (40, numbers.power),
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Number]]] = {
    "abs": (1, 1, abs),
    "acos": (1, 1, math.acos),
    "asin": (1, 1, math.asin),
    "atan": (1, 1, math.atan),
    "ceil": (1, 1, numbers.whole(math.ceil)),
    "cos": (1, 1, math.cos),
    "exp": (1, 1, math.exp),
    "floor": (1, 1, numbers.whole(math.floor)),
    "ln": (1, 1, numbers.logarithm),
    "log": (1, 2, numbers.logarithm),
    "log10": (1, 1, lambda value: numbers.logarithm(value, Fraction(10))),
    "log2": (1, 1, lambda value: numbers.logarithm(value, Fraction(2))),
    "max": (1, 50, lambda *values: max(values)),
    "min": (1, 50, lambda *values: min(values)),
    "round": (1, 2, numbers.rounded),
    "sin": (1, 1, math.sin),
    "sqrt": (1, 1, numbers.square_root),
    "tan": (1, 1, math.tan),
}
_LEADING_ZERO = re.compile(r"0\d")


def calculate(expression: str) -> str:
    """The result as text.

    Raises:
        InvalidArguments: not an expression, not computable, or too large; says where.
    """
    return numbers.written(evaluate(expression))


def evaluate(expression: str) -> Number:
    """The result as a number; raises as `calculate` does."""
    if len(expression) > MAX_CHARS:
        raise InvalidArguments(f"the expression is longer than {MAX_CHARS} characters")
    if not expression.strip():
        raise InvalidArguments("the expression is empty")
    return _Parser(tokens_of(expression)).whole()


class _Parser:
    """Computes while it reads; used once."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> Number:
        value = self._expression(0)
        if self._next.text == ",":
            raise _error(self._next, "write numbers without thousands separators: 1000, not 1,000")
        if self._next.kind is not Kind.END:
            raise _error(self._next, f"expected an operator, found {self._next}")
        return value

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _expression(self, floor: int) -> Number:
        """Everything that binds more tightly than `floor`."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise _error(self._next, f"nested more than {MAX_NESTING} deep")
        value = self._operand()
        while self._next.text in _BINARY and _BINARY[self._next.text][0] > floor:
            value = self._operated(value)
        self._depth -= 1
        return value

    def _operated(self, left: Number) -> Number:
        operator = self._take()
        if operator.text == "%" and self._is_percent(operator):
            return numbers.divide(left, Fraction(100))
        strength, operation = _BINARY[operator.text]
        # `**` groups to the right: its own strength is enough on that side.
        right = self._expression(strength - 1 if operator.text == "**" else strength)
        return _computed(operator, operation, left, right)

    def _is_percent(self, operator: Token) -> bool:
        """`15%` before the end, a bracket or another term; `10 % 3` is the remainder."""
        if self._next.text in {"+", "-"}:
            raise _error(operator, "percent or remainder? write (15%) + 2, or 15 % (-2)")
        return self._next.kind is Kind.END or self._next.text in {")", ",", "*", "/", "//", "%"}

    def _operand(self) -> Number:
        token = self._take()
        if token.kind is Kind.NUMBER:
            return _literal(token)
        if token.kind is Kind.NAME:
            return self._named(token)
        if token.text == "-":
            return -self._expression(_UNARY)
        if token.text == "+":
            return self._expression(_UNARY)
        if token.text == "(":
            return self._bracketed()
        raise _error(token, f"expected a number, found {token}")

    def _bracketed(self) -> Number:
        value = self._expression(0)
        self._expect_closing()
        return value

    def _named(self, token: Token) -> Number:
        if token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        if token.text not in _FUNCTIONS:
            known = ", ".join([*_FUNCTIONS, *_CONSTANTS])
            raise _error(token, f"unknown name {token.text!r}; known: {known}")
        if self._take().text != "(":
            raise _error(token, f"write {token.text}(…)")
        return _applied(token, self._arguments())

    def _arguments(self) -> list[Number]:
        values = [self._expression(0)]
        while self._next.text == ",":
            self._take()
            values.append(self._expression(0))
        self._expect_closing()
        return values

    def _expect_closing(self) -> None:
        token = self._take()
        if token.text == ",":
            raise _error(token, "write numbers without thousands separators: 1000, not 1,000")
        if token.text != ")":
            raise _error(token, f"expected ')', found {token}")


def _literal(token: Token) -> Number:
    mantissa, _, exponent = token.text.lower().partition("e")
    if _LEADING_ZERO.match(mantissa):
        raise _error(token, f"write {token.text!r} without leading zeros or thousands separators")
    if len(exponent.lstrip("+-")) > MAX_EXPONENT_DIGITS:
        raise _error(token, "the number is too large or too small")
    return _computed(
        token,
        lambda value, scale: numbers.checked(value * scale),
        Fraction(mantissa),
        numbers.power(Fraction(10), Fraction(exponent or 0)),
    )


def _applied(token: Token, values: list[Number]) -> Number:
    fewest, most, function = _FUNCTIONS[token.text]
    if not fewest <= len(values) <= most:
        raise _error(token, f"{token.text} takes {_count(fewest, most)}, not {len(values)}")
    return _computed(token, function, *values)


def _computed(token: Token, function: Callable[..., Number], *values: Number) -> Number:
    """With the position in whatever goes wrong."""
    try:
        return numbers.checked(function(*values))
    except InvalidArguments as error:
        raise _error(token, str(error)) from error
    except OverflowError as error:
        raise _error(token, "the result is too large") from error
    except (ValueError, ZeroDivisionError) as error:
        raise _error(token, f"{token.text!r} is not defined for these numbers") from error


def _count(fewest: int, most: int) -> str:
    return f"{fewest} argument{'s' * (fewest > 1)}" if fewest == most else f"{fewest} to {most}"


def _error(token: Token, reason: str) -> InvalidArguments:
    return InvalidArguments(f"{reason} (position {token.position})")
