"""Write ``docs/rules`` from the rules: ``python scripts/rule_pages.py`` in the repository."""

from __future__ import annotations

from pathlib import Path

from cutecheck.rules import RULES
from cutecheck.rules.pages import pages

FOLDER = Path(__file__).parents[1] / "docs" / "rules"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = pages(RULES)
    for old in FOLDER.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
