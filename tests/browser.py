"""A headless Chromium, driven by its own protocol over two pipes: nothing else is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
WITHOUT = "there is no Chromium on this machine: the page isn't opened in a browser"
_SECONDS = 120
_CODES = {"Escape": 27, "Tab": 9}


class Browser:
    """One tab. What the page says on its console, and what it asks the network for, is kept."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, answers: int) -> None:
        self._process, self._to, self._answers = process, to, answers
        self._buffer, self._number, self._session = b"", 0, ""
        self.console: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Have the browser do something, and return its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            assert select.select([self._answers], [], [], _SECONDS)[0], "Chromium doesn't answer"
            piece = os.read(self._answers, 1 << 20)
            assert piece, "Chromium has ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        said = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled":
                self.console.append(str([each.get("value") for each in said["args"]]))
            case "Runtime.exceptionThrown":
                self.console.append(said["exceptionDetails"]["text"])
            case "Log.entryAdded":
                self.console.append(said["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(said["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.console.append(f"dialog: {said['message']}")
            case "Page.loadEventFired":
                self._loaded = True

    def open(self, path: Path, width: int = 1280, height: int = 900, **features: str) -> float:
        """Open a file, and return after how many milliseconds it was loaded. `features` are those
        of media queries: `prefers_color_scheme="dark"`."""
        self.resize(width, height)
        media = [
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()
        ]
        self.send("Emulation.setEmulatedMedia", features=media)
        self.load(path)
        self.js("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        taken: float = self.js("performance.now()")
        return taken

    def load(self, path: Path) -> None:
        """Go to a file, and wait until it is loaded."""
        self.console.clear()
        self.requests.clear()
        self._loaded = False
        self.send("Page.navigate", url=path.as_uri())
        while not self._loaded:
            self._read()

    def resize(self, width: int, height: int) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key, as a user does."""
        more: dict[str, Any] = (
            {"windowsVirtualKeyCode": _CODES[key]} if key in _CODES else {"text": key}
        )
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **more)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, path: Path) -> None:
        """What is in the window, as PNG."""
        data = self.send("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))


@contextmanager
def browser(*options: str) -> Iterator[Browser]:
    """A browser of its own, with nothing from before, that ends with the block."""
    assert CHROMIUM is not None
    commands, to = os.pipe()
    answers, back = os.pipe()

    def connect() -> None:  # Chromium reads from 3 and writes to 4
        held = os.dup(commands), os.dup(back)
        os.dup2(held[0], 3)
        os.dup2(held[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [
                CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update",
                "--disable-dev-shm-usage", "--remote-debugging-pipe",
                f"--user-data-dir={folder}", *options, "about:blank",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=connect, close_fds=False,
        )  # fmt: skip
        os.close(commands)
        os.close(back)
        try:
            yield Browser(process, to, answers)
        finally:
            os.close(to)
            os.close(answers)
            process.terminate()
            process.wait()
