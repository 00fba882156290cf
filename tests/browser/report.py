#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens the HTML report in headless Chromium, filters, clicks and looks at what is shown.

usage: report.py SAMPLE-PROGRAM [SCREENSHOT-FOLDER]

Chromium is driven over --remote-debugging-pipe: messages of the DevTools protocol, JSON with a zero
byte at the end, written to its descriptor 3 and read from 4. Nothing but the standard library.
"""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-dev-shm-usage", "--disable-extensions", "--remote-debugging-pipe", "--window-size=1280,900"]


class Browser:
    """One Chromium with one page."""

    def __init__(self, program, folder):
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        # High numbers first, so that 3 and 4 are free for the child.
        def connect():
            read, write = os.dup(to_read), os.dup(to_write)
            high_read, high_write = os.dup(read), os.dup(write)
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)
        self.child = subprocess.Popen([program, *FLAGS, f"--user-data-dir={folder}/profile", "about:blank"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=open(f"{folder}/stderr", "wb"), close_fds=False,
                                      preexec_fn=connect, env=dict(os.environ, HOME=folder))
        os.close(to_read)
        os.close(to_write)
        self.left, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def message(self, deadline):
        while b"\0" not in self.left:
            ready, _, _ = select.select([self.back], [], [], max(0, deadline - time.monotonic()))
            assert ready, "no answer from the browser"
            part = os.read(self.back, 1 << 16)
            assert part, "the browser ended"
            self.left += part
        text, self.left = self.left.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.message(time.monotonic() + 60)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url=path if isinstance(path, str) else path.as_uri())
        deadline = time.monotonic() + 60
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message(deadline))

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def key(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text if kind == "keyDown" else "")

    def click(self, selector):
        """With the mouse, where the element is."""
        x, y = self.js(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def complaints(self):
        """Errors on the console, exceptions, and requests for anything but the page."""
        self.js("1")
        wrong = [e for e in self.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded",
                                                              "Page.javascriptDialogOpening")]
        urls = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return wrong + [url for url in urls if not url.startswith("file:")] + urls[1:]

    def close(self):
        try:
            self.call("Browser.close")
            self.child.wait(10)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.child.kill()
            self.child.wait()


ROWS = "[...document.querySelectorAll('#list button')].map(e => e.textContent)"
DETAIL = "document.querySelector('#detail').innerText"


def choose(page, name, value):
    page.js(f"""(() => {{ const e = document.getElementById({json.dumps(name)}); e.value = {json.dumps(value)};
        e.dispatchEvent(new Event('input', {{bubbles: true}})); }})()""")


def check_list(page):
    rows = page.js(ROWS)
    assert len(rows) == 6, rows
    assert "store is never flushed" in rows[0] or "flush is never fenced" in rows[0]
    assert page.js("document.querySelector('#summary').textContent") == "2 errors2 performance2 warnings1 suppressed"
    assert "killed by signal 9" in page.js("document.querySelector('#incomplete').innerText")
    assert page.js("document.querySelector('#shown').value") == "6 findings"


def check_filters(page):
    choose(page, "kind", "missing-flush")
    assert len(page.js(ROWS)) == 1
    choose(page, "kind", "")
    choose(page, "level", "performance")
    assert len(page.js(ROWS)) == 2
    choose(page, "level", "")
    choose(page, "file", "list.c")
    rows = page.js(ROWS)
    assert len(rows) == 2 and all("list.c:" in row for row in rows), rows
    choose(page, "file", "")
    choose(page, "text", "WORKER thread")
    assert len(page.js(ROWS)) == 1
    choose(page, "text", "no such thing")
    assert page.js(ROWS) == [] and page.js("document.querySelector('#none').innerText") == "No finding matches the filters."
    page.click("button[type=reset]")
    page.js("new Promise(done => setTimeout(done, 50))")
    assert len(page.js(ROWS)) == 6
    page.click("#suppressed")
    assert len(page.js(ROWS)) == 7
    page.click("#suppressed")


def check_click(page):
    choose(page, "kind", "redundant-flush")
    choose(page, "kind", "")
    identity = page.js("[...document.querySelectorAll('#list button')].find(e => /never flushed/.test(e.textContent)).dataset.id")
    page.click(f"button[data-id='{identity}']")
    text = page.js(DETAIL)
    for part in ("store is never flushed", "missing-flush", "seen 12 times", "Fix: flush the line between",
                 "list.c:6:10", "pool+0x40, 8 bytes", "last fence", "orders nothing of this line",
                 "holdfast check --only 3", identity):
        assert part in text, part
    assert page.js("document.querySelector('#detail tr.marked').innerText").split("\t", 1)[0] == "6"
    assert 'l->head = v; /* 7 < 8 && "quoted" */' in page.js("document.querySelector('#detail tr.marked').textContent")
    path = page.js("[...document.querySelectorAll('.path tr')].map(e => e.innerText)")
    assert len(path) == 2 and "insert" in path[0] and "inlined" in path[0] and "main" in path[1], path
    assert page.js("location.hash") == "#" + identity
    assert page.js("document.querySelector('#list [aria-current=true]').dataset.id") == identity


def check_life(page):
    label = page.js("document.querySelector('.life svg').getAttribute('aria-label')")
    assert label == "Life of the line: store, then flush (missing), then fence, then end", label
    assert page.js("document.querySelectorAll('.life circle.ghost').length") == 1
    assert page.js("document.querySelectorAll('.life circle.here').length") == 1
    assert page.js("[...document.querySelectorAll('.life [class^=band-]:not(text)')].map(e => e.getAttribute('class'))") == ["band-clean", "band-dirty"]
    choose(page, "kind", "missing-fence")
    assert page.js("document.querySelectorAll('.life .axis').length") == 2
    assert "source file cannot be read" in page.js(DETAIL)
    choose(page, "kind", "redundant-flush")
    states = page.js("[...document.querySelectorAll('.life [class^=band-]:not(text)')].map(e => e.getAttribute('class'))")
    assert states == ["band-clean", "band-dirty", "band-pending", "band-persistent"], states
    assert "source changed since the build" in page.js(DETAIL)
    choose(page, "kind", "")


def check_escaping(page):
    choose(page, "kind", "late-persist")
    assert "</script><img src=x onerror=alert(1)>" in page.js(DETAIL)
    assert page.js("document.querySelectorAll('img').length") == 0
    choose(page, "kind", "")


def check_no_place(page):
    choose(page, "kind", "plugin-failed")
    text = page.js(DETAIL)
    assert "mine.so crashed" in text and "SOURCE" not in text.upper() and "CALL PATH" not in text.upper(), text
    choose(page, "kind", "")


def check_keyboard(page):
    page.js("document.body.focus()")
    page.key("/", 191, "/")
    assert page.js("document.activeElement.id") == "text"
    page.js("document.querySelector('#list button').focus(); document.querySelector('#list button').click()")
    page.key("ArrowDown", 40)
    page.key("ArrowDown", 40)
    page.key("ArrowUp", 38)
    at = page.js("[...document.querySelectorAll('#list button')].indexOf(document.activeElement)")
    assert at == 1, at
    assert page.js("document.activeElement.getAttribute('aria-current')") == "true"


def check_quiet(page):
    assert not page.complaints(), page.complaints()


def check_empty(page):
    assert page.js(ROWS) == []
    assert page.js("document.querySelector('#none').innerText") == "Nothing found."
    assert page.js("document.querySelector('#incomplete').hidden")
    check_quiet(page)


def check_many(page):
    assert len(page.js(ROWS)) == 2006
    took = page.js("""(() => { const start = performance.now(); const e = document.getElementById('text');
        e.value = 'function_1999'; e.dispatchEvent(new Event('input', {bubbles: true})); return performance.now() - start; })()""")
    assert len(page.js(ROWS)) == 1 and took < 2000, took
    choose(page, "text", "")
    check_quiet(page)


def check_groups(page):
    """Findings with one title stand below it, and the keyboard goes through them in the order that is shown."""
    heads = page.js("[...document.querySelectorAll('#list .group')].map(e => e.textContent)")
    assert heads and all(any(c.isdigit() for c in head) for head in heads), heads
    order = page.js("[...document.querySelectorAll('#list button')].map(e => e.querySelector('.row-title').textContent)")
    assert len({a for a, b in zip(order, order[1:]) if a != b}) == len([1 for a, b in zip(order, order[1:]) if a != b]), "a title comes twice"
    hidden = page.js("document.querySelector('.in-group .row-title').getBoundingClientRect().width")
    assert hidden <= 1, hidden  # for screen readers it is there
    page.js("document.querySelector('#list button').click(); document.querySelector('#list button').focus()")
    for _ in range(3):
        page.key("ArrowDown", 40)
    assert page.js("[...document.querySelectorAll('#list button')].indexOf(document.activeElement)") == 3
    page.js("document.querySelector('#list button').click()")


def check_widths(page):
    """At both widths names of files are on the screen, and no picture of a crash is cut."""
    for width in (1280, 390):
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        choose(page, "kind", "atomicity")
        choose(page, "kind", "ordering")
        wide = page.js("""[...document.querySelectorAll('.row-where .name, .row-where .function, .code caption, .path td')]
            .filter(e => { const text = document.createRange(); text.selectNodeContents(e);
                return text.getBoundingClientRect().right > innerWidth + 1; }).map(e => e.textContent)""")
        assert not wide, (width, wide)
        page.js("new Promise(done => setTimeout(done, 50))")  # the timeline is drawn anew
        over = page.js("[...document.querySelectorAll('.life, .timeline, .fields, .tools')].filter(e => e.scrollWidth > e.clientWidth + 1).length")
        assert over == 0, (width, over)
        assert page.js("document.querySelectorAll('.life .crash').length") == 1
        assert page.js("document.documentElement.scrollWidth") <= width, page.js("document.documentElement.scrollWidth")
    page.call("Emulation.clearDeviceMetricsOverride")
    choose(page, "kind", "")
    assert not page.js("document.querySelector('#statistics').open")
    page.click("#statistics summary")
    assert page.js("document.querySelector('#statistics').open && document.querySelector('#notes').offsetHeight > 0")


def check_crash(page):
    assert page.js("[...document.querySelectorAll('#notes li')].map(e => e.textContent)") == [
        "points 120, states possible 10^34, distinct 800, tested 640", "skipped 160 (same image)"]
    choose(page, "kind", "ordering")
    text = page.js(DETAIL)
    for part in ("fails in 14 crash states", "Recovery failed with exit status 3.", "n is 1 but head is 0",
                 "<b>list</b>", "1 line lost, 2 lines ahead", "also lost: in the same line", "called by main (list.c:16)"):
        assert part in text, part
    label = page.js("document.querySelector('.life svg').getAttribute('aria-label')")
    assert label == ("The crash: store A at list.c:6 (lost), then store B at list.c:8 (persistent), "
                     "then the crash before event 1040"), label
    assert page.js("[...document.querySelectorAll('.life circle')].map(e => e.getAttribute('class'))") == ["gone", "kept"]
    assert page.js("document.querySelectorAll('.life .crash').length") == 1
    assert page.js("document.querySelectorAll('.life').length") == 1  # its steps say no more
    said = page.js("document.querySelector('.said').textContent")
    assert said.endswith("\n\nbad \ufffd<b>list</b>: n is 1 but head is 0"), said
    assert page.js("document.querySelectorAll('#detail b').length") == 1  # "Fix:" is the only one


TIMELINE = "document.querySelector('.timeline')"


def told(page):
    text = page.js(f"{TIMELINE}.getAttribute('aria-valuetext')")
    assert text == page.js("document.querySelector('.told').textContent")
    return text


def check_timeline(page):
    choose(page, "kind", "ordering")
    page.js(f"{TIMELINE}.focus()")
    assert told(page) == "event 1,040: the crash"
    page.key("ArrowLeft", 37)
    assert told(page) == "event 1,008, thread 1: store, there by chance to a pool+0x80 at list.c:8 insert"
    page.key("Home", 36)
    page.key("ArrowRight", 39)
    assert told(page) == "event 1,003, thread 1: flush to a pool+0x40"
    page.key("PageUp", 33)
    assert "fence at list.c:8 insert" in told(page) and "all before it is guaranteed to a pool+0x40" in told(page)
    page.key("End", 35)
    marks = f"{TIMELINE}.querySelectorAll('circle, path').length"
    everything = page.js(marks)
    page.key("+", 187, "+")
    assert page.js(marks) < everything
    page.key("0", 48, "0")
    assert page.js(marks) == everything
    page.click(".tools [aria-label='zoom in']")
    page.click(".tools [aria-label='event before']")
    assert told(page).startswith("event 1,008") and page.js(marks) < everything
    page.click(".tools [aria-label='show all events']")
    assert page.js(marks) == everything
    assert page.js(f"{TIMELINE}.querySelectorAll('.gone').length") == 1
    assert page.js("document.querySelector('#list [aria-current=true]').textContent").startswith("error")  # the list has not moved


def check_fields(page):
    rows = page.js("[...document.querySelectorAll('.fields tbody tr')].map(e => [...e.children].map(c => c.textContent))")
    assert rows[0][:3] == ["struct list.head (uint64_t)a pool+0x40", "6", "7"] and rows[0][3].startswith("insert (list.c:6)l->head = v; </script>"), rows
    assert rows[1] == ["a pool+0x48", "40 bytes", "differ", "prog+0x1234"], rows
    text = page.js(DETAIL)
    assert "and 1 field more: holdfast diff" in text and "operation 4 'insert' (id 104), since event 1,005, thread 1" in text and "put 7" in text


def check_charts(page):
    page.click("#chart summary")
    assert page.js("[...document.querySelectorAll('#figures figcaption')].map(e => [...e.children].map(c => c.textContent))") == [
        ["images tested", "120", "12 s"], ["causes", "4", "12 s"]]  # one that is always 0 is left out
    page.js("document.querySelectorAll('.plot')[1].focus()")
    page.key("ArrowLeft", 37)
    plot = "document.activeElement.getAttribute('aria-valuetext')"
    assert page.js(plot) == "1 causes after 1.0 s"
    page.key("Home", 36)
    assert page.js(plot) == "0 causes after 0.5 s"
    page.js("document.activeElement.blur()")
    assert page.js("document.querySelectorAll('#figures b')[1].textContent") == "4"
    page.click("#chart summary")


WIDGETS = {"button", "link", "slider", "textbox", "searchbox", "combobox", "checkbox", "listbox", "table", "image", "img", "figure", "toolbar", "progressbar"}


def tree(page):
    """(role, name) of all that a screen reader meets."""
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n["ignored"]]


def check_accessible(page):
    choose(page, "kind", "ordering")
    page.js("document.querySelector('#chart').open = true")
    nodes = tree(page)
    nameless = [role for role, name in nodes if role in WIDGETS - {"figure", "image"} and not name]
    assert not nameless, nameless
    for wanted in [("slider", "Events up to the crash"), ("toolbar", "Zoom of the timeline"), ("button", "zoom in"), ("slider", "causes over time"),
                   ("table", "The crash image beside the one with nothing lost"), ("columnheader", "should be"), ("search", "Filter findings"),
                   ("navigation", "Findings"), ("article", "Finding"), ("heading", "THE LINES UP TO THE CRASH")]:
        assert wanted in nodes, wanted
    assert page.js("document.documentElement.lang") == "en" and page.js("document.querySelectorAll('main').length") == 1
    page.js("document.querySelector('#chart').open = false")


def check_replay(page):
    assert page.js("document.querySelector('.replay code').textContent") == "holdfast replay 0123 'a dir'"
    page.click(".replay button")
    page.js("new Promise(done => setTimeout(done, 100))")
    assert page.js("getSelection().toString()") == "holdfast replay 0123 'a dir'"
    assert page.js("document.querySelector('.replay button').textContent") == "Copied"


def check_other_crashes(page):
    choose(page, "kind", "atomicity")
    text = page.js(DETAIL)
    assert "Recovery crashed with signal 11 (SIGSEGV)." in text and "prog+0x1100" in text, text
    assert "#0  first" in page.js("document.querySelector('details .said').textContent")
    choose(page, "kind", "missing-flush")
    assert "Recovery hung" in page.js(DETAIL) and page.js("document.querySelectorAll('.life circle, .replay').length") == 0
    choose(page, "kind", "recovery-flaky")
    assert "RECOVERY" not in page.js("[...document.querySelectorAll('#detail h3')].map(e => e.textContent.toUpperCase()).join()")
    choose(page, "kind", "")
    choose(page, "text", "head is 0")  # what recovery said can be searched
    assert len(page.js(ROWS)) == 1
    choose(page, "text", "")
    check_quiet(page)


class Runner:
    def __init__(self):
        self.number, self.failed = 0, 0

    def case(self, name, check, page):
        self.number += 1
        try:
            check(page)
            print(f"ok {self.number} - {name}", flush=True)
        except (AssertionError, LookupError, TypeError) as error:
            self.failed += 1
            print(f"not ok {self.number} - {name}\n# {error!r}", flush=True)


def make(program, folder, name, *arguments):
    where = pathlib.Path(folder) / name
    where.mkdir()
    subprocess.run([program, "html", "report.html", *arguments], cwd=where, check=True)
    return where / "report.html"


SAMPLE = [("the list and its summary", check_list), ("filters", check_filters), ("a click shows the finding", check_click),
          ("the life of the line", check_life), ("texts stay texts", check_escaping), ("a finding without a place", check_no_place), ("the keyboard", check_keyboard),
          ("no errors, nothing loaded", check_quiet)]


CRASHES = [("a crash", check_crash), ("the replay command is copied", check_replay), ("other crashes", check_other_crashes),
           ("the timeline: keys, buttons, zoom", check_timeline), ("what is lost, field by field; operations under way", check_fields),
           ("charts over time", check_charts), ("roles and names for screen readers", check_accessible),
           ("names and pictures at 1280 and 390 pixels; statistics fold away", check_widths)]


def shoot(page, pictures, name):
    for scheme in ("light", "dark"):
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.picture(pathlib.Path(pictures) / f"{name}-{scheme}.png")


def run(page, program, folder, pictures):
    runner = Runner()
    sample = make(program, folder, "sample")
    print(f"1..{len(SAMPLE) + len(CRASHES) + 3}", flush=True)
    page.open(sample)
    for name, check in SAMPLE:
        runner.case(name, check, page)
        if pictures and check in (check_click, check_life):
            shoot(page, pictures, check.__name__)
    page.open(make(program, folder, "crash", "crash"))
    for name, check in CRASHES:
        runner.case(name, check, page)
        if pictures and check is check_crash:
            shoot(page, pictures, check.__name__)
    page.open(make(program, folder, "empty", "empty"))
    runner.case("a page without findings", check_empty, page)
    page.open(make(program, folder, "many", "2000"))
    runner.case("a page with 2,000 findings", check_many, page)
    runner.case("identical titles are grouped", check_groups, page)
    if pictures:
        page.picture(pathlib.Path(pictures) / "many.png")
    return 1 if runner.failed else 0


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        print("1..0 # SKIP chromium is not installed")
        return 0
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Browser(chromium, folder)
        try:
            return run(page, program, folder, sys.argv[2] if len(sys.argv) > 2 else None)
        finally:
            page.close()


if __name__ == "__main__":
    sys.exit(main())
