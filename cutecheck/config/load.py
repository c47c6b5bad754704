"""Configuration files: ``[tool.cutecheck]`` of pyproject.toml, or cutecheck.toml; the closest one wins."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

from cutecheck.config.architectures import architectures
from cutecheck.config.errors import ConfigError
from cutecheck.config.settings import FailOn, Settings, UnknownPolicy
from cutecheck.model.version import parse_version

_CHOICES: dict[str, tuple[str, ...]] = {"unknown": get_args(UnknownPolicy), "fail_on": get_args(FailOn)}
_LISTS = ("select", "extend_select", "ignore", "arch", "include", "define", "instantiate", "assume", "exclude")
_STRINGS = ("unknown", "fail_on", "cutlass_version", "baseline", "compile_commands", "cache_dir")
_SWITCHES = ("pedantic", "require_suppression_reason", "cache", "suppose")
_NUMBERS = {  # the least value of each
    "jobs": 0, "max_steps": 1, "max_idle_steps": 1, "max_depth": 1, "max_instantiations": 1, "max_flag_combinations": 1,
    "max_alike": 1,    "file_timeout": 0, "max_memory": 0,
}  # fmt: skip
_TABLES = ("severity", "per_path")


def find_config(start: Path) -> Path | None:
    """The configuration file closest to ``start``, going up; cutecheck.toml before pyproject.toml.

    A pyproject.toml without ``[tool.cutecheck]`` does not count.
    """
    start = start.absolute()
    for folder in [start, *start.parents] if start.is_dir() else start.parents:
        own = folder / "cutecheck.toml"
        if own.is_file():
            return own
        project = folder / "pyproject.toml"
        if project.is_file() and _table(project) is not None:
            return project
    return None


def read_config(path: Path) -> Settings:
    """Settings of one file. Raises :class:`ConfigError` on unknown keys, wrong types and unreadable TOML."""
    table = _table(path)
    if table is None:
        raise ConfigError(f"{path}: no [tool.cutecheck] table")
    return _settings(table, path)


def load_settings(
    paths: Sequence[Path], explicit: Path | None = None, isolated: bool = False, given: Sequence[str] = ()
) -> Settings:
    """Settings for a run over ``paths``: of ``explicit``, else of the file closest to their common folder.

    ``given`` are KEY=VALUE of the command line, which replace what the file says.
    """
    settings = _of_files(paths, explicit, isolated)
    return replace(settings, **given_settings(given)) if given else settings


def given_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Field and value of each KEY=VALUE: the value as in TOML, a plain word, or words with commas for a list."""
    where = Path("--config")
    values: dict[str, Any] = {}
    for text in texts:
        key, _, value = (part.strip() for part in text.partition("="))
        name = _field(key, where)
        values[name] = _value(name, key, _parsed(name, value), where)
    return values


def _parsed(name: str, text: str) -> object:
    try:
        return _toml_document(f"x = {text}")["x"]
    except (ValueError, KeyError):
        return [part.strip() for part in text.split(",") if part.strip()] if name in _LISTS else text


def _of_files(paths: Sequence[Path], explicit: Path | None, isolated: bool) -> Settings:
    if isolated:
        return Settings(compile_commands="none")
    if explicit is not None:
        return read_config(explicit)
    places = [str(p.absolute() if p.is_dir() else p.absolute().parent) for p in paths] or [str(Path.cwd())]
    try:
        common = Path(os.path.commonpath(places))
    except ValueError:  # different drives
        common = Path(places[0])
    found = find_config(common)
    return Settings() if found is None else read_config(found)


def origins(settings: Settings) -> list[tuple[str, str, str]]:
    """(key, value as TOML, where it is from) of every setting. Lists may be of the file and the command line both."""
    default = Settings()
    own = read_config(Path(settings.origin)) if settings.origin else default
    rows = []
    for name in sorted((*_LISTS, *_STRINGS, *_SWITCHES, *_NUMBERS, *_TABLES)):
        value, in_file, start = (getattr(s, name) for s in (settings, own, default))
        sources = []
        if name in _LISTS and value != in_file and in_file and set(in_file) <= set(value):
            sources = [settings.origin, "command line"]
        elif value != in_file:
            sources = ["command line"]
        elif value != start:
            sources = [settings.origin]
        rows.append((name.replace("_", "-"), _toml(value), " and ".join(sources) or "default"))
    return rows


