"""From a file's bytes to its lowered program."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from cutecheck.source.cpp.defines import Defines
from cutecheck.source.cpp.directives import MacroScope, Preprocessed, preprocess
from cutecheck.source.cpp.expand import Expanded, expand
from cutecheck.source.cpp.lower.declarations import CONTRACT, Lowering
from cutecheck.source.cpp.lower.hands import Fail, TooDeep, steady
from cutecheck.source.cpp.outline import says_nothing, without_namespace
from cutecheck.source.cpp.scan import configuration_calls
from cutecheck.source.cpp.strip import Comment, strip_comments
from cutecheck.source.cpp.syntax import NOTHING, file_piece
from cutecheck.source.cpp.text import Origin, Source, Spliced
from cutecheck.source.cpp.words import BUILTIN_TYPES
from cutecheck.source.eval import ir
from cutecheck.source.eval.program import is_cute_header

_SPLICE = re.compile(r"\\([ \t]+)\n")


def decode(data: bytes) -> tuple[str, bool]:
    """Text of a source file, and whether it was valid UTF-8 (otherwise Latin-1, so that columns still count)."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    valid = True
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text, valid = data.decode("latin-1"), False
    if "\r" in text:  # the columns of what stands before stay true
        text = text.replace("\r\n", " \n").replace("\r", " ")
    if "\\ " in text or "\\\t" in text:  # compilers go on with the next line past white space, too
        text = _SPLICE.sub(r"\1\\\n", text)
    return text.replace("\0", " "), valid


def load(path: str, text: bytes | str, defines: Defines | None = None) -> ir.Unit:
    """Preprocess, parse and lower one file for one target.

    ``path`` is the display path of all spans. Function bodies and class members are lowered on first use. Never
    raises on any input: what is not understood becomes a Note (``error``) or an Opaque node.
    """
    raw = decode(text)[0] if isinstance(text, bytes) else text
    origin = Origin(path, raw)
    stripped, comments = strip_comments(raw)
    return finish(origin, stripped, comments, preprocess(stripped, defines or Defines()))


def finish(
    origin: Origin,
    stripped: str,
    comments: tuple[Comment, ...],
    done: Preprocessed,
    share: Callable[[str, str, Callable[[], ir.Unit]], ir.Unit] | None = None,
) -> ir.Unit:
    """Expand, parse and lower preprocessed text.

    ``share(paths, parsed text, make)`` may answer with a unit made earlier from the same parsed text of these files.
    """
    if is_cute_header(origin.path):  # what it declares is known, and it configures nothing
        stripped = without_namespace(done.text, "cute")
        if says_nothing(stripped):
            return ir.Unit(origin.path, "cpp", ())
        done = replace(done, text=stripped)
    if done.fragments:
        comments = _in_place(comments, done)
        stripped, origin = done.raw, Spliced(origin, done.raw, done.stretches)
    body, misplaced = _with_assumptions(done.text, comments)
    if "\\\n" in body:  # line splices outside directives
        body = body.replace("\\\n", " \n")
    expanded = expand(origin, body, done.macros)

    def make() -> ir.Unit:
        unit = steady(lambda own_stack: _parse(origin, stripped, comments, done, expanded, own_stack))
        extra = [
            ir.Note("error", "`cutecheck: assume` must stand where a statement may", origin.span(c.begin, c.end))
            for c in misplaced
        ]
        return replace(unit, notes=(*unit.notes, *extra)) if extra else unit

    if share is None:
        return make()
    places = "\0".join((origin.path, *(f.origin.path for f in done.fragments)))
    return share(places, expanded.source.text, make)


def _parse(
    origin: Origin,
    stripped: str,
    comments: tuple[Comment, ...],
    done: Preprocessed,
    expanded: Expanded,
    own_stack: bool,
) -> ir.Unit:
    source = expanded.source
    decls, notes = Lowering(source, NOTHING, own_stack=own_stack).with_piece(
        lambda folded: file_piece(source, folded), _declarations
    )
    notes += [ir.Note("preprocessor", message, origin.span(begin, end)) for message, begin, end in done.problems]
    notes += [
        ir.Note("expansion", f"{name} expands to too much text", origin.span(begin, end))
        for name, begin, end in expanded.too_large
    ]
    for comment in comments:
        span = origin.span(comment.begin, comment.end)
        if comment.word == "instantiate":
            target = lower_expression(comment.text, origin.path, origin, comment.text_at)
            decls.append(ir.Instantiate(target, span, asked=comment.text.strip()))
        elif comment.word != "assume":
            notes.append(ir.Note(comment.word, comment.text, span))
    found = [(origin.span(begin, end), name, begin) for begin, end, name in configuration_calls(stripped)]
    begins = {begin for begin, _, _ in configuration_calls(done.text)} if found else set()
    alive = {span for span, _, begin in found if begin in begins}  # of a fragment that is there twice, in either place
    notes += [ir.Note("inactive", name, span) for span, name, _ in found if span not in alive]
    notes += [ir.Note("unread", message, origin.span(begin, end)) for message, begin, end in done.unread]
    includes = tuple((inc.text, inc.is_system, origin.span(inc.begin, inc.end)) for inc in done.includes)
    calls = tuple(dict.fromkeys((span, name) for span, name, _ in found))
    return ir.Unit(origin.path, "cpp", tuple(decls), includes, calls, tuple(notes))


