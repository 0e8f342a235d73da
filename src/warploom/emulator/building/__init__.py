"""Builds programs and the runtime: compile, guard, link, and what is refused."""
