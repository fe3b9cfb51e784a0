"""The conversation as values: events folded into what is open and what is finished."""