def _declarations(lowering: Lowering) -> tuple[list[ir.Decl], list[ir.Note]]:
    decls = lowering.declarations(lowering.piece.root.children, "namespace")
    return decls, lowering.notes


def _in_place(comments: tuple[Comment, ...], done: Preprocessed) -> tuple[Comment, ...]:
    """The comments of a file and of its fragments, at their places in the text of all."""
    of: dict[Origin | None, tuple[Comment, ...]] = {None: comments, **{f.origin: f.comments for f in done.fragments}}
    ends = [*(stretch.start for stretch in done.stretches[1:]), len(done.raw)]
    found: list[Comment] = []
    for (start, origin, at), end in zip(done.stretches, ends, strict=True):
        by = start - at
        found += [
            replace(c, begin=c.begin + by, text_at=c.text_at + by, end=c.end + by)
            for c in of[origin]
            if start <= c.begin + by < end
        ]
    return tuple(found)


def _with_assumptions(text: str, comments: tuple[Comment, ...]) -> tuple[str, list[Comment]]:
    """``// cutecheck: assume E`` becomes a statement in place of the comment, where a statement may stand.

    The length stays, and so does the place of the condition. Returns the text and the comments that stand elsewhere.
    """
    misplaced: list[Comment] = []
    for comment in comments:
        if comment.word != "assume":
            continue
        before = text[: comment.begin].rstrip()
        if "\n" in comment.text or not comment.text or (before and before[-1] not in ";{}:"):
            misplaced.append(comment)
            continue
        lead = comment.text_at - comment.begin
        statement = f"auto {CONTRACT}=".ljust(lead) + comment.text + ";"  # the `;` may take the place of the line end
        text = text[: comment.begin] + statement + text[comment.begin + len(statement) :]
    return text, misplaced


def lower_expression(text: str, path: str = "<expr>", origin: Origin | None = None, offset: int = 0) -> ir.Expr:
    """A CuTe C++ expression or type, as in ``cutecheck eval`` and ``instantiate``.

    Text that is neither becomes an Opaque with the reason. With ``origin`` and ``offset`` the text is part of a file.
    """
    if origin is None:
        origin, body = Origin(path, text), text
    else:
        body = " " * offset + text
    body, _ = strip_comments(body)
    scope = MacroScope(Defines())
    source: Source = expand(origin, body, scope).source
    end = len(source.text.rstrip().removesuffix(";"))
    place = origin.span(offset, offset + len(text))
    words = text.split(None, 1)
    if not words:
        return ir.Opaque("empty", place)
    rules = [_as_expression, _as_type]
    if words[0].rstrip("*&[(") in BUILTIN_TYPES or words[0] == "const":
        rules.reverse()
    reason = ""
    for rule in rules:
        try:
            return steady(partial(rule, source, offset, end))
        except TooDeep as error:
            return ir.Opaque(str(error), place)
        except Fail as error:
            reason = reason or str(error)
        except RecursionError:
            reason = "nested too deeply"
    return ir.Opaque(reason, place)


def _as_expression(source: Source, begin: int, end: int, own_stack: bool) -> ir.Expr:
    def lower(lowering: Lowering) -> ir.Expr:
        node = lowering.call_arguments()
        lowering.check(node)
        return lowering.comma_of(node.named_children)

    return Lowering(source, NOTHING, own_stack=own_stack).reread_as("int x=f(", begin, end, ");", lower)


def _as_type(source: Source, begin: int, end: int, own_stack: bool) -> ir.Expr:
    def lower(lowering: Lowering) -> ir.Expr:
        root = lowering.piece.root
        kind = root.children[0].child_by_field_name("type") if root.child_count == 1 else None
        if kind is None or kind.end_byte != len(lowering.text.rstrip("; ")):
            raise Fail("not a type")
        return lowering.checked_type(kind)

    return Lowering(source, NOTHING, own_stack=own_stack).reread_as("using x=", begin, end, ";", lower)
