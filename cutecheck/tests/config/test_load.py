"""Configuration files: precedence, types, unknown keys."""

from pathlib import Path

import pytest

from cutecheck.config import ConfigError, Settings, find_config, load_settings, read_config


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_closest_file_wins_and_a_pyproject_without_the_table_does_not_count(tmp_path: Path) -> None:
    outer = write(tmp_path / "pyproject.toml", '[tool.cutecheck]\nselect = ["CUT1"]\n')
    write(tmp_path / "a/b/pyproject.toml", '[project]\nname = "x"\n')
    source = write(tmp_path / "a/b/k.cu", "")
    assert find_config(source) == outer
    inner = write(tmp_path / "a/cutecheck.toml", 'select = ["CUT2"]\n')
    assert find_config(source) == inner
    assert load_settings([source]).select == ("CUT2",)
    assert load_settings([source], isolated=True) == Settings(compile_commands="none")
    assert load_settings([source], explicit=outer).select == ("CUT1",)


def test_own_file_before_pyproject_in_one_folder(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.cutecheck]\n")
    own = write(tmp_path / "cutecheck.toml", "")
    assert find_config(tmp_path) == own


def test_common_folder_of_several_paths(tmp_path: Path) -> None:
    write(tmp_path / "cutecheck.toml", 'unknown = "error"\n')
    write(tmp_path / "a/cutecheck.toml", 'unknown = "ignore"\n')
    one, two = write(tmp_path / "a/x.cu", ""), write(tmp_path / "b/y.cu", "")
    assert load_settings([one]).unknown == "ignore"
    assert load_settings([one, two]).unknown == "error"


def test_values_and_relative_include(tmp_path: Path) -> None:
    text = (
        'include = ["inc"]\narch = ["sm_90"]\nfail-on = "error"\nassume = ["lda % 8 == 0"]\nextend-select = ["CUT2"]\n'
    )
    settings = read_config(write(tmp_path / "cutecheck.toml", text))
    assert settings.include == (str((tmp_path / "inc").resolve()),)
    assert (settings.arch, settings.fail_on, settings.assume) == (("sm_90",), "error", ("lda % 8 == 0",))
    assert settings.extend_select == ("CUT2",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('selct = ["CUT1"]', "unknown key 'selct'; did you mean 'select'?"),
        ("zzz = 1", "unknown key 'zzz'; known keys:"),
        ('select = "CUT1"', "'select' must be a list of strings"),
        ("select = [1]", "'select' must be a list of strings"),
        ('arch = ["hopper"]', "'arch': no architecture: 'hopper' (sm_80, sm_90a, sm_100a ...)"),
        ('arch = ["90A"]', "'arch': no architecture: '90A' (did you mean 'sm_90a'?)"),
        ("unknown = 3", "'unknown' must be a string"),
        ('unknown = "maybe"', "'unknown' must be one of ignore, warn, error, not 'maybe'"),
        ("= 3", "not valid TOML"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "cutecheck.toml", text)
    with pytest.raises(ConfigError) as error:
        read_config(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_not_utf8_and_missing(tmp_path: Path) -> None:
    path = tmp_path / "cutecheck.toml"
    path.write_bytes(b'select = ["\xff"]')
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_config(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path / "none.toml")


def test_severities_and_paths(tmp_path: Path) -> None:
    text = 'severity = { CUT1 = "note" }\n[per-path."tests/**"]\nignore = ["CUT4"]\nseverity = { CUT104 = "error" }\n'
    settings = read_config(write(tmp_path / "cutecheck.toml", text))
    assert settings.severity == (("CUT1", "note"),)
    assert settings.per_path == (("tests/**", ("CUT4",), (("CUT104", "error"),)),)


@pytest.mark.parametrize(
    "text",
    [
        'severity = "note"',
        'severity = { CUT1 = "bad" }',
        'per-path = ["tests"]',
        '[per-path."tests/**"]\nselect = ["CUT1"]',
        '[per-path."tests/**"]\nignore = "CUT1"',
    ],
)
def test_severities_and_paths_that_are_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        read_config(write(tmp_path / "cutecheck.toml", text))
