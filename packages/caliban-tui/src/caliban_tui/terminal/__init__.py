"""The terminal itself: modes, bytes, answers, suspending, calling a person."""
