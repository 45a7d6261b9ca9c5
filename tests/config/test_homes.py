"""Every number has one home: the file whose code acts on it, or the row of the configuration that this file names."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import BaseModel

from streaming.config.alerts import Alerts
from streaming.config.config_errors import KeyPath, key_text
from streaming.config.keys import all_keys, field_at
from streaming.config.sections import Config, TimingSection
from streaming.core.default_settings import DEFAULT_TIMING, MODULES

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "streaming" / "config"
PRODUCT = sorted([*(ROOT / "streaming").rglob("*.py"), *(ROOT / "schemas").rglob("*.py")])
KEYS: list[tuple[type[BaseModel], KeyPath]] = [(root, key) for root in (Config, Alerts) for key in all_keys(root)]
UNITS_MS = {"_ms": 1, "_s": 1_000, "_seconds": 1_000, "_days": 86_400_000}
OTHER_MATTERS = {  # these have the name and number of a key by chance
    "streaming/http_serving.py EVERY_S": "lines of a log, not calls of heartbeat.url",
    "streaming/spark/health.py LATE_MS": "one word of a health fact; pages go by monitor.late_seconds",
}


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


def value(node: ast.expr | None) -> object:
    """The value of an expression of literals, as ``7 * 86_400_000``; None for every other."""
    if node is None or any(isinstance(part, ast.Name | ast.Attribute | ast.Call) for part in ast.walk(node)):
        return None
    try:
        return eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
    except Exception:
        return None


def named_values(path: Path) -> Iterator[tuple[str, object]]:
    """Constants, and defaults of fields and arguments."""
    for node in nodes(path):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, value(node.value)
        elif isinstance(node, ast.Assign):
            yield from ((name.id, value(node.value)) for name in node.targets if isinstance(name, ast.Name))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            named = [*given.posonlyargs, *given.args][-len(given.defaults) :] if given.defaults else []
            yield from ((arg.arg, value(default)) for arg, default in zip(named, given.defaults, strict=True))
            yield from ((a.arg, value(default)) for a, default in zip(given.kwonlyargs, given.kw_defaults, strict=True))


def without_unit(name: str, given: object) -> tuple[str, object]:
    """``STALL_MS``, 60_000 and ``stall_seconds``, 60 are the same."""
    name = name.lower().lstrip("_")
    for unit, factor in UNITS_MS.items():
        if name.endswith(unit):
            is_number = isinstance(given, int | float) and not isinstance(given, bool)
            return name.removesuffix(unit), given * factor if is_number else given  # type: ignore[operator]
    return name, given


@cache
def homes_outside() -> dict[tuple[str, object], list[str]]:
    """Where a number or text stands under a name, outside the configuration."""
    found: dict[tuple[str, object], list[str]] = {}
    for path in PRODUCT:
        for name, given in named_values(path) if CONFIG not in path.parents else ():
            home = f"{path.relative_to(ROOT)} {name}"
            if isinstance(given, int | float | str) and home not in OTHER_MATTERS:
                found.setdefault(without_unit(name, given), []).append(home)
    return found


def is_declared_with(name: str, default: object, path: Path) -> bool:
    """Whether the configuration itself has the number, and does not name another's."""
    for node in nodes(path):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            given = node.value.args[0] if isinstance(node.value, ast.Call) and node.value.args else node.value
            if value(given) == default:
                return True
    return False


@pytest.mark.parametrize(("root", "key"), KEYS, ids=lambda given: key_text(given) if isinstance(given, tuple) else "")
def test_the_default_of_a_key_stands_once(root: type[BaseModel], key: KeyPath) -> None:
    field = field_at(key, root)
    assert field is not None
    default = field.get_default(call_default_factory=True)
    is_a_table = key[:2] == ("tables", "retention_days")  # its definition has the days
    if is_a_table or isinstance(default, bool) or not isinstance(default, int | float | str) or not default:
        return  # off, empty or not known: there is no number
    outside = homes_outside().get(without_unit(str(key[-1]), default), [])
    inside = [path.name for path in CONFIG.glob("*.py") if is_declared_with(str(key[-1]), default, path)]
    assert len(outside + inside) == 1


