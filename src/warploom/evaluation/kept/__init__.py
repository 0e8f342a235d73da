"""A rewritten program keeps the original's own check: its verdict, inputs, timers and loops."""
