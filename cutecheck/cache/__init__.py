"""Results kept between runs: entries on disk (``store``) and values as safe text (``codec``). docs/cache.md."""

from cutecheck.cache.store import Store, digest, folder_of, open_store

__all__ = ["Store", "digest", "folder_of", "open_store"]
