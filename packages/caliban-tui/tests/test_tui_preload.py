"""What a first reply needs is loaded before it comes."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from caliban_tui.markdown.draw import markdown_lines, preload
assert not {"markdown_it", "pygments"} & {name.partition(".")[0] for name in sys.modules}
preload()
before = set(sys.modules)
assert markdown_lines("*a* `b`\\n\\n```python\\nx = 1\\n```", 80)
assert markdown_lines("| a |\\n|---|\\n| [b](https://e.org) |", 80)
print(sorted(set(sys.modules) - before))
"""


def test_a_reply_loads_nothing_more() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
