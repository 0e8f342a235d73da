"""Levels 3 and 4: modelled times and their score."""
