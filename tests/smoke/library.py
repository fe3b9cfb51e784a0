"""Runs the library example of the README, word for word, under asyncio and under trio.

Usage: library.py README.md, with the Python of an environment that has caliban-agent-core and
caliban-provider-anthropic and nothing of the app. The example speaks to a server on loopback that asks for
its tool once and then answers.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from caliban_provider.testing.loopback import Exchange, LoopbackServer, Request
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

START = "anyio.run(main)"
APP_ONLY = (
    "caliban",
    "caliban_settings",
    "caliban_headless",
    "caliban_tools_builtin",
    "caliban_drive",
    "caliban_process",
)


def example(readme: Path) -> str:
    """The Python block under the heading "As a library"."""
    section = readme.read_text(encoding="utf-8").partition("\n## As a library\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
    if len(blocks) != 1 or START not in blocks[0]:
        raise SystemExit(f"library: the README must show one Python block that ends with {START}")
    return str(blocks[0])


def answer(request: Request) -> Exchange:
    """Ask for the first tool on offer, with arguments that fit its schema; answer once its result came."""
    body = request.json
    if "tool_result" in json.dumps(body["messages"]):
        return wire.exchange(wire.text("The tool has answered."))
    tool = body["tools"][0]
    samples = {"string": "Prague", "integer": 2, "number": 2.5, "boolean": True, "array": [], "object": {}}
    schema = tool["input_schema"]
    given = {
        name: samples[entry.get("type", "string")] for name, entry in schema.get("properties", {}).items()
    }
    return wire.exchange(wire.tool_use(tool["name"], given))


def try_backend(code: str, backend: str) -> bool:
    """Run the example in a fresh interpreter; whether it used the tool and printed the answer."""
    text = code.replace(START, f'anyio.run(main, backend="{backend}")')
    with (
        tempfile.TemporaryDirectory() as folder,
        LoopbackServer(answer, validator=StrictValidator()) as server,
    ):
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "ANTHROPIC_API_KEY": "test",
                       "ANTHROPIC_BASE_URL": server.url}  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-I", "-c", text], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        requests = server.requests
    results = [block for request in requests[1:] for block in request.json["messages"][-1]["content"]]
    used = any(block["type"] == "tool_result" and not block.get("is_error") for block in results)
    fine = done.returncode == 0 and "The tool has answered." in done.stdout and len(requests) == 2 and used
    print(f"{'ok  ' if fine else 'FAIL'} the README's example under {backend}")
    if not fine:
        print(f"exit {done.returncode}, {len(requests)} requests\n{done.stdout}\n{done.stderr}")
    return fine


def main(arguments: list[str]) -> int:
    """Run the example on both event loops, and see that the two wheels brought nothing of the app."""
    code = example(Path(arguments[0]))
    extra = [name for name in APP_ONLY if find_spec(name)]
    if extra:
        print(f"FAIL installed beside the library: {', '.join(extra)}")
    outcomes = [not extra, try_backend(code, "asyncio"), try_backend(code, "trio")]
    print(f"{outcomes.count(True)} passed, {outcomes.count(False)} failed")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
