"""What is run and what must stay true: `workload.toml`, and the values that it takes."""
