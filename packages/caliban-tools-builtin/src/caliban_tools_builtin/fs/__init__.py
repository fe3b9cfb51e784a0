"""Read, Write and Edit: file tools that keep every byte they are not asked to change."""
