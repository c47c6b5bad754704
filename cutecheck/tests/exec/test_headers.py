"""Finding CuTe's and CUDA's headers, on made-up directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.exec import headers
from cutecheck.exec.headers import Headers, NoHeaders, find_headers


def touch(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A complete set in a temporary directory, and nothing else on the machine."""
    monkeypatch.setattr(headers, "packages", lambda _name: iter(()))
    compiler = tmp_path / "bin" / "c++"
    touch(compiler)
    compiler.chmod(0o755)
    touch(tmp_path / "cutlass/include/cute/tensor.hpp")
    touch(
        tmp_path / "cutlass/include/cutlass/version.h",
        "#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 2\n#define CUTLASS_PATCH 1\n",
    )
    touch(tmp_path / "cuda/include/cuda_runtime_api.h")
    touch(tmp_path / "cuda/include/crt/host_defines.h")
    touch(tmp_path / "cuda/include/cccl/cuda/std/utility")
    return tmp_path


def environment(tree: Path) -> dict[str, str]:
    return {
        "CUTECHECK_CXX": str(tree / "bin/c++"),
        "CUTECHECK_CUTLASS": str(tree / "cutlass"),
        "CUDA_HOME": str(tree / "cuda"),
    }


def test_a_checkout_and_a_toolkit(tree: Path) -> None:
    found = find_headers(environment(tree))
    assert isinstance(found, Headers)
    assert found.version == "4.2.1"
    assert found.cutlass == tree / "cutlass/include"
    assert found.arguments() == [
        f"-I{tree / 'cutlass/include'}",
        f"-I{tree / 'cuda/include/cccl'}",
        f"-I{tree / 'cuda/include'}",
    ]


def test_what_is_missing_is_named(tree: Path) -> None:
    without_cutlass = find_headers({**environment(tree), "CUTECHECK_CUTLASS": str(tree / "nowhere")})
    assert isinstance(without_cutlass, NoHeaders) and "CUTECHECK_CUTLASS" in without_cutlass.reason
    (tree / "cuda/include/cccl/cuda/std/utility").unlink()
    if not Path("/usr/local/cuda/include").exists():
        without_library = find_headers(environment(tree))
        assert isinstance(without_library, NoHeaders) and "nvidia-cuda-cccl" in without_library.reason


def test_wheels_are_searched(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tree / "site"
    touch(site / "cutlass_library/source/include/cute/tensor.hpp")
    touch(site / "nvidia/cu13/include/cuda_runtime_api.h")
    monkeypatch.setattr(headers, "packages", lambda name: iter([site / name]))
    assert site / "cutlass_library/source/include" in list(headers.cutlass_directories({}))
    assert site / "nvidia/cu13/include" in list(headers.cuda_directories({}))
    assert site / "nvidia/cu13/include/cccl" in list(headers.cuda_directories({}))


def test_a_header_without_version(tree: Path) -> None:
    (tree / "cutlass/include/cutlass/version.h").unlink()
    assert headers.cutlass_version(tree / "cutlass/include") == "unknown"


def test_relative_names_become_absolute(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers run in folders of their own."""
    monkeypatch.chdir(tree)
    for cutlass in ("cutlass", "cutlass/include"):
        named = {"CUTECHECK_CXX": "bin/c++", "CUTECHECK_CUTLASS": cutlass, "CUDA_HOME": "cuda"}
        assert find_headers(named) == find_headers(environment(tree))
