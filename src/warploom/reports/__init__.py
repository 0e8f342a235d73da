"""What people look at: reports, plots and the web view of runs and checks.

Rooms: `queries` reads stores and run folders; `html` and `formats` write files for people and for
other tools; `plots` draws with matplotlib; `web` serves pages. Nothing here writes to a store.
"""
