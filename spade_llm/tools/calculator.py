"""Calculator: exact arithmetic on an expression, and the built-in tool of it."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from spade_llm.core.errors import InvalidArguments
from spade_llm.providers.model import ToolExample
from spade_llm.tools.function_tool import tool

Number = Fraction | float

MAX_CHARS = 500
MAX_NESTING = 50
MAX_EXPONENT_DIGITS = 4
"""Digits of the exponent in a literal such as 1e300."""
MAX_BITS = 10_000
"""Bits of a numerator or denominator: about 3000 digits."""
MAX_DECIMALS = 30
"""Decimals up to which a result is written in full."""
MAX_ROUND_DIGITS = 100

_FIFTEEN_DIGITS = Context(prec=15, Emax=10_000, Emin=-10_000)
_ALL_DIGITS = Context(prec=MAX_BITS)
_TOO_MANY_DIGITS = "the result has more than 3000 digits"

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]*)"
    # 15% before the end, a bracket, a comma or another term; 10 % 3 is the remainder.
    r"|(?P<percent>%(?=\s*(?:\Z|[),/%]|\*(?!\*))))"
    r"|(?P<symbol>\*\*|//|[-+*/%(),]))"
)
_LEADING_ZERO = re.compile(r"0\d")
_SYMBOLS = str.maketrans({"×": "*", "·": "*", "÷": "/", "\N{MINUS SIGN}": "-"})
_HINTS = {
    "^": ": write ** for powers",
    "=": ": only one expression, without '='",
    "_": ": write numbers without '_'",
    "'": ": write numbers without separators",
}
_CONSTANTS = {"pi": math.pi, "e": math.e}


@tool(
    examples=[
        ToolExample(input={"expression": "(17.5 - 3) * 2 ** 10"}, output="14848"),
        ToolExample(input={"expression": "200 * 15%"}, output="30"),
    ]
)
def calculator(expression: str) -> str:
    """Calculate an arithmetic expression exactly.

    Operators: + - * / // % ** and parentheses; '15%' at the end of a term is a percentage.
    Functions: sqrt abs round floor ceil min max exp ln log log2 log10 sin cos tan asin acos atan
    (radians; round goes half away from zero). Constants: pi, e.

    Args:
        expression: For instance '(17.5 - 3) * 2 ** 10'. No thousands separators.
    """
    return calculate(expression)


def calculate(expression: str) -> str:
    """Compute an expression; the result as text. Raises InvalidArguments: not an expression, not
    computable, or too large; says where."""
    return _written(evaluate(expression))


def evaluate(expression: str) -> Number:
    """Compute an expression; raises as `calculate` does."""
    if len(expression) > MAX_CHARS:
        raise InvalidArguments(f"the expression is longer than {MAX_CHARS} characters")
    if not expression.strip():
        raise InvalidArguments("the expression is empty")
    tokens = _tokenize(expression.translate(_SYMBOLS).rstrip())
    _check_syntax(tokens)
    # One token a line: a node's line says which token it is. Python never reads a literal, and so
    # neither rounds it nor refuses its size.
    placeholders = {"number": "0", "percent": "/ 0"}
    source = "\n".join(placeholders.get(token.kind, token.text) for token in tokens)
    return _value(ast.parse(f"({source})", mode="eval").body, tokens)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int
    """Position of its first character, from 1."""

    def __str__(self) -> str:
        return repr(self.text) if self.text else "the end"

    def error(self, reason: str) -> InvalidArguments:
        return InvalidArguments(f"{reason} (position {self.position})")


def _tokenize(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while match := _TOKEN.match(text, at):
        kind = match.lastgroup or ""
        tokens.append(_Token(kind, match[kind], match.start(kind) + 1))
        at = match.end()
    if rest := text[at:].lstrip():
        hint = _HINTS.get(rest[0], "")
        at = len(text) - len(rest)
        raise InvalidArguments(f"unexpected {rest[0]!r} at position {at + 1}{hint}")
    return [*tokens, _Token("end", "", len(text) + 1)]


def _check_syntax(tokens: Sequence[_Token]) -> None:
    """Refuse what is no expression, with reasons and positions that Python's parser lacks."""
    open_brackets: list[str] = []
    previous = _Token("symbol", "", 0)
    for token in tokens:
        _check_neighbours(previous, token, bool(open_brackets))
        if token.text == "(":
            open_brackets.append(previous.text)
        if len(open_brackets) > MAX_NESTING:
            raise token.error(f"nested more than {MAX_NESTING} deep")
        if token.text == "," and (not open_brackets or open_brackets[-1] not in _FUNCTIONS):
            raise token.error("write numbers without thousands separators: 1000, not 1,000")
        if token.text == ")":
            if not open_brackets:
                raise token.error("expected an operator, found ')'")
            open_brackets.pop()
        previous = token
    if open_brackets:
        raise previous.error("expected ')', found the end")


