"""Which cells of a chapter a claim needs: those that test it, and those that make what they use.

Depends on nbformat and IPython.

A name's value comes from the last cells before that assign it or change it in place; a cell that only shows something
is needed by none. Calling a module's function changes no module, and what the chapter's own object is told is no change
that another cell reads.
"""

import ast
import symtable
from collections.abc import Container, Iterable, Iterator

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from bertology_utils.errors import BertologyError

CHAPTER = "chapter"
JUDGING = {"test", "not_testable"}
ALWAYS = {"close"}


def slice_for(notebook: nbformat.NotebookNode, claims: Iterable[str]) -> nbformat.NotebookNode:
    """The notebook with the code cells that these claims need, in their order.

    Raises:
        BertologyError: a claim that no cell tests.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    trees = parsed(notebook)
    targets = {place for place, tree in enumerate(trees) if _chapter_calls(tree) & ALWAYS}
    for claim in claims:
        places = _judging_places(trees, claim)
        if not places:
            raise BertologyError(f"No cell of this chapter tests the claim '{claim}'.")
        targets |= places
    kept = needed_cells(trees, targets) | {
        i for i, cell in enumerate(cells) if "parameters" in cell.metadata.get("tags", [])
    }
    return nbformat.from_dict(dict(notebook) | {"cells": [cells[place] for place in sorted(kept)]})


def parsed(notebook: nbformat.NotebookNode) -> list[ast.Module]:
    """The code cells as trees; what IPython adds to Python, such as `%time`, is a call in them.

    Raises:
        BertologyError: a cell that is no Python, with its place among all cells of the notebook.
    """
    trees = []
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "code":
            try:
                trees.append(ast.parse(TransformerManager().transform_cell(cell.source)))
            except SyntaxError as error:
                raise BertologyError(f"cell {number} is no Python: line {error.lineno}, {error.msg}.") from None
    return trees


def _judging_places(trees: list[ast.Module], claim: str) -> set[int]:
    """Cells that judge the claim by its name, else those that call something with it, else those that judge claims
    whose names are given elsewhere."""
    if judged := {place for place, tree in enumerate(trees) if claim in _arguments(tree, JUDGING)}:
        return judged
    direct = {place for place, tree in enumerate(trees) if claim in _arguments(tree)}
    judging = {place for place, tree in enumerate(trees) if _chapter_calls(tree) & JUDGING}
    return direct or {p for p in judging if any(claim in _texts(trees[i]) for i in needed_cells(trees, {p}))}


def needed_cells(trees: list[ast.Module], targets: set[int]) -> set[int]:
    """Places of the targets and of all cells whose values reach them."""
    kept, open_names = set(), set()
    fixed = {CHAPTER}.union(*map(_imported, trees))
    for place in reversed(range(len(trees))):
        effects = _Effects(trees[place], fixed)
        if place in targets or effects.touched & open_names:
            kept.add(place)
            open_names = (open_names - effects.set_anew) | effects.used
    return kept


class _Effects:
    """What a cell does to names: `used` from before, `set_anew` in any case, `touched` if only perhaps or in part.

    Calling a method changes no name of `fixed`.
    """

    def __init__(self, tree: ast.Module, fixed: set[str]):
        self.used: set[str] = set()
        self.set_anew: set[str] = set()
        self.touched = _assigned(tree) | (set(_changed_in_place(tree)) - fixed)
        self._follow(tree.body, self.set_anew)

    def _follow(self, statements: Iterable[ast.stmt], known: set[str]) -> None:
        """Reads statements in their order; `known` grows by what they assign in any case."""
        for statement in statements:
            blocks = [value for _, value in ast.iter_fields(statement) if _is_block(value)]
            if not blocks or isinstance(statement, ast.FunctionDef | ast.ClassDef):
                again = _stored(statement.target) if isinstance(statement, ast.AugAssign) else set()
                self.used |= (_read(_table(statement)) | again) - known
                known |= _assigned(statement) - again
                continue
            heads = [node for node in ast.iter_child_nodes(statement) if not any(node in block for block in blocks)]
            bound = set().union(*map(_stored, heads))
            self.used |= (
                set().union(*(_read(_table(head)) for head in heads if isinstance(head, ast.expr))) - known - bound
            )
            for block in blocks:
                self._follow(block, known | bound)


def _is_block(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], ast.stmt)


def _table(node: ast.AST) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(node), "cell", "exec")


def _assigned(node: ast.AST) -> set[str]:
    return {s.get_name() for s in _table(node).get_symbols() if s.is_assigned() or s.is_imported()}


def _stored(node: ast.AST) -> set[str]:
    """Names that a part of a statement binds, such as the target of a loop."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}


def _imported(tree: ast.Module) -> set[str]:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return {alias.asname or alias.name for node in imports for alias in node.names}


def _read(table: symtable.SymbolTable) -> set[str]:
    """Names that the code reads from its module, also inside functions and comprehensions."""
    inside = table.get_type() != "module"
    own = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (s.is_global() or not inside)}
    return own.union(*map(_read, table.get_children()))


def _changed_in_place(statement: ast.stmt) -> Iterator[str]:
    """Names of objects that the statement may change: by a part of them, or by a method called for its effect."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield from _base(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _base(node.value.func)


def _base(node: ast.expr) -> Iterator[str]:
    """The name at the root of `name.part[0].more`; none for a plain name."""
    inner = node
    while isinstance(inner, ast.Subscript | ast.Attribute):
        inner = inner.value
    if isinstance(inner, ast.Name) and inner is not node:
        yield inner.id


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _chapter_call(call: ast.Call) -> str:
    """The method of the chapter that is called; empty where it is another's."""
    f = call.func
    own = isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == CHAPTER
    return f.attr if own else ""


def _chapter_calls(tree: ast.Module) -> set[str]:
    """Which methods of the chapter a cell calls."""
    return set(filter(None, map(_chapter_call, _calls(tree))))


def _arguments(tree: ast.Module, methods: Container[str] | None = None) -> set[str]:
    """Texts that stand as arguments of a call, or of a call of one of the chapter's `methods`."""
    calls = (call for call in _calls(tree) if methods is None or _chapter_call(call) in methods)
    return {text for call in calls for node in call.args for text in _texts(node) if isinstance(node, ast.Constant)}


def _texts(tree: ast.AST) -> set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
