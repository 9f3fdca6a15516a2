"""Each rule of ``test_rules.py`` finds the place that breaks it: a rule that finds nothing holds nothing."""

import pytest

import test_rules as rules

# rule, file, the line that breaks it, and one that does not
BROKEN = [
    ("factorisations", "dual/a.py", "from scipy.linalg import cho_factor", "from scipy.linalg import norm"),
    ("factorisations", "gram/a.py", "np.linalg.solve(K, y)", "factor.solve(y)"),
    ("algebra_in_estimators", "estimators/a.py", "f = K @ alpha", "f = model.predict(X)"),
    (
        "borrowed_names",
        "estimators/a.py",
        "class A:\n    def f(self): self._b()",
        "class A:\n    def _b(self): self._b()",
    ),
    ("branches_on_the_approximation", "estimators/a.py", "a = plan_.landmarks == 3", "a = fitted.exact == 3"),
    ("branches_on_the_approximation", "estimators/a.py", "isinstance(how, Neighbours)", "isinstance(how, str)"),
    ("private_imports", "dual/a.py", "from mercer.solvers._b import c", "from mercer._b import c"),
    ("private_imports", "dual/a.py", "from mercer.solvers.engine import c", "from mercer.solvers import c"),
    ("recognised_by_class", "dual/a.py", "isinstance(K, gram.Stored)", "isinstance(K, Gram)"),
    ("recognised_by_class", "report/a.py", "isinstance(k, int | Line)", "isinstance(k, gp.Line | Kernel)"),
    ("recognised_by_name", "report/a.py", "type(K).__name__ == 'Stored'", "type(y).__name__ == 'NAType'"),
    ("recognised_by_attribute", "dual/a.py", "getattr(K, 'matrix', None)", "getattr(X, 'shape', None)"),
    ("asked_by_surfaces", "report/a.py", "hasattr(K, 'matrix')", "hasattr(X, 'columns')"),
    ("classes_of_one_name", "dual/a.py", "class Stored: pass", "class Other: pass"),
    ("modules_of_like_names", "dual/basis.py", "", "class Other: pass"),
    ("modules_of_like_names", "gram/_bases.py", "", "class Other: pass"),
    ("numbered_warnings", "dual/a.py", "warnings.warn('', stacklevel=3)", "warn('')"),
    ("unsafe", "cli/a.py", "eval(x)", "x.eval()"),
    ("unsafe", "cli/a.py", "def f():\n    import pickle", "import json"),
    ("eager_imports", "report/a.py", "import pandas", "def f():\n    import pandas"),
    ("numeric_constants", "dual/a.py", "A = 2 * 3.0", "A = 'b'\ndef f(): a = 1"),
    ("retired_words", "dual/a.py", "class OneTask: pass", "def tasks(): told = 1"),
    ("retired_words", "dual/a.py", "def f(as_it_is): pass", "def f(as_is): pass"),
    ("long", "dual/a.py", "f(1)\n" * 500, "f(1)\n" * 300),
    ("long", "dual/a.py", "def f():\n" + "    x = 1\n" * 71, 'def f():\n    """A.\n' + "\n" * 80 + '    """'),
]
ALL = {**rules.CEILINGS, **rules.FALLING}
SOUND = "class Kernel: pass\nclass Line(Kernel): pass\n"
SOUND += "class Gram: pass\nclass Stored(Gram):\n    def __init__(self): self.matrix = 1\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function of a file and its source that gives what each rule says of the package it is in."""
    monkeypatch.setattr(rules, "SOURCE", tmp_path)
    caches = (rules.trees, rules.walked, rules.classes, rules.ancestors, rules.members)

    def read(file, source):
        for name, text in {"gram/bases.py": SOUND, file: source}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(f'"""A module."""\n{text}\n', encoding="utf-8")
        for function in caches:
            function.cache_clear()
        return {rule.__name__: list(rule()) for rule in ALL}

    yield read
    for function in caches:
        function.cache_clear()


@pytest.mark.parametrize(("rule", "file", "broken", "sound"), BROKEN, ids=[f"{b[0]}-{b[1]}" for b in BROKEN])
def test_a_broken_rule_is_found_and_no_other(package, rule, file, broken, sound):
    found = {name: places for name, places in package(file, broken).items() if places}
    assert [*found] == [rule] and len(found[rule]) == 1, found
    if file.endswith("a.py"):
        assert not any(package(file, sound).values())


def test_every_rule_is_here():
    assert {rule for rule, *_ in BROKEN} == {rule.__name__ for rule in ALL}
