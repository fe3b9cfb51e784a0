"""Colours: roles, palettes, themes of a person."""
