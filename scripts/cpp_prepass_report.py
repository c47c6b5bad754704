#!/usr/bin/env python3
"""What the pre-pass changes for tree-sitter-cuda on real trees: files with ERROR nodes, misread comparisons, seconds.

    python scripts/cpp_prepass_report.py [--arch sm_80] [--list] PATH...

Whole files are parsed, under the macros of their includes: as written, after the directives and macros, and after the
pre-pass. A comparison counts as misread when its `<` is not the operator of a binary expression. After the pre-pass no
comparison is spelled `<` any more, so that a binary `<` in the tree would be a template list taken for one.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import tree_sitter
import tree_sitter_cuda

from cutecheck.source.cpp.expand import expand
from cutecheck.source.cpp.lexer import lex
from cutecheck.source.cpp.regular import regularise
from cutecheck.source.cpp.regular.angles import Angles
from cutecheck.source.cpp.regular.text import ascii_only
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.discover import discover


def less_than(root: tree_sitter.Node) -> set[int]:
    """Offsets of the binary operators `<` of a tree."""
    found: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if node.type == "<" and node.parent is not None and node.parent.type == "binary_expression":
            found.add(node.start_byte)
        todo.extend(node.children)
    return found


def main() -> int:
    args = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    args.add_argument("paths", nargs="+", type=Path)
    args.add_argument("--arch", default="sm_80")
    args.add_argument("--list", action="store_true", help="name the files with an ERROR node after the pre-pass")
    options = args.parse_args()
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    files = size = written = before = after = comparisons = misread = lists = 0
    spent = {"pre-pass": 0.0, "parse": 0.0}
    for root in options.paths:
        found = discover([root])
        tree = Tree({f.path: f.file for f in found.files if not f.path.endswith(".py")})
        for path in [f.path for f in found.files if f.cute and not f.path.endswith(".py")]:
            file = tree.file(path)
            if file is None:
                continue
            files += 1
            done = tree.preprocessed(path, options.arch)
            text = expand(file.origin, done.text, done.macros).source.text
            size += len(text)
            written += parser.parse(file.text.encode()).root_node.has_error
            plain = parser.parse(ascii_only(text).encode()).root_node
            before += plain.has_error
            began = time.process_time()
            regular = regularise(text).text
            parsing = time.process_time()
            result = parser.parse(regular.encode()).root_node
            spent["pre-pass"] += parsing - began
            spent["parse"] += time.process_time() - parsing
            after += result.has_error
            if result.has_error and options.list:
                print(f"{root}/{path}")
            tokens = lex(ascii_only(text))
            signs = {tokens.starts[at] for at in Angles(tokens).compares}
            comparisons += len(signs)
            misread += len(signs - less_than(plain))
            lists += len(less_than(result))
    print(
        f"{files} files ({size / 1e6:.1f} MB after macros); with an ERROR node: {written} as written, {before} after "
        f"directives and macros, {after} after the pre-pass; of {comparisons} comparisons `<` {misread} misread before "
        f"the pre-pass; {lists} template lists misread after it; pre-pass {spent['pre-pass']:.1f} s, "
        f"parsing {spent['parse']:.1f} s"
    )
    return 1 if after or lists else 0


if __name__ == "__main__":
    raise SystemExit(main())
