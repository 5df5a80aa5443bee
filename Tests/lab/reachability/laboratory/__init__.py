"""The parts of Tests/lab/reachability/run: each measures one thing beside its peers and answers a table."""
