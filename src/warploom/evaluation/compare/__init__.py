"""What was read back, against what the trusted program reads back."""