def home_of(timer: str) -> tuple[str, str]:
    """The module that states a timer's default, of those in which ``default_settings`` looks, and its name there."""
    name = timer.upper()
    stating = [m.__name__ for m in MODULES if any(isinstance(n, ast.Assign) and name in targets(n) for n in body(m))]
    (home,) = stating
    return home, name


def body(module: ModuleType) -> list[ast.stmt]:
    return ast.parse(inspect.getsource(module)).body


def targets(assignment: ast.Assign) -> list[str]:
    return [ast.unparse(target) for target in assignment.targets]


@pytest.mark.parametrize("key", sorted(TimingSection.model_fields))
def test_the_default_of_a_timer_stands_in_the_file_that_acts_on_it(key: str) -> None:
    timer = re.sub("_seconds$", "_ms", key)
    home, name = home_of(timer)
    default = getattr(importlib.import_module(home), name)
    assert default == getattr(DEFAULT_TIMING, timer)
    assert TimingSection().model_dump()[key] * (1000 if key != timer else 1) == default
    source = (ROOT / f"{home.replace('.', '/')}.py").read_text("utf-8")
    assert f".{timer}" in source, f"{home} does not act on {timer}"
    assert re.search(rf"^{name} = .+  # \w", source, re.MULTILINE), f"{home} does not say why {name} is so"


ACTING = ("core", "collector/probing", "notifier", "projections", "sinks", "spark", "web")  # no tables of numbers


@pytest.mark.parametrize("package", ACTING)
def test_a_time_stands_in_a_file_that_acts_on_it(package: str) -> None:
    unused = [
        f"{path.relative_to(ROOT)} {name}"
        for path in (ROOT / "streaming" / package).rglob("*.py")
        for name in re.findall(r"^([A-Z_]+_(?:MS|S)) = ", path.read_text("utf-8"), re.MULTILINE)
        if not re.search(rf"\b{name}\b(?! = )|\.{name.lower()}\b", path.read_text("utf-8"))
    ]
    assert unused == []


def fields_by_class() -> dict[str, list[list[tuple[str, object]]]]:
    """The fields of value classes, with the numbers that they default to."""
    found: dict[str, list[list[tuple[str, object]]]] = {}
    for node in (node for path in PRODUCT for node in nodes(path)):
        if isinstance(node, ast.ClassDef) and is_value_class(node):
            fields = [f for f in node.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)]
            found.setdefault(node.name, []).append([(ast.unparse(f.target), value(f.value)) for f in fields])
    return found


def is_value_class(node: ast.ClassDef) -> bool:
    return any(re.match("dataclass|NamedTuple", ast.unparse(part)) for part in (*node.decorator_list, *node.bases))


def calls() -> dict[str, list[ast.Call]]:
    """The calls of each name, in the product and in what measures it."""
    found: dict[str, list[ast.Call]] = {}
    for node in (node for path in (*PRODUCT, *(ROOT / "bench").glob("*.py")) for node in nodes(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            found.setdefault(name, []).append(node)
    return found


def is_given(call: ast.Call, place: int, field: str) -> bool:
    is_open = any(isinstance(arg, ast.Starred) for arg in call.args) or any(
        given.arg is None for given in call.keywords
    )
    return is_open or len(call.args) > place or any(given.arg == field for given in call.keywords)


@pytest.mark.slow("every key is read from a file")
def test_no_field_has_a_number_that_all_who_make_it_overwrite() -> None:
    made = calls()
    overwritten = [
        f"{name}.{field} = {number}"
        for name, classes in fields_by_class().items()
        for place, (field, number) in enumerate(classes[0])
        if len(classes) == 1 and isinstance(number, int | float) and number not in (0, 1)
        if name in made and all(is_given(call, place, field) for call in made[name])
    ]
    assert overwritten == []
