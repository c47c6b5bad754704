"""Options shared by the commands that read sources."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecheck.config import Settings

_LIMITS = (
    "jobs", "file_timeout", "max_memory", "max_steps", "max_idle_steps", "max_depth", "max_instantiations",
    "max_flag_combinations", "max_alike",
)  # fmt: skip


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """PATH and everything that decides how sources are read and evaluated."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders to read")
    add_reading_options(parser)
    add_version_option(parser)


def add_version_option(parser: argparse.ArgumentParser) -> None:
    """``--cutlass-version``."""
    parser.add_argument(
        "--cutlass-version", type=_version, metavar="VERSION",
        help="follow CuTe of this CUTLASS, from 3.5 on (4.7); see docs/cute-versions.md",
    )  # fmt: skip


def archs(text: str) -> tuple[str, ...]:
    """The architectures of a list with commas. Raises ArgumentTypeError."""
    from cutecheck.config import architectures

    try:
        return architectures([text])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _version(text: str) -> str:
    from cutecheck.model.version import parse_version

    try:
        parse_version(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Everything that decides how sources are read."""
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--arch", action="extend", type=archs, default=[], metavar="SM[,SM]",
        help="target architectures (sm_80,sm_90a); repeatable",
    )  # fmt: skip
    reading.add_argument("-I", "--include", action="append", default=[], metavar="DIR", help="include path; repeatable")
    reading.add_argument(
        "-D", "--define", action="append", default=[], metavar="NAME[=VALUE]", help="macro; repeatable"
    )
    reading.add_argument(
        "--instantiate",
        action="append",
        default=[],
        metavar="TEXT",
        help="bind a template `Kernel<128, half_t>` or a Python call `mod.Kernel(tile=(128, 64))`; repeatable",
    )
    reading.add_argument(
        "--no-suppose",
        action="store_true",
        help="suppose no calls of a Python library that nothing calls (docs/dsl_front_end.md)",
    )
    reading.add_argument(
        "--exclude", action="append", default=[], metavar="GLOB", help="skip matching paths; repeatable"
    )
    reading.add_argument(
        "--compile-commands", metavar="FILE",
        help="take -I, -D and architectures from this compilation database (the closest one, else macros of setup.py"
        " and CMakeLists.txt); `none` for none of these",
    )  # fmt: skip
    reading.add_argument("-j", "--jobs", type=_count, metavar="N", help="processes (one a core)")
    reading.add_argument(
        "--file-timeout", type=_count, metavar="SECONDS", help="limit the evaluation of one file (600); 0: no limit"
    )
    reading.add_argument(
        "--max-memory",
        type=_count,
        metavar="MIB",
        help="limit the memory of a process that evaluates (4096); 0: no limit",
    )
    reading.add_argument("--max-steps", type=_some, metavar="N", help="limit the steps of one evaluation (2000000)")
    reading.add_argument(
        "--max-idle-steps", type=_some, metavar="N", help="limit those without anything of CuTe at a stretch (60000)"
    )
    reading.add_argument("--max-depth", type=_some, metavar="N", help="limit the nesting of evaluations (400)")
    reading.add_argument(
        "--max-instantiations", type=_some, metavar="N", help="limit the instantiations of a kernel (400)"
    )
    reading.add_argument(
        "--max-flag-combinations", type=_some, metavar="N",
        help="limit those of them that differ in boolean arguments alone (2)",
    )  # fmt: skip
    reading.add_argument(
        "--max-alike", type=_some, metavar="N",
        help="limit kernels and calls on the host that use the same class templates, in a part of a folder (400)",
    )  # fmt: skip
    reading.add_argument("--time", action="store_true", help="say on stderr where the time went")
    reading.add_argument("--no-cache", action="store_true", help="neither use nor keep results of other runs")
    reading.add_argument("--cache-dir", metavar="DIR", help="where to keep results (the user's cache folder)")
    configuration = parser.add_argument_group("configuration")
    configuration.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE|KEY=VALUE",
        help="configuration file instead of the closest one, or one setting; repeatable",
    )
    configuration.add_argument("--isolated", action="store_true", help="read no configuration file")


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def _some(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be positive")
    return value


def add_output_options(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> argparse._ArgumentGroup:
    """``--output-format`` and ``--output-file``; the group they are in."""
    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=formats, default=formats[0])
    output.add_argument("--output-file", metavar="FILE", help="write there instead of stdout")
    return output


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Configuration file plus command line; lists given on the command line replace or extend as documented.

    ``--arch`` replaces; include, define, instantiate and exclude add. Raises ConfigError.
    """
    from cutecheck.config import ConfigError, load_settings

    paths = [Path(p) for p in arguments.paths]
    files = [c for c in arguments.config if "=" not in c]
    if len(files) > 1:
        raise ConfigError(f"--config names several files: {', '.join(files)}")
    base = load_settings(
        [p for p in paths if p.exists()],
        Path(files[0]) if files else None,
        arguments.isolated,
        [c for c in arguments.config if "=" in c],
    )
    return replace(
        base,
        arch=tuple(arguments.arch) or base.arch,
        include=(*base.include, *arguments.include),
        define=(*base.define, *arguments.define),
        instantiate=(*base.instantiate, *arguments.instantiate),
        exclude=(*base.exclude, *arguments.exclude),
        cutlass_version=arguments.cutlass_version or base.cutlass_version,
        compile_commands=arguments.compile_commands or base.compile_commands,
        cache=base.cache and not arguments.no_cache,
        suppose=base.suppose and not arguments.no_suppose,
        cache_dir=arguments.cache_dir or base.cache_dir,
        **{name: value for name in _LIMITS if (value := getattr(arguments, name)) is not None},
    )
