"""How far the code is from what it should be, in numbers: ``python tools/house.py`` prints a table.

A count is a function that yields "file:line: what" for each place it counts; the first line of its docstring says what
is counted. ``--list NAME`` prints the places of one count, ``--root FOLDER`` counts another checkout (a git worktree of
an older commit, say), and ``--no-fits`` leaves out the fits, for which the package must be importable.
"""

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Past tenses without -ed that stand alone as names here; those that are also nouns (cut, run, split, spread) are not.
IRREGULAR = set(
    "begun bound built chosen drawn found given grown held kept known left lent lost made put read said sent set shown "
    "sought spent taken told written".split()
)
NO_PARTICIPLES = {"bound", "need", "put", "read", "set", "seed", "speed"}
VERBS = ("is_", "check_", "fit_", "refuse_", "sklearn_is_")


class Source:
    """The syntax trees of a checkout."""

    def __init__(self, root):
        self.root = Path(root).resolve()

    @cache  # noqa: B019  (one object for each run)
    def trees(self, folder="src/mercer"):
        """{path below the folder: syntax tree}."""
        home = self.root / folder
        files = sorted(home.rglob("*.py"))
        return {p.relative_to(home).as_posix(): ast.parse(p.read_text(encoding="utf-8")) for p in files}

    def nodes(self, *kinds, folder="src/mercer", inside="", outside="-"):
        """(path, node) of every node of these kinds, in the files whose path starts with ``inside``."""
        for path, tree in self.trees(folder).items():
            if path.startswith(inside) and not path.startswith(outside):
                yield from ((path, node) for node in self.walked(tree) if isinstance(node, kinds))

    @cache  # noqa: B019
    def walked(self, tree):
        return [*ast.walk(tree)]

    def functions(self):
        """(path, FunctionDef) of every function that stands at the level of its module."""
        for path, tree in self.trees().items():
            yield from ((path, node) for node in tree.body if isinstance(node, ast.FunctionDef))

    @cache  # noqa: B019
    def bases(self):
        """{class: names of its bases}, all files together; mercer.compat borrows names of scikit-learn."""
        found = {}
        for _, node in self.nodes(ast.ClassDef, outside="compat/"):
            found.setdefault(node.name, set()).update(last(base) for base in node.bases)
        return found

    def below(self, base):
        """Names of all classes below one, itself left out."""
        found, size = {base}, 0
        while len(found) > size:  # a generation each time
            size = len(found)
            found |= {name for name, bases in self.bases().items() if bases & found}
        return found - {base}


def last(node):
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def at(path, node, what):
    return f"{path}:{node.lineno}: {what}"


def several(places, least):
    """The (name, place) pairs whose name stands ``least`` times or more, as one line for each name."""
    by_name = {}
    for name, place in places:
        by_name.setdefault(name, []).append(place)
    chosen = {name: found for name, found in by_name.items() if len(found) >= least}
    for name in sorted(chosen, key=lambda name: (-len(chosen[name]), name)):
        yield f"{name} {len(chosen[name])}: {', '.join(chosen[name])}"


# ------------------------------------------------------------------------------------------------ the counts
def code_lines(source):
    """Lines of src that carry code: no docstrings, comments, blank lines."""
    for path, tree in source.trees().items():
        text = (source.root / "src/mercer" / path).read_text(encoding="utf-8")
        documented, code = set(), set()
        for node in ast.walk(tree):
            first = node.body[0] if getattr(node, "body", None) and isinstance(node.body, list) else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                documented |= {*range(first.lineno, first.end_lineno + 1)}
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.string.strip() and token.type != tokenize.COMMENT:
                code |= {*range(token.start[0], token.end[0] + 1)}
        yield from (f"{path}:{line}" for line in sorted(code - documented))


def files(source):
    """Files of Python in src."""
    return [*source.trees()]


def approximation_branches(source):
    """Questions about the approximation in estimators/: of its class or word, the plan, attributes a fit has set."""
    classes = {"Landmarks", "Neighbours", "Fourier", "FullSolve", "SpectralFeatures"}
    for path, node in source.nodes(ast.Call, ast.Compare, ast.Attribute, ast.BinOp, inside="estimators/"):
        text = ast.unparse(node)
        if isinstance(node, ast.Call):
            words = {last(part) for part in ast.walk(node.args[1])} if len(node.args) > 1 else set()
            asked = last(node.func) == "isinstance" and words & classes
            word = re.fullmatch(r"isinstance\((how|\w+\.approximation), str\)", text)
            if asked or word or re.fullmatch(r"self\.__dict__\.get\('(neighbours|landmark).*", text):
                yield at(path, node, text)
        elif isinstance(node, ast.Compare):
            inside = isinstance(node.ops[0], ast.In | ast.NotIn) and "__dict__" in text
            if inside and re.search(r"'(_rows|neighbours_|landmark\w*_|features_)'", text):
                yield at(path, node, text)
            elif re.search(r"plan_?\.(gram|solver)$", ast.unparse(node.left)):
                yield at(path, node, text)
        elif isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.BitAnd) and re.search(r"'(neighbours_|landmark\w*_)'", text):
                yield at(path, node, text)
        elif node.attr in ("landmarks", "neighbours") and "plan" in ast.unparse(node.value):
            yield at(path, node, text)


def constants(source, name=""):
    """Numbers given a name at the level of a module, expressions of numbers included."""
    for path, tree in source.trees().items():
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for one, value in paired(target, node.value):
                        if number(value) and name in ("", one):
                            yield at(path, node, f"{one} = {ast.unparse(value)}")


