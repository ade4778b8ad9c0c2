"""What is changed: mutmut's operators, and a few for what they leave alone.

mutmut changes numbers, words, names, operators, arguments, assignments and branches. Added here:
a call that is left out, a bare condition turned round, one entry taken out of a table, and keys
that are put together from parts. Sentences for people are no data and stay as they are; so do
annotations, which strict type checking guards.
"""

from collections.abc import Iterator, Sequence

import libcst as cst
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal

# What they are changed into fails at once, wherever it runs: each would only lift the score.
LEFT_ALONE_CALLS = frozenset({"isinstance", "len"})


def changes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield every changed form of ``node`` itself; its children are the caller's to visit."""
    if is_sentence(node):
        return
    for kind, operator in mutation_operators:
        if operator is not operator_arg_removal and isinstance(node, kind):
            yield from operator(node)
    yield from _added(node)


def _added(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match node:
        case cst.Call():
            yield from _other_arguments(node.args, node)
        case cst.If() if _is_bare(node.test):
            turned = cst.UnaryOperation(cst.Not(), _in_parentheses(node.test))
            yield node.with_changes(test=turned)
        case cst.Expr(value=cst.Call()):
            yield cst.Pass()
        case cst.Set(elements=[_]):
            yield cst.Call(cst.Name("set"))
        case cst.Set(elements=elements) | cst.Dict(elements=elements):
            for index in range(len(elements)):
                yield node.with_changes(elements=[*elements[:index], *elements[index + 1 :]])
        case cst.FormattedString():
            yield node.with_changes(parts=[cst.FormattedStringText("XX"), *node.parts])
        case _:
            return


def changes_of_a_word(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the one change of a member of an enumeration: any other asks the same of the tests."""
    if isinstance(node, cst.SimpleString) and not node.value.startswith('"""'):
        yield node.with_changes(value=f"{node.quote}XX{node.raw_value}{node.quote}")


def is_sentence(node: cst.CSTNode) -> bool:
    """Return whether ``node`` is text for people: a state, a slug, a key or a name has no space."""
    match node:
        case cst.SimpleString():
            return " " in node.raw_value
        case cst.FormattedString():
            texts = [part.value for part in node.parts if isinstance(part, cst.FormattedStringText)]
            return any(" " in text for text in texts)
        case cst.ConcatenatedString():
            return is_sentence(node.left) or is_sentence(node.right)
        case _:
            return False


def _other_arguments(arguments: Sequence[cst.Arg], call: cst.Call) -> Iterator[cst.Call]:
    """Yield the call with each argument replaced by None, and with each left out.

    A sentence is only left out: without its words the call says the same.
    """
    for index, argument in enumerate(arguments):
        nothing = isinstance(argument.value, cst.Name) and argument.value.value == "None"
        before, after = arguments[:index], arguments[index + 1 :]
        if not argument.star and not nothing and not is_sentence(argument.value):
            empty = argument.with_changes(value=cst.Name("None"))
            yield call.with_changes(args=[*before, empty, *after])
        if len(arguments) > 1:
            yield call.with_changes(args=[*before, *after])


def _is_bare(test: cst.BaseExpression) -> bool:
    """Return whether no other operator turns the condition round."""
    return not isinstance(test, cst.Comparison | cst.UnaryOperation | cst.BooleanOperation)


def _in_parentheses(test: cst.BaseExpression) -> cst.BaseExpression:
    if isinstance(test, cst.NamedExpr) and not test.lpar:
        return test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return test
