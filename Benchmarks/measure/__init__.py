"""The parts of Benchmarks/run: each measures one thing and answers a table."""
