"""The program on the other end of `--input-format stream-json`."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from hang_guard import HANG_S

FLAGS = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")


class FrameHost:
    """Says frames to a command, and reads those that come back; `seen` are all of them so far."""

    def __init__(self, cli: Any, *flags: str, env: dict[str, str] | None = None) -> None:
        self.process: subprocess.Popen[bytes] = cli.begin(*FLAGS, *flags, stdin=subprocess.PIPE, env=env)
        self.seen: list[dict[str, Any]] = []
        self._requests = 0

    def say(self, frame: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, kind: str) -> list[dict[str, Any]]:
        """The frames up to the next one of a type."""
        return self.until_any((kind,))

    def until_any(self, kinds: tuple[str, ...]) -> list[dict[str, Any]]:
        """The frames up to the next one of some types."""
        assert self.process.stdout is not None
        frames: list[dict[str, Any]] = []
        while line := self.process.stdout.readline():
            frames.append(json.loads(line))
            self.seen.append(frames[-1])
            if frames[-1]["type"] in kinds:
                return frames
        raise AssertionError(f"it ended: {frames}")

    def prompt(self, text: str) -> list[dict[str, Any]]:
        """The frames of a prompt, its result last."""
        self.say({"type": "user", "content": text})
        return self.until("result")

    def ask(self, subtype: object, **members: object) -> dict[str, Any]:
        """What a request is answered."""
        self._requests += 1
        id = f"req_{self._requests}"
        request = {"subtype": subtype, **members}
        self.say({"type": "control_request", "request_id": id, "request": request})
        response = self.until("control_response")[-1]["response"]
        assert response["request_id"] == id
        return response

    def done(self, subtype: object, **members: object) -> dict[str, Any]:
        """The body of a request that is done."""
        response = self.ask(subtype, **members)
        assert response["subtype"] == "success", response
        return response["response"]

    def refused(self, subtype: object, **members: object) -> str:
        """Why a request is not done."""
        response = self.ask(subtype, **members)
        assert response["subtype"] == "error", response
        return response["error"]

    def end(self) -> tuple[int, str]:
        """The exit code, and what was said on standard error; the frames that were left are in `seen`."""
        out, err = self.process.communicate(timeout=HANG_S)
        self.seen += [json.loads(line) for line in out.splitlines()]
        return self.process.returncode, (err or b"").decode()
