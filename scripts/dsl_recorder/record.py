"""What the DSL itself computes in its own examples: ``CUTE_DSL_ARCH=sm_100a python record.py TREE FILE...``.

For who develops cutecheck, never for a check: the scripts are **run**, with their own defaults, each in a process of
its own, up to the program that the DSL makes of their kernels (nothing is compiled or launched; a GPU and torch are not
needed, see ``fake_torch``). Needs ``nvidia-cutlass-dsl``. Every call of a layout or configuring function that a file of
TREE makes is printed with its arguments and result, in the notation that ``facts --output-format json`` has: a table
for ``scripts/dsl_kernels_report.py``. What stopped a script is said on stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import traceback
import types
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import fake_torch

LAYOUT = (
    "make_layout", "make_ordered_layout", "make_composed_layout", "make_swizzle", "make_identity_layout",
    "make_layout_tv", "make_layout_image_mask", "recast_layout", "tile_to_shape", "composition", "cosize", "coalesce",
    "complement", "filter", "filter_zeros", "flat_divide", "group_modes", "local_tile", "logical_divide", "select",
    "tiled_divide", "zipped_divide", "logical_product", "zipped_product", "tiled_product", "flat_product",
    "raked_product", "blocked_product", "right_inverse", "left_inverse", "make_copy_atom", "make_mma_atom",
    "make_tiled_mma", "make_tiled_copy", "make_tiled_copy_tv", "make_tiled_copy_A", "make_tiled_copy_B",
    "make_tiled_copy_C", "make_tiled_copy_C_atom", "make_tiled_copy_S", "make_tiled_copy_D", "make_cotiled_copy",
    "local_partition",
)  # fmt: skip
HELPERS = (
    "make_",
    "get_",
    "tile_",
    "partition_",
    "cluster_shape_",
    "sm90_",
    "sm100_",
    "sm103_",
    "sm120_",
    "tma_partition",
)
_NOT_SAID = (AttributeError, TypeError, ValueError, NotImplementedError)  # by an object that has no such property
FIELDS = {
    "TiledCopy": ("size", "layout_tv_tiled", "tiler_mn", "layout_src_tv_tiled", "layout_dst_tv_tiled"),
    "CopyAtom": ("thr_id", "value_type", "layout_src_tv", "layout_dst_tv"),
    "TiledMma": (
        "size", "thr_layout_vmnk", "permutation_mnk", "tv_layout_A_tiled", "tv_layout_B_tiled", "tv_layout_C_tiled",
    ),
    "MmaAtom": ("thr_id", "shape_mnk", "tv_layout_A", "tv_layout_B", "tv_layout_C"),
}  # fmt: skip


class Recorder:
    """The calls of the files below a folder."""

    def __init__(self, root: Path, arch: str) -> None:
        self.root, self.arch = root, arch
        self.sites: dict[tuple[str, int, str], dict[str, Any]] = {}

    def note(self, call: str, frame: types.FrameType, args: Any, kwargs: Any, result: Any) -> None:
        try:
            path = Path(frame.f_code.co_filename).resolve().relative_to(self.root).as_posix()
        except ValueError:
            return
        variant = {
            "args": [shown(a, True) for a in args],
            "kwargs": {k: shown(v, True) for k, v in kwargs.items() if k not in ("loc", "ip")},
            "result": shown(result),
        }
        if variant["result"] == "?" and not call.startswith("cute."):
            return  # a helper that makes an object of its own
        key = (path, frame.f_lineno, call)
        site = self.sites.setdefault(
            key,
            {
                "path": path,
                "line": frame.f_lineno,
                "func": frame.f_code.co_name,
                "call": call,
                "arch": self.arch,
                "variants": [],
            },
        )
        if variant not in site["variants"]:
            site["variants"].append(variant)

    def wrap(self, call: str, function: Any) -> Any:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            self.note(call, sys._getframe(1), args, kwargs, result)
            return result

        return run

    def listen(self) -> None:
        """Put a listener before the public functions of the DSL's package."""
        from cutlass import cute, utils
        from cutlass.cute import nvgpu

        for name in LAYOUT:
            if hasattr(cute, name):
                setattr(cute, name, self.wrap(f"cute.{name}", getattr(cute, name)))
        modules = [nvgpu, nvgpu.warp, nvgpu.warpgroup, nvgpu.cpasync, nvgpu.tcgen05, utils]
        modules += [m for n, m in sys.modules.items() if n.startswith("cutlass.utils.") and m is not None]
        for module in modules:
            for name, function in list(vars(module).items()):
                home = getattr(function, "__module__", "") or ""
                helper = ".helpers" in home or (
                    home.startswith("cutlass.utils.") and ("helpers" in home or "layout" in home)
                )
                if isinstance(function, types.FunctionType) and helper and name.startswith(HELPERS):
                    setattr(module, name, self.wrap(f"{home.removeprefix('cutlass.')}.{function.__name__}", function))


