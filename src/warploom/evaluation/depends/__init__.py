"""Whether results come of communication and of each iteration's work: spoil runs and counters."""