def _check_neighbours(previous: _Token, token: _Token, in_brackets: bool) -> None:
    if previous.text in _FUNCTIONS:
        if token.text != "(":
            raise previous.error(f"write {previous.text}(…)")
        return
    is_operand = token.kind in {"number", "name"} or token.text == "("
    follows_operand = previous.kind in {"number", "name", "percent"} or previous.text == ")"
    if is_operand and follows_operand:
        raise token.error(f"expected {repr(')') if in_brackets else 'an operator'}, found {token}")
    if not is_operand and not follows_operand:
        if token.text not in {"+", "-"}:
            raise token.error(f"expected a number, found {token}")
        if previous.text == "%":
            raise previous.error("percent or remainder? write (15%) + 2, or 15 % (-2)")
    if token.kind == "name" and token.text not in _FUNCTIONS and token.text not in _CONSTANTS:
        known = ", ".join([*_FUNCTIONS, *_CONSTANTS])
        raise token.error(f"unknown name {token.text!r}; known: {known}")


def _value(node: ast.expr, tokens: Sequence[_Token], depth: int = 1) -> Number:
    token = tokens[node.lineno - 1]
    if depth > MAX_NESTING:
        raise token.error(f"nested more than {MAX_NESTING} deep")
    match node:
        case ast.Constant():
            # `15%` was parsed as `15 / 0`: the zero is the placeholder of a hundred.
            return Fraction(100) if token.kind == "percent" else _literal(token)
        case ast.Name():
            return _CONSTANTS[token.text]
        case ast.UnaryOp():
            operand = _value(node.operand, tokens, depth + 1)
            return -operand if isinstance(node.op, ast.USub) else operand
        case ast.BinOp():
            # A chain such as 1 + 1 + 1 nests to the left: it is long, not deep.
            left = _value(node.left, tokens, depth)
            right = _value(node.right, tokens, depth + 1)
            # The first token behind the left operand that closes no bracket.
            after = tokens[node.left.end_lineno :]
            sign = next(token for token in after if token.text != ")")
            return _computed(sign, _OPERATORS[type(node.op)], left, right)
        case ast.Call():
            fewest, most, function = _FUNCTIONS[token.text]
            if not fewest <= len(node.args) <= most:
                count = f"{fewest} to {most}" if fewest < most else f"{fewest} argument"
                raise token.error(f"{token.text} takes {count}, not {len(node.args)}")
            values = [_value(argument, tokens, depth + 1) for argument in node.args]
            return _computed(token, function, *values)
    raise token.error(f"unexpected {token}")


def _literal(token: _Token) -> Number:
    mantissa, _, exponent = token.text.lower().partition("e")
    if _LEADING_ZERO.match(mantissa):
        raise token.error(f"write {token.text!r} without leading zeros or thousands separators")
    if len(exponent.lstrip("+-")) > MAX_EXPONENT_DIGITS:
        raise token.error("the number is too large or too small")
    return _computed(token, Fraction, token.text)


def _computed(token: _Token, function: Callable[..., Number], *values: object) -> Number:
    """Call a function, and add the position to whatever goes wrong."""
    try:
        return _checked(function(*values))
    except InvalidArguments as error:
        raise token.error(str(error)) from error
    except OverflowError as error:
        raise token.error("the result is too large") from error
    except (ValueError, ZeroDivisionError) as error:
        is_function = token.kind == "name"
        undefined = f"{token.text!r} is not defined for these numbers"
        raise token.error(undefined if is_function else "division by zero") from error


def _checked(value: Number) -> Number:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidArguments("the result is too large or not a number")
        return value
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise InvalidArguments(_TOO_MANY_DIGITS)
    return Fraction(value)  # floor and // give an int


