"""The slash commands that only the app can do, a module each group; `table` has their rows."""
