"""Tools that change nothing but the session: its tasks, its plan mode, a question to its person."""