def paired(target, value):
    """(name, value) of an assignment, of several in one line too."""
    if not isinstance(target, ast.Tuple):
        return [(last(target), value)]
    if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
        return [(last(one), each) for one, each in zip(target.elts, value.elts, strict=True)]
    return []


def number(value):
    """Whether an expression is made of numbers alone."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.BinOp):
        return number(value.left) and number(value.right)
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).startswith(("np.", "math.", "float")) and all(map(number, value.args))
    if isinstance(value, ast.Attribute):
        return ast.unparse(value) in ("np.inf", "np.pi", "math.inf", "math.pi") or "finfo" in ast.unparse(value)
    return isinstance(value, ast.UnaryOp) and number(value.operand)


def shared_constants(source):
    """Names of such numbers that stand for several things."""
    found = (place.rsplit(": ", 1) for place in constants(source))
    return several([(what.split(" = ")[0], place) for place, what in found], 2)


def repeated_names(source):
    """Names of module functions that stand three or more times, a leading _ aside."""
    return several([(node.name.strip("_"), f"{path}:{node.lineno}") for path, node in source.functions()], 3)


def participles(source):
    """Names of module functions that are a participle or end in one (told, rows_named), but for a verb in front."""
    named = [(node.name.strip("_"), f"{path}:{node.lineno}") for path, node in source.functions()]
    ends = [(n, p) for n, p in named if not n.startswith(VERBS) and n.split("_")[-1] not in NO_PARTICIPLES]
    return several([(n, p) for n, p in ends if re.search("ed$", n) or n.split("_")[-1] in IRREGULAR], 1)


def kernels_recognised(source):
    """isinstance on a class of kernels outside kernels/; whether something is a Kernel at all does not count."""
    kernels = source.below("Kernel")
    for path, node in source.nodes(ast.Call, outside="kernels/"):
        if last(node.func) in ("isinstance", "issubclass") and not re.search(r"\b(gp|pl)\.", ast.unparse(node)):
            if kernels & {last(part) for part in ast.walk(node.args[1])}:
                yield at(path, node, ast.unparse(node))


def estimator_first(source):
    """Module functions whose first argument is an estimator, a model or a machine."""
    for path, node in source.functions():
        arguments = node.args.posonlyargs + node.args.args
        if arguments and arguments[0].arg in ("estimator", "model", "machine"):
            yield at(path, node, node.name)


def many_parameters(source):
    """Functions with more than 8 parameters, self and __init__ aside."""
    for path, node in source.nodes(ast.FunctionDef):
        names = [one.arg for one in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
        if len([one for one in names if one not in ("self", "cls")]) > 8 and node.name != "__init__":
            yield at(path, node, f"{node.name} {len(names)}")


def report_keys(source):
    """Keys of dictionaries in report/, a word in brackets; those within f-strings do not count."""
    for path in source.trees():
        if path.startswith("report/"):
            lines = (source.root / "src/mercer" / path).read_text(encoding="utf-8").splitlines()
            keys = ((i, key) for i, line in enumerate(lines, 1) for key in re.findall(r'\["([a-z_]+)"\]', line))
            yield from (f"{path}:{i}: {key}" for i, key in keys)


def design_words(source):
    """Words of docs/design.md."""
    return (source.root / "docs/design.md").read_text(encoding="utf-8").split()


def patched_constants(source):
    """Constants that a test sets by monkeypatch."""
    for path, node in source.nodes(ast.Call, folder="tests"):
        words = [part.value for one in node.args for part in ast.walk(one) if isinstance(part, ast.Constant)]
        names = [str(word).split(".")[-1] for word in words] or [""]
        constant = any(re.fullmatch("[A-Z][A-Z_0-9]*", name) for name in names)
        if last(node.func) == "setattr" and (constant or ast.unparse(node.args[0]).endswith(".{name}'")):
            yield at(path, node, ast.unparse(node))


def matched_wording(source):
    """Places where a test expects an error or a warning by its sentence: match= of several words, not of a name."""
    for path, node in source.nodes(ast.keyword, folder="tests"):
        texts = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
        words = re.sub(r"\\[a-zA-Z]|[^\w\s]", "", "".join(text for text in texts if isinstance(text, str)))
        if node.arg == "match" and len(words.split()) > 1:
            yield at(path, node.value, ast.unparse(node.value))


COUNTS = {
    code_lines: 32_000, files: None, approximation_branches: 0, constants: 250, shared_constants: None,
    repeated_names: 30, participles: 20, kernels_recognised: 0, estimator_first: 30, many_parameters: 5,
    report_keys: None, design_words: None, patched_constants: 0, matched_wording: None,
}  # fmt: skip
VISITS = (28, 14, 32, 38, 36)


def fits(source):
    """{call: files visited} of a fit, by tools/visits.py in a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("visits.py")), "--json"]
    environment = os.environ | {"PYTHONPATH": str(source.root / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the fits could not be walked:\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", metavar="NAME", choices=[count.__name__ for count in COUNTS])
    parser.add_argument("--root", default=ROOT)
    parser.add_argument("--no-fits", action="store_true")
    options = parser.parse_args()
    source = Source(options.root)
    for count, aim in COUNTS.items():
        if options.list in (None, count.__name__):
            places = [*count(source)]
            if options.list:
                print(*places, sep="\n")
            else:
                print(f"{count.__name__:24}{len(places):8}{'' if aim is None else f'≤ {aim}':>10}  {count.__doc__}")
    if options.list or options.no_fits:
        return
    for aim, (name, found) in zip(VISITS, fits(source).items(), strict=True):
        print(f"{'files visited':24}{len(found):8}{f'≤ {aim}':>10}  {name}")


if __name__ == "__main__":
    main()
