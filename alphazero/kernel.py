"""Compiling with Numba, and a disk cache that can't go stale.

Numba files a compiled function under its name, its source file and that file's date. It does not see that a function
it calls, compiled in along with it, has changed in another file. So every kernel's name carries a digest of all the
sources that go into it: the engine's kernel files, its own file, and for a game's kernels the game's whole package.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

_HERE = Path(__file__).parent
_FILES = ("kernel.py", "pool.py", "gumbel.py", "tree.py", "forest.py", "game.py")
_ENGINE = "".join((_HERE / name).read_text("utf-8") for name in _FILES)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _compile(function: Any, tag: str) -> Any:
    function.__qualname__ = function.__name__ = f"{function.__name__.lstrip('_')}_{tag}"
    return njit(cache=True, nogil=True)(function)


def _source(function: Any) -> str:
    return Path(inspect.getfile(function)).read_text("utf-8")


def kernel(function: Any) -> Any:
    """Decorator: a compiled step of the search. It runs without Python's lock."""
    return _compile(function, _digest(_ENGINE + _source(function)))


def bind(templates: list[Any], rules: dict[str, Callable[..., Any]], name: str) -> dict[str, Any]:
    """Compile templates with the given rules in place of their modules' names; each sees those before it, too.

    rules: what a template calls it -> the compiled rule. Returns them and the templates, without their underscores.
    """
    sources = "".join(
        path.read_text("utf-8")
        for folder in {Path(inspect.getfile(sys.modules[rule.__module__])).parent for rule in rules.values()}
        for path in sorted(folder.glob("*.py"))
    )
    sources += "".join(_source(template) for template in templates)
    names: dict[str, Any] = dict(rules)
    for template in templates:
        bound = types.FunctionType(template.__code__, {**template.__globals__, **names}, template.__name__)
        names[template.__name__.lstrip("_")] = _compile(bound, f"{name}_{_digest(_ENGINE + sources)}")
    return names
