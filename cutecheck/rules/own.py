"""CUT001 unknown-suppression and CUT002 unused-suppression: the tool's own comments kept honest.

The engine raises them while it applies suppressions; they have no hook over the facts.
"""

from __future__ import annotations

from cutecheck.rules.base import Rule


class UnknownSuppression(Rule):
    """A suppression names a code that no rule has, is half a range, or is misspelt.

    What it checks
        Every code inside ``// cutecheck: ignore[...]`` and ``// cutecheck: ignore-file[...]`` is the code, a prefix of
        a code, or the name of a rule, and every ``ignore-begin`` has its ``ignore-end``. A comment ``cutecheck: word``
        whose word is nearly one of cutecheck's, or has a ``[`` after it, is one of these: ``ignore``, ``ignore-file``,
        ``ignore-begin``, ``ignore-end``, ``assume``, ``instantiate``.

    Why
        A misspelt code silences nothing, and its author believes that it does.

    Example
        copy(tiled, tAgA, tAsA);  // cutecheck: ignore[CUT91]

    Use instead
        copy(tiled, tAgA, tAsA);  // cutecheck: ignore[CUT901]

    Assumptions
        None.

    Fix
        Correct the code; ``cutecheck rule --all`` lists them.

    References
        docs/rules
    """

    code = "CUT001"
    name = "unknown-suppression"
    family = "lint"
    severity = "error"
    confidence = "proved"
    unasked = "None: it is about comments, not code."
    valid = (
        """
        using Tile = Layout<Shape<_8, _8>>;
        """,
    )
    invalid = (
        """
        using Tile = Layout<Shape<_8, _8>>;  // cutecheck: ignore[CUT91]
        """,
    )


class UnusedSuppression(Rule):
    """A suppression silences nothing.

    What it checks
        Every code of a ``// cutecheck: ignore[...]`` whose rules ran has silenced at least one finding. Of a part of a
        tree (``--tree``, the hook) only the comments of the reported files are looked at.

    Why
        Code moves away from under its comments. A suppression that is no longer needed hides the next real finding.

    Example
        int x = 0;  // cutecheck: ignore[CUT901] nothing to see here

    Use instead
        int x = 0;

    Assumptions
        The rules named by the suppression were selected in this run.

    Fix
        Remove the comment, or the code.

    References
        docs/rules
    """

    code = "CUT002"
    name = "unused-suppression"
    family = "lint"
    severity = "warning"
    confidence = "proved"
    unasked = "None: it is about comments, not code."
    valid = (
        """
        inline auto tiles(half_t* A) {
          Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_64{}, _256{}), make_stride(_256{}, _1{}));
          return local_tile(mA, Shape<_16, _64>{}, (0, _));  // cutecheck: ignore[CUT901] the last mode is meant
        }
        """,
    )
    invalid = (
        """
        using Tile = Layout<Shape<_8, _8>>;  // cutecheck: ignore[CUT901] nothing to see here
        """,
    )


class StaleBaseline(Rule):
    """A baseline knows a finding that is gone.

    What it checks
        Every entry of the baseline whose file was read and whose rule ran answers to a finding of this run.

    Why
        An entry that outlives its finding would hide the next one that looks like it. A baseline is to shrink only.

    Example
        cutecheck check --baseline cutecheck-baseline.json csrc  # after the finding was mended

    Use instead
        cutecheck baseline prune csrc

    Assumptions
        The run reads the files as the one that wrote the baseline did: the same architectures, macros and includes.

    Fix
        ``cutecheck baseline prune`` removes such entries; it never adds any.

    References
        docs/ci.md
    """

    code = "CUT003"
    name = "stale-baseline"
    family = "lint"
    severity = "error"
    confidence = "proved"
    unasked = "None: it is about the baseline, not code."


class UnexplainedSuppression(Rule):
    """A suppression gives no reason.

    What it checks
        With ``require-suppression-reason`` on, every suppression says why after its codes.

    Why
        Whoever reads the comment later must know whether it still holds.

    Example
        copy(tiled, tAgA, tAsA);  // cutecheck: ignore[CUT102]

    Use instead
        copy(tiled, tAgA, tAsA);  // cutecheck: ignore[CUT102] once a kernel, 200 ns

    Assumptions
        The configuration asks for it; without that the rule is silent.

    Fix
        Write the reason behind the bracket.

    References
        docs/rules
    """

    code = "CUT004"
    name = "unexplained-suppression"
    family = "lint"
    severity = "error"
    confidence = "proved"
    unasked = "None: it is about comments, not code."
