"""Settings of other harnesses as settings of ours: what has no equal is named."""
