"""Plays attacks against the judge, as their authors would, and says what caught each.

    python -m warploom.testing.attacks [--only NAME] [--mode MODE] [--json] [--jobs N]
                                       [--user root|ordinary] [--sandbox KIND] [--matrix]

The programs are in `tests/attacks`; `variants` makes further ones of each class. `record` says what
an attack is, `play` runs the command line on it, `judge` reads what it answered.
"""
