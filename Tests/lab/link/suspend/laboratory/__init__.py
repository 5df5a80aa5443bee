"""What the laboratory of suspend is made of: a machine that suspends, its network card, and pushes to it."""
