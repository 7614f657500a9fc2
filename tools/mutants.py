"""Small mistakes that can be put into Python code, one at a time.

A mutant is a position in the syntax tree and its replacement. Texts (mostly sentences),
annotations, decorators and assertions are not changed, and neither are functions that only provide
test values.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


#: Methods of parameter types: texts that they accept, and texts that they refuse.
GIVE_TESTS_SOMETHING_TO_TRY = ("examples", "refused")


@dataclass(frozen=True)
class Mutant:
    """The node at the index `place` of a file, in the order of a walk, and its replacement."""

    file: str
    line: int
    place: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  ->  {self.after}"


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Yield every mutant of a source text, in the order of the text."""
    tree = ast.parse(source)
    left_alone = {id(node) for part in _nodes_to_skip(tree) for node in ast.walk(part)}
    for place, node in enumerate(ast.walk(tree)):
        if id(node) not in left_alone:
            for other in _others(node):
                before, after = _in_words(node), _in_words(other)
                yield Mutant(file, getattr(node, "lineno", 0), place, before, after)


def mutate(source: str, mutant: Mutant) -> ast.Module:
    """Return the tree of a source text with the mutant in it."""
    tree = ast.parse(source)
    node = next(node for place, node in enumerate(ast.walk(tree)) if place == mutant.place)
    (other,) = [other for other in _others(node) if _in_words(other) == mutant.after]
    node.__class__ = other.__class__
    node.__dict__.update(other.__dict__)
    return ast.fix_missing_locations(tree)


def _nodes_to_skip(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        # `strict=True` is an assertion, too.
        if isinstance(node, ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "strict"):
            yield node
        if isinstance(node, ast.FunctionDef) and node.name in GIVE_TESTS_SOMETHING_TO_TRY:
            yield node
        for name in ("annotation", "returns"):
            if isinstance(part := getattr(node, name, None), ast.AST):
                yield part
        # The arguments of a class are not changed, like its decorators.
        yield from getattr(node, "decorator_list", ())
        if isinstance(node, ast.ClassDef):
            yield from node.keywords


def _in_words(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:100]


def _others(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, [operator], comparators) if type(operator) in COMPARISONS:
            yield ast.Compare(left, [COMPARISONS[type(operator)]()], comparators)
        case ast.BoolOp(ast.And(), values):
            yield ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(ast.Or(), values):
            yield ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            # `bool` keeps it an expression of the same type.
            yield _call("bool", operand)
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.AugAssign(target, operator, value) if type(operator) in OPERATORS:
            yield ast.AugAssign(target, OPERATORS[type(operator)](), value)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case _:
            yield from _other_statements(node)


def _other_statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        # Another rule already inverts a test that compares or negates.
        case ast.If(ast.Name() | ast.Attribute() | ast.Call() as test, body, orelse):
            changed = copy.copy(node)
            changed.test, changed.body, changed.orelse = ast.UnaryOp(ast.Not(), test), body, orelse
            yield changed
        case ast.Return(ast.expr() as value) if not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call()):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _call(name: str, argument: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [argument], [])
