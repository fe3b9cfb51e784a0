"""What stands in the place of the live region for a while: lists, pickers, the transcript."""
