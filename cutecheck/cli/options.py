"""Options shared by the commands that read sources."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecheck.config import Settings


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
        "--arch", action="append", default=[], metavar="SM", help="target architecture (sm_80); repeatable"
    )
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
        "--exclude", action="append", default=[], metavar="GLOB", help="skip matching paths; repeatable"
    )
    reading.add_argument(
        "--compile-commands", metavar="FILE",
        help="take -I, -D and architectures from this compilation database (the closest one); `none` for none",
    )  # fmt: skip
    configuration = parser.add_argument_group("configuration")
    configuration.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE|KEY=VALUE",
        help="configuration file instead of the closest one, or one setting; repeatable",
    )
    configuration.add_argument("--isolated", action="store_true", help="read no configuration file")


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
    )
