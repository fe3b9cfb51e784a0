"""The form of a setting in a few words, for pages and lists."""

from __future__ import annotations

from caliban_settings.key import Form


def form_words(form: Form) -> str:
    """What a value may be, such as `integer from 1 to 5` or `list of string`."""
    if "anyOf" in form:
        return " or ".join(dict.fromkeys(form_words(one) for one in form["anyOf"]))
    if "enum" in form:
        return ", ".join(form["enum"])
    types = form.get("type", "anything")
    words = [types] if isinstance(types, str) else list(types)
    return " or ".join(_one(word, form) for word in words)


def _one(word: str, form: Form) -> str:
    match word:
        case "array":
            return f"list of {form_words(form.get('items', {}))}"
        case "object":
            names = ", ".join(form.get("properties", ()))
            return f"table ({names})" if names else "table"
        case "integer" | "number":
            low, high = form.get("minimum"), form.get("maximum")
            if low is None:
                return word
            return f"{word} from {low}" if high is None else f"{word} from {low} to {high}"
        case _:
            return word
