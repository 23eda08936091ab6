"""A headless Chromium, driven through its DevTools protocol over two pipes: no driver, no package, no port."""

import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

from limits import HANG

PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]


def find_chromium():
    """The browser: CHROMIUM where it is set, else the first that is installed."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """A browser process; `open` loads a page in a fresh tab."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to_write = os.pipe()
        self.to_hear, to_say = os.pipe()
        line = [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
                "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
                "--disable-background-networking", "--disable-component-update",
                f"--user-data-dir={self.profile.name}", "about:blank"]  # fmt: skip

        def pipes():
            # The protocol: Chromium reads from 3 and writes to 4.
            os.dup2(to_read, 20), os.dup2(to_say, 21)
            os.dup2(20, 3), os.dup2(21, 4)

        self.process = subprocess.Popen(line, preexec_fn=pipes, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(to_read), os.close(to_say)
        self.buffer, self.events, self.number = b"", [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(HANG)
        except Exception:
            self.process.kill()
            self.process.wait()
        os.close(self.to_write), os.close(self.to_hear)
        self.profile.cleanup()

    def call(self, method, session=None, **parameters):
        """Sends a command and waits for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        answer = self.wait(lambda m: m.get("id") == self.number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait(self, wanted):
        """The first message that is wanted; all others are kept as events."""
        end = time.monotonic() + HANG
        while True:
            while b"\0" in self.buffer:
                raw, self.buffer = self.buffer.split(b"\0", 1)
                message = json.loads(raw)
                if "id" not in message:
                    self.events.append(message)
                if wanted(message):
                    return message
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.to_hear], [], [], left)[0]:
                raise TimeoutError("chromium does not answer")
            self.buffer += os.read(self.to_hear, 1 << 20)

    def open(self, path, width=1280, height=900, dark=False):
        """Loads a file in a new tab and waits until it is there."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        page.call("Page.navigate", url=pathlib.Path(path).as_uri())
        self.wait(lambda m: m.get("method") == "Page.loadEventFired" and m.get("sessionId") == session)
        # The colours of the last test must not be those of this one.
        page.evaluate("localStorage.removeItem('tnsearch-theme')")
        page.settle()
        return page


class Page:
    """A tab."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def evaluate(self, expression):
        """The value of some JavaScript."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def settle(self):
        """Waits until the page is loaded and has been drawn."""
        self.until("document.readyState === 'complete'")
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def until(self, condition):
        """Waits until some JavaScript is true, looking at every frame."""
        self.evaluate(f"new Promise((done) => {{ const look = () => ({condition}) ? done() : requestAnimationFrame(look); look(); }})")

    def still(self, element):
        """Waits until an element stays where it is from one frame to the next; the middle of it."""
        return self.evaluate(f"""new Promise((done) => {{
            let last = null;
            const look = () => {{
                const b = document.querySelector({json.dumps(element)}).getBoundingClientRect();
                const here = [b.x + b.width / 2, b.y + b.height / 2];
                if (last && here.every((v, k) => v === last[k])) done(here);
                else {{ last = here; requestAnimationFrame(look); }}
            }};
            look();
        }})""")

    def move_to(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, pointerType="mouse")

    def press(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def screenshot(self, path):
        import base64

        size = self.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    @property
    def mine(self):
        return [m for m in self.browser.events if m.get("sessionId") == self.session]

    @property
    def requests(self):
        """What the page asked for, itself included."""
        sent = [m["params"]["request"]["url"] for m in self.mine if m["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("data:")]

    @property
    def problems(self):
        """Errors and warnings in the console, exceptions, and what was blocked."""
        found = []
        for m in self.mine:
            if m["method"] == "Runtime.exceptionThrown":
                found.append(m["params"]["exceptionDetails"])
            elif m["method"] == "Log.entryAdded" and m["params"]["entry"]["level"] in ("error", "warning"):
                found.append(m["params"]["entry"]["text"])
            elif m["method"] == "Runtime.consoleAPICalled" and m["params"]["type"] in ("error", "warning", "assert"):
                found.append(m["params"]["args"])
        return found
