"""What tests of servers are made with."""
