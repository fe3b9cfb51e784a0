"""The faces of the command: each adds an encoder, a driver and its exit codes to the app."""
