"""``cutecheck atom NAME|--list``: what CuTe's traits say of an MMA or copy operation."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from cutecheck.cli.options import add_version_option
from cutecheck.cli.output import dump, fail

if TYPE_CHECKING:
    from cutecheck.model.atoms import AtomRecord


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "atom", help="show an MMA or copy atom", description="Show one atom, or list them all.", allow_abbrev=False
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="SM80_16x8x16_F32F16F16F32_TN, UniversalCopy<uint128_t>"
    )
    parser.add_argument("--list", action="store_true", help="the names of all atoms")
    parser.add_argument("--kind", choices=("mma", "copy"), help="with --list: only these")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    add_version_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.model.version import REFERENCE, using_cute

    with using_cute(arguments.cutlass_version or REFERENCE):
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    from cutecheck.model.atoms import UnknownAtomError, atom_names, atom_record, cutlass_version

    as_json = arguments.output_format == "json"
    if arguments.list == (arguments.name is not None):
        return fail("give a NAME or --list", as_json)
    if arguments.kind and not arguments.list:
        return fail("--kind goes with --list", as_json)
    if arguments.list:
        names = atom_names(arguments.kind)
        if as_json:
            document = {"schema_version": 1, "cutlass_version": cutlass_version(), "atoms": names}
            sys.stdout.write(dump(document))
        else:
            sys.stdout.write("".join(f"{name}\n" for name in names))
        return 0
    try:
        record = atom_record(arguments.name)
    except UnknownAtomError as error:
        return fail(f"{error}{_hint(arguments.name)}", as_json)
    sys.stdout.write(dump(atom_json(record)) if as_json else atom_text(record, arguments.name))
    return 0


def _hint(name: str) -> str:
    import difflib

    from cutecheck.model.atoms import atom_names

    near = difflib.get_close_matches(name.split("<", 1)[0], atom_names(), n=1)
    return f"; did you mean '{near[0]}'?" if near and near[0] != name else ""


def atom_json(record: AtomRecord) -> dict[str, Any]:
    """The record with the traits' own field names beside what cutecheck knows of it."""
    return {
        "schema_version": 1,
        "name": record.name,
        "kind": record.kind,
        "cutlass_version": record.cutlass_version,
        "arch": record.arch,
        "targets": list(record.targets),
        "ptx": list(record.ptx),
        "older_versions": [{"up_to": v, "state": state} for v, state in record.history],
        **dict(record.fields),
    }


def atom_text(record: AtomRecord, given: str) -> str:
    """The traits' fields one a line, then the atom as ``cute::print`` shows it; layouts of copies count bits."""
    from cutecheck.model.atoms import UnknownAtomError, copy_op, is_mma_op, mma_op
    from cutecheck.model.ints import CuteError, NotModelledError

    older = ", ".join(f"{state} up to {version}" for version, state in record.history)
    rows = [("arch", record.arch), ("PTX", ", ".join(record.ptx)), ("CUTLASS", older), *record.fields]
    width = max(len(name) for name, _ in rows) + 1
    lines = [f"{record.name} ({record.kind}, CUTLASS {record.cutlass_version})"]
    lines += [f"  {name + ':':<{width}} {value}" for name, value in rows if value]
    try:
        atom = str(mma_op(given) if is_mma_op(given) else copy_op(given)).rstrip()
    except UnknownAtomError:
        return "\n".join([*lines, ""])  # the bare name of a template: only its formulas
    except CuteError as error:
        atom = f"  rejected:  {error}"
    except NotModelledError as error:
        atom = f"  unknown:   {error}"
    return "\n".join([*lines, atom, ""])
