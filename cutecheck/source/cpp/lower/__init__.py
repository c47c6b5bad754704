"""From tree-sitter's trees to the nodes of ``source/eval/ir.py``.

One class in layers, each a module: ``hands`` (places, failures), ``names``, ``types``, ``expressions``,
``operators``, ``statements``, ``declarators``, ``functions``, ``classes``, ``declarations``.
"""
