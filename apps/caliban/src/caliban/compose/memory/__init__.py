"""The memory of a run: where instructions and notes may be, and what is told of them."""
