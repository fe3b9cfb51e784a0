"""What `scripts/bench` is made of: a mock server, measured children, rows and a report."""
