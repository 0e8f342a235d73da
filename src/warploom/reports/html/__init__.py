"""Self-contained HTML pages of runs and checks: no script, and no text that is taken for HTML."""