def shown(v: Any, brief: bool = False) -> Any:
    """A value as JSON; an argument's object by its type only."""
    kind = type(v).__name__
    if v is None or isinstance(v, (bool, str, float, int)):
        return v
    if isinstance(v, type):
        return v.__name__
    if kind in ("ThrMma", "ThrCopy"):
        kind = {"ThrMma": "TiledMma", "ThrCopy": "TiledCopy"}[kind] if not brief else kind
    if kind in ("TiledCopy", "TiledMma", "CopyAtom", "MmaAtom", "ThrMma", "ThrCopy"):
        return {"kind": kind, "type": str(v.type)} if brief else _object(v, kind)
    if kind in ("_Tensor", "Tensor", "_FakeTensor") or hasattr(v, "memspace"):
        return _tensor(v)
    if kind == "OpResultList":  # of tma_partition
        v = list(v)
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return kind
    if isinstance(v, (tuple, list)):
        if v and all(type(x) is int for x in v):
            return "(" + ", ".join(map(str, v)) + ("," if len(v) == 1 else "") + ")"
        return [shown(x, brief) for x in v]
    if kind in ("_Layout", "_ComposedLayout", "_Swizzle", "Layout", "ComposedLayout", "Swizzle", "ScaledBasis"):
        return str(v)
    if kind.endswith("Op") and hasattr(v, "__dataclass_fields__"):
        return _operation(v)
    if kind == "TmaInfo":
        return kind
    if hasattr(v, "name") and hasattr(type(v), "__members__"):
        return f"{kind}.{v.name}"
    if kind.startswith(("Int", "Uint", "Float", "Boolean", "ArithValue")):
        return "?"
    return str(v) if ":" in str(v)[:200] and "object at" not in str(v) and "%" not in str(v) else "?"


def _operation(op: Any) -> dict[str, Any]:
    fields = {f: getattr(op, f, None) for f in op.__dataclass_fields__}
    return {
        "kind": type(op).__name__,
        **{k: shown(v) for k, v in sorted(fields.items()) if k not in ("admissible_archs", "descriptive_name")},
    }


def _object(v: Any, kind: str) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": kind, "op": _operation(v.op) if hasattr(v, "op") else None, "type": str(v.type)}
    names = FIELDS[kind] + (FIELDS["CopyAtom" if "Copy" in kind else "MmaAtom"] if "Tiled" in kind else ())
    for name in names:
        try:
            value = getattr(v, name)
        except _NOT_SAID:
            out[name] = None
            continue
        if name in ("tiler_mn", "permutation_mnk"):
            out[name] = [None if x is None else str(x) if ":" in str(x) else f"{x}:1" for x in value]
        elif name == "value_type":
            out[name] = value.__name__
        else:
            out[name] = value if isinstance(value, int) else shown(value) if isinstance(value, tuple) else str(value)
    return out


def _tensor(v: Any) -> Any:
    try:
        type_ = str(v.type)
    except _NOT_SAID:
        return "?"
    if type_.startswith("!cute.coord_tensor"):
        return {"kind": "Tensor", "type": type_}
    try:
        return {
            "kind": "Tensor", "layout": str(v.layout), "dtype": v.element_type.__name__,
            "memspace": str(v.memspace).rpartition(".")[2], "type": type_,
        }  # fmt: skip
    except _NOT_SAID:
        return {"kind": "Tensor", "type": type_}


