"""The name scan: where configuration functions and types of CuTe are spelled, whatever a parser makes of it."""

from __future__ import annotations

import re

from cutecheck.source.cpp.directives import DIRECTIVE
from cutecheck.source.cpp.strip import blank, strip_strings

CALL_NAMES = re.compile(
    r"\b(make_tiled_copy(?:_[ABCSD])?(?:_C_atom|_C_Atom)?|make_tiled_mma|make_tma_copy\w*|make_tma_atom\w*|make_cotiled_copy|"
    r"make_im2col_tma_copy\w*|tile_to_shape|tile_to_mma_shape|composition(?=\s*\(\s*(?:cute::)?Swizzle\b)|ss_smem_selector|rs_smem_selector|"
    r"sm1\d\d_smem_selector)\s*(?:<[^;{}()]*>\s*)?\(|"
    r"\b(TiledMMA|TiledCopy|Copy_Atom|MMA_Atom)\s*<|"
    r"\b(Layout_(?:MN|K)_(?:INTER|SW32|SW64|SW96|SW128)(?:_32B)?_Atom(?:_Bits)?)\s*<"
)
_DECLARES = re.compile(r"\b(?:struct|class|friend|auto)\s+\Z")  # a tree's own of that name


def configuration_calls(text: str) -> list[tuple[int, int, str]]:
    """(begin, end, name) of every configuration call site of comment-free ``text``.

    Directives (macro definitions) and string literals are left out; inactive ``#if`` branches are not, so that the
    number does not depend on the target.
    """
    if CALL_NAMES.search(text) is None:
        return []
    text = strip_strings(DIRECTIVE.sub(lambda m: blank(m.group()), text))
    found: list[tuple[int, int, str]] = []
    for match in CALL_NAMES.finditer(text):
        group = match.lastindex or 1
        begin, end = match.span(group)
        line_start = text.rfind("\n", 0, begin) + 1
        if _DECLARES.search(text, line_start, begin) is None:
            found.append((begin, end, match.group(group)))
    return found
