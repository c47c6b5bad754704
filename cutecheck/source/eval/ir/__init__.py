"""The language-neutral program the evaluator runs.

``source/cpp`` and ``source/dsl`` lower syntax trees to these nodes and nothing else; the evaluator knows no
syntax. Names keep the spelling of the source: resolution (scopes, namespaces, imports) is the evaluator's.

Every node carries the :class:`Span` of the text it came from. What a front end cannot lower becomes
:class:`Opaque` with a reason; it evaluates to ``Unknown``.
"""

from cutecheck.source.eval.ir.declarations import (
    Alias,
    Class,
    Decl,
    Enum,
    Function,
    Import,
    Instantiate,
    Namespace,
    Note,
    Param,
    TopLevel,
    TParam,
    Unit,
    Using,
    Variable,
)
from cutecheck.source.eval.ir.expressions import (
    Arg,
    Attr,
    Auto,
    Binary,
    Call,
    Cast,
    CompClause,
    Comprehension,
    Construct,
    DeclType,
    DictLit,
    Expand,
    Expr,
    Fold,
    FString,
    Index,
    Lambda,
    LaunchConfig,
    Lit,
    Name,
    Opaque,
    Scoped,
    Select,
    Sequence_,
    SizeOf,
    SliceExpr,
    TypeMod,
    Unary,
)
from cutecheck.source.eval.ir.statements import (
    Assert,
    Assign,
    Bind,
    Block,
    Case,
    ExprStmt,
    If,
    Jump,
    Lazy,
    Local,
    Loop,
    Return,
    Stmt,
    Switch,
    With,
)

__all__ = [
    "Alias", "Arg", "Assert", "Assign", "Attr", "Auto", "Binary", "Bind", "Block", "Call", "Case", "Cast", "Class",
    "CompClause", "Comprehension", "Construct", "Decl", "DeclType", "DictLit", "Enum", "Expand", "Expr", "ExprStmt",
    "FString", "Fold", "Function", "If", "Import", "Index", "Instantiate", "Jump", "Lambda", "LaunchConfig", "Lazy",
    "Lit", "Local", "Loop", "Name", "Namespace", "Note", "Opaque", "Param", "Return", "Scoped", "Select", "Sequence_",
    "SizeOf", "SliceExpr", "Stmt", "Switch", "TParam", "TopLevel", "TypeMod", "Unary", "Unit", "Using", "Variable",
    "With",
]  # fmt: skip
