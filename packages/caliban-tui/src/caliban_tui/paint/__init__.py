"""Painters: frames and finished blocks to bytes, one module each way of using the screen."""
