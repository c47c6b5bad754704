"""The language server: findings while one types, values on hover. Needs the extra ``lsp`` (pygls)."""
