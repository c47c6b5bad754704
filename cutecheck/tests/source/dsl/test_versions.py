"""What the DSL's package has, where its source is at hand."""

from __future__ import annotations

from pathlib import Path

from cutecheck.source.dsl.extract import Driver
from cutecheck.source.dsl.library import Library
from cutecheck.source.eval.limits import Limits
from cutecheck.tests.source.dsl.run import HEAD, results, sites

FILES = {
    "cutlass/__init__.py": "",
    "cutlass/cute/__init__.py": "",
    "cutlass/cute/arch/__init__.py": "from .older import *\n",
    "cutlass/cute/arch/older.py": "def fence_proxy(*args):\n    pass\n",
    "cutlass/pipeline/__init__.py": "from .helpers import PipelineUserType, make_pipeline_state\n",
    "cutlass/pipeline/helpers.py": (
        "class PipelineUserType:\n    Consumer = 1\ndef make_pipeline_state(kind, stages):\n    pass\n"
    ),
}


def run(tmp_path: Path, text: str) -> str:
    for name, source in FILES.items():
        (tmp_path / "dsl" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "dsl" / name).write_text(source)
    (tmp_path / "own").mkdir()
    main = tmp_path / "own" / "main.py"
    main.write_text(HEAD + text)
    made = Driver(Library({"main.py": main}, (tmp_path / "own",), tmp_path / "dsl"), "sm_90a", Limits())
    made.run(main, "main.py")
    return f"{results(made)} {[str(s.reason) for s in sites(made)]}"


def test_programs_ask_for_names_that_a_version_lacks(tmp_path: Path) -> None:
    text = """
rows = 8 if hasattr(cute.arch, "fence_that_no_version_has") else 4
cute.make_layout((rows, 3))
"""
    assert "(4,3):(1,4)" in run(tmp_path, text)


def test_functions_of_pipelines_are_imported_by_name(tmp_path: Path) -> None:
    text = """
from cutlass.pipeline import PipelineUserType, make_pipeline_state

def look(state):
    cute.make_layout((4, state.stages))

look(make_pipeline_state(PipelineUserType.Consumer, 2))
"""
    assert "a call of module" not in run(tmp_path, text)


def test_the_tables_of_shared_memory_that_older_versions_had(tmp_path: Path) -> None:
    text = """
import cutlass.utils.blackwell_helpers as sm100_utils
from cutlass.utils import hopper_helpers
cute.make_layout((sm100_utils.SMEM_CAPACITY["sm100"], hopper_helpers.SMEM_CAPACITY["sm90"]))
"""
    assert "(232448,232448):(1,232448)" in run(tmp_path, text)
