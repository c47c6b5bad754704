"""The Python DSL front end: lowering to the evaluator's program, and what the DSL decides for itself."""

from cutecheck.source.dsl.unit import lower_expression, lower_unit

__all__ = ["lower_expression", "lower_unit"]
