"""Pure model of CuTe: layouts, algebra, atoms, tiled copies and MMAs, shared-memory access, proofs."""
