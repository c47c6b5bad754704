"""CuTe's MMA and copy atoms, generated from its headers (``scripts/generate_atoms``)."""

from cutecheck.model.atoms.atom import CopyAtom, MMAAtom
from cutecheck.model.atoms.lookup import (
    AtomRecord,
    UnknownAtomError,
    atom_names,
    atom_record,
    copy_op,
    element_type,
    fragment_type,
    full_arguments,
    is_copy_op,
    is_mma_op,
    mma_op,
    relative_widths,
    sparse_element,
)
from cutecheck.model.atoms.table import cutlass_version

__all__ = [
    "AtomRecord",
    "CopyAtom",
    "MMAAtom",
    "UnknownAtomError",
    "atom_names",
    "atom_record",
    "copy_op",
    "cutlass_version",
    "element_type",
    "fragment_type",
    "full_arguments",
    "is_copy_op",
    "is_mma_op",
    "mma_op",
    "relative_widths",
    "sparse_element",
]
