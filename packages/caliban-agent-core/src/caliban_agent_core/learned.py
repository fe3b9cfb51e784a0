"""What an agent finds out about its provider while it runs."""

from __future__ import annotations


class Learned:
    """Holds for all runs of one agent, so that none has to find it out again.

    `mismatches` are the pairs of requested and answering model that were told of, `hidden_tools` the names of
    tools that another of that name hides. `holds_schema` is false once the provider has turned out not to
    take the schema of the answer. `windows` are those that refusals stated, in estimated tokens per model.
    `told_unseen` says that a person was told of images and PDFs which this model is given words for.
    """

    def __init__(self) -> None:
        self.mismatches: set[tuple[str, str]] = set()
        self.hidden_tools: set[str] = set()
        self.holds_schema = True
        self.told_unseen = False
        self.windows: dict[str, int] = {}
