"""Runs a build under the runtime: configuration, report, records."""
