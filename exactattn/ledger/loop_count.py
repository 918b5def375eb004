"""How many items a plan has, read off the source of its loops as a polynomial in its sizes.

A generator that yields inside loops over ranges, whose bounds do not depend on the loop variables, yields
the sum over its ``yield`` statements of the products of the lengths of the loops around them. The source is
parsed, not run, so the count holds for all sizes; anything else in the source that could change the count
(conditions, ``break``, ``while``) is refused.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import sympy

from exactattn.exceptions import InputError

__all__ = ["item_count", "yield_count"]

Sizes = Mapping[str, Any]


def yield_count(function: Callable[..., Any], sizes: Sizes) -> Any:
    """The number of items a generator function yields, as a polynomial.

    ``sizes`` gives expressions of the source their values: for an integer its value, for an iterable its
    length. Raises InputError for source that is not loops over ranges.

    >>> def pairs(n):
    ...     rows = range(1, n + 1)
    ...     for i in rows:
    ...         for j in rows[1:]:
    ...             yield i, j
    >>> n = sympy.Symbol("n")
    >>> sympy.expand(yield_count(pairs, {"n": n}))
    n**2 - n
    """
    body = _definition(function).body
    return _Counter(sizes).statements(body)


def item_count(function: Callable[..., Any], sizes: Sizes) -> Any:
    """The length of what a function returns: a range, or a list of starred iterables and comprehensions.

    >>> def queries(first, rest):
    ...     return [*first, *(x for part in rest for x in part)]
    >>> item_count(queries, {"first": 1, "rest": sympy.Symbol("r"), "part": 4})
    4*r + 1
    """
    definition = _definition(function)
    returns = [node for node in ast.walk(definition) if isinstance(node, ast.Return)]
    if len(returns) != 1 or returns[0] not in definition.body or returns[0].value is None:
        raise InputError("needs one return of a list or a range", field=definition.name)
    return _Counter(sizes).length(returns[0].value)


def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    """The parsed source of a function, or of the one behind a property."""
    plain = function.fget if isinstance(function, property) else function
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(plain))).body
    if not isinstance(definition, ast.FunctionDef):
        raise InputError(f"{ast.unparse(definition)[:40]} is not a function")
    return definition


def _has_yield(node: ast.AST) -> bool:
    """Whether a statement can yield; functions defined inside it cannot."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return False
    if isinstance(node, ast.Yield | ast.YieldFrom | ast.Return | ast.Break | ast.Continue | ast.Raise):
        return True
    return any(_has_yield(child) for child in ast.iter_child_nodes(node))


class _Counter:
    """Lengths of iterables, with the names that were assigned so far."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = dict(sizes)

    def statements(self, body: list[ast.stmt]) -> Any:
        total: Any = sympy.S.Zero
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield):
                total += 1
            elif isinstance(node, ast.For) and not node.orelse:
                total += self.length(node.iter) * self.statements(node.body)
            elif _has_yield(node):
                raise InputError(f"line {node.lineno}: {type(node).__name__} could change the count")
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                self.sizes.pop(name, None)
                if _is_range(node.value):
                    self.sizes[name] = self.length(node.value)
        return total

    def length(self, node: ast.expr) -> Any:
        """The length of an iterable."""
        if ast.unparse(node) in self.sizes:
            return self.sizes[ast.unparse(node)]
        if _is_range(node):
            assert isinstance(node, ast.Call)
            bounds = [self.number(bound) for bound in node.args]
            return bounds[0] if len(bounds) == 1 else bounds[1] - bounds[0]
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            part = node.slice
            if part.lower is not None and part.upper is None and part.step is None:
                return self.length(node.value) - self.number(part.lower)
        if isinstance(node, ast.List):
            parts = [self.length(x.value) if isinstance(x, ast.Starred) else 1 for x in node.elts]
            return sum(parts, sympy.S.Zero)
        if isinstance(node, ast.GeneratorExp | ast.ListComp) and not any(g.ifs for g in node.generators):
            return sympy.prod([self.length(generator.iter) for generator in node.generators])
        raise InputError(f"the length of {ast.unparse(node)} cannot be read off")

    def number(self, node: ast.expr) -> Any:
        """The value of an integer expression."""
        if ast.unparse(node) in self.sizes:
            return self.sizes[ast.unparse(node)]
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return sympy.Integer(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            left, right = self.number(node.left), self.number(node.right)
            if isinstance(node.op, ast.Mult):
                return left * right
            return left + right if isinstance(node.op, ast.Add) else left - right
        raise InputError(f"the value of {ast.unparse(node)} cannot be read off")


def _is_range(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "range"
        and len(node.args) in (1, 2)
    )
