"""A headless Chromium, spoken to over its debugging protocol: what a page logs, asks for and measures."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tornado.websocket import websocket_connect

CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-port=0",
)  # fmt: skip
PATIENCE = 60.0


class Tab:
    """One page: ``events`` are all that the browser reported."""

    def __init__(self, connection: Any) -> None:
        self.connection, self.session, self.last = connection, "", 0
        self.events: list[dict[str, Any]] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        await self.connection.write_message(json.dumps(message))
        while True:
            text = await asyncio.wait_for(self.connection.read_message(), PATIENCE)
            answer = json.loads(text)
            if answer.get("id") == self.last:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self.events.append(answer)

    async def open(self, file: Path) -> None:
        """Loads the page and waits until it and everything it asks for is there."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=file.as_uri())
        ends = time.monotonic() + PATIENCE
        while "Page.loadEventFired" not in self.methods and time.monotonic() < ends:
            await self.call("Runtime.evaluate", expression="1")
            await asyncio.sleep(0.05)
        assert "Page.loadEventFired" in self.methods

    async def value(self, expression: str) -> Any:
        """What an expression of JavaScript gives (the page itself needs none)."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def screen(self, width: int, height: int, theme: str, media: str = "screen") -> None:
        """Size of the window, light or dark, screen or print."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": theme}]
        await self.call("Emulation.setEmulatedMedia", media=media, features=features)

    @property
    def methods(self) -> list[str]:
        return [event.get("method", "") for event in self.events]

    @property
    def requests(self) -> list[str]:
        """Addresses the page asked for, without its own."""
        wanted = [e["params"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in wanted if each["type"] != "Document"]

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """Messages on the console, exceptions, and dialogs that opened."""
        names = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [e for e in self.events if e.get("method") in (*names, "Page.javascriptDialogOpening")]


def visit(file: Path, look: Callable[[Tab], Awaitable[None]]) -> Tab:
    """Opens a file in a new browser, lets ``look`` look at it, and closes the browser."""
    assert CHROMIUM is not None

    async def session(folder: Path) -> Tab:
        port = folder / "DevToolsActivePort"
        ends = time.monotonic() + PATIENCE
        while not (port.is_file() and port.read_text().count("\n")) and time.monotonic() < ends:
            await asyncio.sleep(0.05)
        number, path = port.read_text().split()
        connection = await websocket_connect(f"ws://127.0.0.1:{number}{path}", max_message_size=1 << 28)
        tab = Tab(connection)
        await tab.open(file)
        await look(tab)
        connection.close()
        while await connection.read_message() is not None:
            pass
        return tab

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={folder}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            try:
                return asyncio.run(session(Path(folder)))
            finally:
                browser.terminate()
