"""``cutecheck atom``."""

import json

import pytest

from cutecheck.cli import main


def test_mma_in_json_has_the_traits_field_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atom", "SM80_16x8x16_F32F16F16F32_TN", "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["Shape_MNK"] == "(_16,_8,_16)"
    assert document["ALayout"] == "((_4,_8),(_2,_2,_2)):((_32,_1),(_16,_8,_128))"
    assert {"ThrID", "BLayout", "CLayout"} <= set(document)
    assert document["arch"] == "sm_80" and document["ptx"]


def test_copy_layouts_are_in_bits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atom", "SM75_U32x4_LDSM_N", "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["SrcLayout"] == "(_32,_128):(_128,_1)"
    assert {"ThrID", "DstLayout", "RefLayout"} <= set(document)


def test_text_and_template_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atom", "UniversalCopy<uint128_t>"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("UniversalCopy") and "SrcLayout:" in out


def test_another_version(capsys: pytest.CaptureFixture[str]) -> None:
    name = "SM80_16x8x32_S32S4U4S32_TN_SATURATE"
    assert main(["atom", name, "--cutlass-version", "4.2", "--output-format", "json"]) == 0
    old = json.loads(capsys.readouterr().out)
    assert main(["atom", name, "--output-format", "json"]) == 0
    new = json.loads(capsys.readouterr().out)
    assert (old["cutlass_version"], new["cutlass_version"]) == ("4.2", "4.7.0")
    assert old["BLayout"] != new["BLayout"]
    assert {"up_to": "4.4", "state": "changed"} in new["older_versions"]
    assert main(["atom", "SM75_16x8x8_F16F16F16F16_TN", "--cutlass-version", "4.2"]) == 2
    assert "CuTe 4.2" in capsys.readouterr().err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atom", "--list", "--kind", "copy"]) == 0
    names = capsys.readouterr().out.splitlines()
    assert "SM75_U32x4_LDSM_N" in names and "SM80_16x8x16_F32F16F16F32_TN" not in names
    assert main(["atom", "--list", "--output-format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["atoms"]) > 1000


@pytest.mark.parametrize("arguments", [["atom", "SM80_16x8x16_F32F16F16F32_TM"], ["atom"], ["atom", "X", "--list"]])
def test_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("cutecheck: error: ") and err.count("\n") == 1
    if len(arguments) == 2:
        assert "did you mean 'SM80_16x8x16_F32F16F16F32_TN'?" in err
