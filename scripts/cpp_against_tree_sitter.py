#!/usr/bin/env python3
"""Does the C++ parser find what tree-sitter-cuda finds? An independent check of the front end on real trees.

    python scripts/cpp_against_tree_sitter.py [--arch sm_80] PATH...

Both parse the same text (comments, directives and macros already dealt with). Of every file that tree-sitter parses
without an ERROR node its aliases, classes, functions, initialised variables and calls, each with name and line, must
be among ours. What is missing is listed; the exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tree_sitter
import tree_sitter_cuda

sys.path.insert(0, str(Path(__file__).parent))
from cpp_frontend_report import nodes

from cutecheck.source.cpp.expand import expand
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.cpp.unit import load
from cutecheck.source.cpp.words import CASTS
from cutecheck.source.discover import discover
from cutecheck.source.eval import ir

Found = set[tuple[str, str, int]]
# Read as assertions or named after their arguments here, as calls and functions by tree-sitter.
_OTHERWISE = {
    "assert",
    "CUTE_STATIC_ASSERT_V",
    "CUTLASS_ASSERT",
    "CUTE_STATIC_ASSERT",
    "TORCH_CHECK",
    "TEST",
    "TEST_F",
    "TYPED_TEST",
} | CASTS


def by_tree_sitter(parser: tree_sitter.Parser, text: str) -> Found | None:
    """What tree-sitter finds, or None when it meets an error."""
    root = parser.parse(text.encode()).root_node
    if root.has_error:
        return None
    found: Found = set()
    todo = [root]
    while todo:
        node = todo.pop()
        named = name_node(node)
        if named is not None:
            kind, name = named
            assert name.text is not None
            found.add((kind, name.text.decode(), name.start_point[0] + 1))
        todo.extend(node.named_children)
    return found


def name_node(node: tree_sitter.Node) -> tuple[str, tree_sitter.Node] | None:
    kind = node.type
    if kind == "alias_declaration":
        name = node.child_by_field_name("name")
        return None if name is None else ("alias", name)
    if kind in ("class_specifier", "struct_specifier") and node.child_by_field_name("body") is not None:
        name = node.child_by_field_name("name")
        return ("class", name) if name is not None and name.type == "type_identifier" else None
    if kind == "function_definition":
        inner = node.child_by_field_name("declarator")
        while inner is not None and inner.type != "function_declarator":
            inner = inner.child_by_field_name("declarator") or (inner.named_children or [None])[-1]
        name = None if inner is None else inner.child_by_field_name("declarator")
        return ("function", name) if name is not None and name.type in ("identifier", "field_identifier") else None
    if kind == "init_declarator":
        name = node.child_by_field_name("declarator")
        return ("variable", name) if name is not None and name.type == "identifier" else None
    if kind == "call_expression":
        name = node.child_by_field_name("function")
        if name is not None and name.type == "template_function":
            name = name.child_by_field_name("name")
        return ("call", name) if name is not None and name.type == "identifier" else None
    return None


def by_us(unit: ir.Unit) -> Found:
    found: Found = set()
    for node in nodes(unit):
        if isinstance(node, ir.Call) and isinstance(node.fn, ir.Name):
            found.add(("call", node.fn.ident, node.fn.span.line))
        elif isinstance(node, ir.Binary) and node.op == "<" and isinstance(node.left, ir.Name):
            found.add(("comparison", node.left.ident, node.left.span.line))
        elif isinstance(node, ir.Alias):
            found.add(("alias", node.name, node.span.line))
        elif isinstance(node, ir.Class):
            found.add(("class", node.name, node.span.line))
        elif isinstance(node, ir.Function):
            found.add(("function", node.name.removeprefix("operator "), node.span.line))
        elif isinstance(node, ir.Variable):
            found.add(("variable", node.name, node.span.line))
    return found


def main() -> int:
    args = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    args.add_argument("paths", nargs="+", type=Path)
    args.add_argument("--arch", default="sm_80")
    options = args.parse_args()
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    files = clean = compared = missing = misread = 0
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
            theirs = by_tree_sitter(parser, text)
            if theirs is None:
                continue
            clean += 1
            compared += len(theirs)
            ours = by_us(load(path, text))
            for kind, name, line in sorted(theirs - ours, key=lambda item: item[2]):
                if kind == "call" and ("comparison", name, line) in ours:
                    misread += 1
                elif name not in _OTHERWISE and not (kind == "alias" and ("class", name, line) in ours):
                    missing += 1
                    print(f"{root}/{path} (line {line} of the preprocessed text): {kind} {name} is missing")
    print(
        f"{files} files, {clean} without an ERROR node in tree-sitter: {compared} names, {missing} of them missing; "
        f"{misread} comparisons such as `i < size<0>(x)` that tree-sitter reads as calls of a template"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
