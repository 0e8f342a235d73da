"""Conformance suites and doubles. The product never imports this package."""