def _quiet_machine() -> None:
    """No driver and no compiler: ``cute.compile`` makes the program and stops."""
    from cutlass import utils
    from cutlass.cute import testing

    def compiled(*args: Any, **kwargs: Any) -> Any:
        return fake_torch.Anything("compiled")

    utils.HardwareInfo.__init__ = lambda self, *_, **__: None
    for name, value in (
        ("get_max_active_clusters", 74),
        ("get_device_multiprocessor_count", 148),
        ("get_l2_cache_size_in_bytes", 1 << 26),
    ):
        setattr(utils.HardwareInfo, name, lambda self, *_, value=value, **__: value)
    testing.convert = testing.benchmark = compiled
    for name in ("convert", "benchmark"):
        setattr(testing, name, lambda *_, **__: 0.0)
    from cuda.bindings import driver

    for name in dir(driver):
        if name.startswith("cu") and name[2:3].isupper() and not isinstance(getattr(driver, name), type):
            setattr(driver, name, lambda *_, **__: (driver.CUresult.CUDA_SUCCESS, 1))
    arch = os.environ["CUTE_DSL_ARCH"].strip("sm_af")
    asked = driver.CUdevice_attribute
    known = {
        asked.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: int(arch[:-1]),
        asked.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: int(arch[-1]),
    }
    driver.cuDeviceGetAttribute = lambda what, *_: (driver.CUresult.CUDA_SUCCESS, known.get(what, 1))


def record(root: Path, script: Path, arguments: list[str]) -> dict[str, Any]:
    """Run one script as ``__main__``; what stopped it is kept, its sites too."""
    import runpy

    import cutlass
    from cutlass import cute

    arch = os.environ["CUTE_DSL_ARCH"]
    made = Recorder(root.resolve(), arch)
    made.listen()
    _quiet_machine()
    original = cute.compile
    failures: list[str] = []

    def compile_(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("options", None)
        try:
            original(*args, **kwargs)
        except BaseException as error:
            failures.append(_why(error))
        return fake_torch.Anything("compiled")

    class Compile:
        __call__ = staticmethod(compile_)

        def __getitem__(self, options: Any) -> Any:
            return self

    cute.compile = Compile()
    del cutlass
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.parent))
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as stop:
        if stop.code not in (0, None):
            failures.append(f"exit {stop.code}")
    except BaseException as error:
        failures.append(_why(error))
    return {"sites": list(made.sites.values()), "stopped": failures}


def _why(error: BaseException) -> str:
    places = traceback.extract_tb(error.__traceback__)
    at = [f"{Path(p.filename).name}:{p.lineno}" for p in places[-3:]]
    return f"{type(error).__name__}: {str(error)[:300]} ({' > '.join(at)})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("files", nargs="+", type=Path, help="scripts of TREE, or folders of them")
    parser.add_argument("--repo", default="", help="the name of the tree in the table")
    parser.add_argument("--timeout", type=int, default=300, help="seconds a script may take")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.environ.setdefault("CUTE_DSL_ARCH", "sm_100a")
    os.environ["CUTE_DSL_DRYRUN"] = "1"
    if arguments.one:
        fake_torch.install()
        print(json.dumps(record(arguments.tree, arguments.files[0].resolve(), [])))
        return 0
    scripts = [p for f in arguments.files for p in (sorted(f.rglob("*.py")) if f.is_dir() else [f])]
    scripts = [p for p in scripts if "__main__" in p.read_text(errors="replace")]
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for script in scripts:
        command = [sys.executable, "-W", "ignore", __file__, str(arguments.tree), str(script), "--one"]
        try:
            ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=arguments.timeout)
            found = json.loads(ran.stdout.strip().splitlines()[-1])
        except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
            print(
                f"{script}: {type(error).__name__}: {ran.stderr[-300:] if 'ran' in locals() else ''}", file=sys.stderr
            )
            continue
        print(f"{script}: {len(found['sites'])} sites{''.join('; ' + s for s in found['stopped'])}", file=sys.stderr)
        for site in found["sites"]:
            old = merged.setdefault(
                (site["path"], site["line"], site["call"]), {"repo": arguments.repo, **site, "variants": []}
            )
            old["variants"] += [v for v in site["variants"] if v not in old["variants"]]
    print(json.dumps({"package": "nvidia-cutlass-dsl", "sites": list(merged.values())}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
