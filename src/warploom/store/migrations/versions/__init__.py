"""One file per schema version; its `revision` is the version."""
