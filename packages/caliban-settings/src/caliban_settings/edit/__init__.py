"""Changes to a settings file that leave every other byte of it as it was."""