def _toml(value: str | bool | int | tuple[object, ...]) -> str:
    import json

    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _toml_document(text: str) -> dict[str, Any]:
    """Raises ValueError for what is not TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    document: dict[str, Any] = tomllib.loads(text)
    return document


def _table(path: Path) -> Mapping[str, Any] | None:
    try:
        document = _toml_document(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    table: Any = document
    if path.name == "pyproject.toml":
        tool = document.get("tool", {})
        table = tool.get("cutecheck") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.cutecheck] must be a table")
    return table


def _settings(table: Mapping[str, Any], path: Path) -> Settings:
    values: dict[str, Any] = {"origin": str(path)}
    for key, value in table.items():
        name = _field(key, path)
        values[name] = _value(name, key, value, path)
    settings = replace(Settings(), **values)
    folder = path.absolute().parent
    return replace(
        settings,
        include=tuple(str((folder / i).resolve()) for i in settings.include),
        baseline=str((folder / settings.baseline).resolve()) if settings.baseline else "",
        compile_commands=settings.compile_commands
        if settings.compile_commands in ("", "none")
        else str((folder / settings.compile_commands).resolve()),
        cache_dir=_below(folder, settings.cache_dir, path) if settings.cache_dir else "",
    )


def _below(folder: Path, given: str, path: Path) -> str:
    """A folder to write to, which a file of the tree may choose below its own only: scanned trees are not trusted."""
    found = (folder / given).resolve()
    if not found.is_relative_to(folder.resolve()):
        raise ConfigError(
            f"{path}: 'cache-dir' must be below the file's folder, not {found}; use --cache-dir for others"
        )
    return str(found)


def _field(key: str, path: Path) -> str:
    known = {f.name.replace("_", "-"): f.name for f in fields(Settings) if f.name != "origin"}
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else f"; known keys: {', '.join(sorted(known))}"
        raise ConfigError(f"{path}: unknown key '{key}'{hint}")
    return known[key]


def _value(name: str, key: str, value: object, path: Path) -> object:
    if name in _LISTS:
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise ConfigError(f"{path}: '{key}' must be a list of strings")
        if name != "arch":
            return tuple(value)
        try:
            return architectures(value)
        except ValueError as error:
            raise ConfigError(f"{path}: '{key}': {error}") from None
    if name in _SWITCHES:
        if not isinstance(value, bool):
            raise ConfigError(f"{path}: '{key}' must be true or false")
        return value
    if name in _NUMBERS:
        if not isinstance(value, int) or isinstance(value, bool) or value < _NUMBERS[name]:
            raise ConfigError(f"{path}: '{key}' must be a whole number of at least {_NUMBERS[name]}")
        return value
    if name == "severity":
        return _severities(value, key, path)
    if name == "per_path":
        return _per_path(value, key, path)
    assert name in _STRINGS, name
    if not isinstance(value, str):
        raise ConfigError(f"{path}: '{key}' must be a string")
    choices = _CHOICES.get(name)
    if choices and value not in choices:
        raise ConfigError(f"{path}: '{key}' must be one of {', '.join(choices)}, not '{value}'")
    if name == "cutlass_version" and value:
        try:
            parse_version(value)
        except ValueError as error:
            raise ConfigError(f"{path}: '{key}': {error}") from None
    return value


def _severities(value: object, key: str, path: Path) -> tuple[tuple[str, str], ...]:
    """A table of rule selectors and severities."""
    levels = get_args(FailOn)
    if not isinstance(value, dict) or not all(v in levels for v in value.values()):
        raise ConfigError(f"{path}: '{key}' must be a table of rules, each one of {', '.join(levels)}")
    return tuple((str(k), str(v)) for k, v in value.items())


def _per_path(value: object, key: str, path: Path) -> tuple[object, ...]:
    """A table of patterns, each with ``ignore`` and ``severity``."""
    if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
        raise ConfigError(f"{path}: '{key}' must be a table of patterns, each a table of ignore and severity")
    found = []
    for pattern, own in value.items():
        where = f"{key}.{pattern}"
        for name in own:
            if name not in ("ignore", "severity"):
                raise ConfigError(f"{path}: unknown key '{name}' in '{where}'; known keys: ignore, severity")
        ignore = _value("ignore", f"{where}.ignore", own.get("ignore", []), path)
        found.append((pattern, ignore, _severities(own.get("severity", {}), f"{where}.severity", path)))
    return tuple(found)
