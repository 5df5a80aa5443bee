"""What the integration tests share: the programs under test, their peers, and a way to look into processes."""
