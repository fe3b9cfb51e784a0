"""The line that prompts are written in: its editor, menus, files, history, pastes."""