def _power(base: Number, exponent: Number) -> Number:
    """Exact for whole exponents; refused before it is computed when it would be too large."""
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        return _whole_power(base, exponent.numerator)
    if base < 0 and exponent != math.floor(exponent):
        raise InvalidArguments("a power of a negative number with a broken exponent is not real")
    return math.pow(base, exponent)


def _whole_power(base: Fraction, exponent: int) -> Fraction:
    # These never grow: a small exponent of the same parity has the same result.
    if abs(base) in (0, 1):
        exponent = exponent % 2 if base < 0 else min(abs(exponent), 1)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    # A number of n bits is at least 2 ** (n - 1): the least size that the power can have.
    if (bits - 1) * abs(exponent) > MAX_BITS:
        raise InvalidArguments(_TOO_MANY_DIGITS)
    return base**exponent


def _square_root(value: Number) -> Number:
    """Square root; exact when it can be."""
    if value < 0:
        raise InvalidArguments("the square root of a negative number is not real")
    if isinstance(value, float):
        return math.sqrt(value)
    exact = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    if exact * exact == value:
        return exact
    # Scaled: a fraction may be too large or too small for a float while its root is not.
    half = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(value / Fraction(4) ** half), half)


def _logarithm(value: Number, base: Number = math.e) -> Number:
    """Logarithm to any base; exact for whole powers of 2 and 10."""
    if base in (2, 10) and isinstance(value, Fraction) and value > 0:
        large, small = max(value.numerator, value.denominator), min(value.as_integer_ratio())
        # Floats only guess the exponent; the exact comparison below decides.
        exponent = round(math.log(large) / math.log(base))
        if small == 1 and int(base) ** exponent == large:
            return Fraction(exponent if value >= 1 else -exponent)
    natural = _natural_logarithm(value)
    return natural if base == math.e else natural / _natural_logarithm(base)


def _natural_logarithm(value: Number) -> float:
    """Natural logarithm, also of a fraction that is too large or too small for a float."""
    if value <= 0 or isinstance(value, float) or 1e-300 < value < 1e300:
        return math.log(value)
    return math.log(value.numerator) - math.log(value.denominator)


def _rounded(value: Number, digits: Number = Fraction(0)) -> Number:
    """Round half away from zero, as people do it."""
    places = int(digits)
    if digits != places or abs(places) > MAX_ROUND_DIGITS:
        raise InvalidArguments(f"round takes whole digits up to {MAX_ROUND_DIGITS}")
    scale = Fraction(10) ** places
    units = math.floor(abs(Fraction(value)) * scale + Fraction(1, 2))
    return (units if value >= 0 else -units) / scale


_OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}

_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Number]]] = {
    "abs": (1, 1, abs),
    "acos": (1, 1, math.acos),
    "asin": (1, 1, math.asin),
    "atan": (1, 1, math.atan),
    "ceil": (1, 1, math.ceil),
    "cos": (1, 1, math.cos),
    "exp": (1, 1, math.exp),
    "floor": (1, 1, math.floor),
    "ln": (1, 1, _logarithm),
    "log": (1, 2, _logarithm),
    "log10": (1, 1, lambda value: _logarithm(value, Fraction(10))),
    "log2": (1, 1, lambda value: _logarithm(value, Fraction(2))),
    "max": (1, 50, lambda *values: max(values)),
    "min": (1, 50, lambda *values: min(values)),
    "round": (1, 2, _rounded),
    "sin": (1, 1, math.sin),
    "sqrt": (1, 1, _square_root),
    "tan": (1, 1, math.tan),
}


def _written(value: Number) -> str:
    """Text of a number: whole and decimal ones in full, others to 15 digits.

    A fraction that is cut so is followed by its exact form.
    """
    if isinstance(value, float):
        return f"{value:.15g}"
    if 10**MAX_DECIMALS % value.denominator == 0:
        return f"{_ALL_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator)):f}"
    return f"{_approximate(value)} (exactly {value})"


def _approximate(value: Fraction) -> str:
    try:
        near = float(value)
    except OverflowError:
        near = math.inf
    if near and math.isfinite(near):
        return f"{near:.15g}"
    quotient = _FIFTEEN_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{quotient.normalize(_FIFTEEN_DIGITS):e}"
