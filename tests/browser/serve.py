#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A page of holdfast serve in headless Chromium, while a campaign runs in another process.

usage: serve.py HOLDFAST NOTES    NOTES is the program of demo/
"""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import report

RECOVER = """#!/bin/sh
[ ! -e wait ] || sleep 0.4
exec {notes} my.notes check
"""


def until(page, condition):
    """Waits until the page shows it, however long that takes on a slow machine."""
    deadline = time.monotonic() + 300
    while not page.js(condition):
        assert time.monotonic() < deadline, (condition, page.js("document.body.innerText"))
        time.sleep(0.1)


def check_list(page, url):
    page.open(url)
    assert "There is nothing here yet" in page.js("document.querySelector('#none').innerText")
    (page.folder / "wait").touch()
    page.campaign = subprocess.Popen([page.holdfast, "crash", "-q", "--jobs", "1", "-o", "one.hft", "--recover", "./recover", "--",
                                      page.notes, "my.notes", "add", "tea", "add", "milk"], cwd=page.folder)
    until(page, "document.querySelectorAll('#places a').length == 1 && document.querySelector('#places').innerText.includes('running')")
    assert page.js("document.querySelector('#places a').getAttribute('href')") == "c/one.hft/"
    page.js("document.querySelector('#places a').focus()")
    time.sleep(1.5)  # the list is made anew
    assert page.js("document.activeElement.dataset.path") == "one.hft"


def check_running(page, url):
    page.open(url + "c/one.hft/")
    until(page, "document.querySelector('#state').textContent == 'running'")
    assert page.js("document.querySelector('#state').getAttribute('role')") == "status"
    assert page.js("document.querySelector('#none').innerText") == "Nothing found so far."
    (page.folder / "wait").unlink()
    until(page, "document.querySelectorAll('#list button').length > 0")  # without a reload
    until(page, "document.querySelector('#state').textContent == 'finished'")
    until(page, "document.querySelector('#notes').children.length > 2 && document.querySelector('#incomplete').hidden")
    assert page.campaign.wait() == 1
    figures = page.js("document.querySelector('#live-figures').innerText")
    assert "causes\n1" in figures and "images tested" in figures, figures
    assert page.js("document.querySelector('.fields tbody').textContent").startswith("struct note")
    assert page.js("document.querySelectorAll('#figures .plot').length") >= 3


def check_kept(page, url):
    """What is chosen and filtered stays when there is news."""
    page.js("document.querySelector('.timeline').focus()")
    page.key("ArrowLeft", 37)
    before = page.js("document.querySelector('.timeline').getAttribute('aria-valuetext')")
    report.choose(page, "text", "ordering")
    loaded = page.js("performance.getEntriesByType('resource').filter(e => e.name.endsWith('report.json')).length")
    database = sqlite3.connect(page.folder / "one.hft" / "campaign.db")
    database.execute("update setting set value = value || char(10) || 'news' where key = 'notes'")
    database.commit()
    database.close()
    until(page, "document.querySelector('#notes').textContent.includes('news')")
    assert page.js("performance.getEntriesByType('resource').filter(e => e.name.endsWith('report.json')).length") > loaded
    assert page.js("document.querySelector('.timeline').getAttribute('aria-valuetext')") == before
    assert page.js("document.querySelector('#text').value") == "ordering"


def check_gone(page, url):
    wrong = [e for e in page.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
    assert not wrong, wrong
    page.server.terminate()
    assert page.server.wait() == 0
    until(page, "!document.querySelector('#gone').hidden")


def run(page, folder, holdfast, notes):
    page.folder, page.holdfast, page.notes, page.campaign = pathlib.Path(folder), holdfast, notes, None
    (page.folder / "recover").write_text(RECOVER.format(notes=notes))
    (page.folder / "recover").chmod(0o755)
    page.server = subprocess.Popen([holdfast, "serve", "--port", "0", "."], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = page.server.stdout.readline().strip()
    runner = report.Runner()
    cases = [("the list of campaigns, as they come", check_list), ("a campaign that runs: figures, findings, its end", check_running),
             ("what is chosen stays", check_kept), ("a server that ends", check_gone)]
    print(f"1..{len(cases)}", flush=True)
    try:
        for name, check in cases:
            runner.case(name, lambda page, check=check: check(page, url), page)
    finally:
        (page.folder / "wait").unlink(missing_ok=True)
        for child in (page.server, page.campaign):
            if child and child.poll() is None:
                child.terminate()
                child.wait()
    return 1 if runner.failed else 0


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        print("1..0 # SKIP chromium is not installed")
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        page = report.Browser(chromium, folder)
        try:
            return run(page, work, *map(os.path.abspath, sys.argv[1:3]))
        finally:
            page.close()


if __name__ == "__main__":
    sys.exit(main())
