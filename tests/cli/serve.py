# SPDX-License-Identifier: BSD-3-Clause
"""A client of holdfast serve.

usage: serve.py URL get PATH                 prints what is there
       serve.py URL news PATH N              prints the first N events of a stream, a line each
       serve.py URL until PATH CONDITION     … until jq says that the condition holds, and prints that event
       serve.py URL status STATUS PATH…      fails if another status comes
       serve.py URL hostile FILE             asks for things that it must not get
       serve.py URL crowd N                  N streams at a time, then none
       serve.py URL hold N PID               N streams, then kills PID and waits for their end
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

base = sys.argv[1]
port = int(re.search(r":(\d+)/", base).group(1))


def stream(path):
    with urllib.request.urlopen(base + path, timeout=120) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream", answer.headers
        for line in answer:
            if line.startswith(b"data: "):
                yield line[6:].decode()


def raw(data, half=False):
    """The status of the answer to these bytes; None: the server closed without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as s:
        s.sendall(data)
        if half:
            s.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while part := s.recv(65536):
                answer += part
                if answer.startswith(b"HTTP/1.1 200") and b"event-stream" in answer:
                    break
        except ConnectionResetError:
            pass
    return (int(answer.split()[1]) if answer else None), answer


def get(path, *fields, method="GET", host="Host: 127.0.0.1", version="HTTP/1.1"):
    return raw("\r\n".join([f"{method} {path} {version}", host, *fields, "", ""]).encode("latin-1"))


def hostile(name):
    secret = open(name, "rb").read()
    folder = os.path.dirname(os.path.abspath(name))
    paths = [f"/{name}", f"/c/{name}", f"/c/../{name}", f"/c/done.hft/../{name}", f"/c/done.hft/..%2f{name}", f"/c/..%2f/{name}", f"/{folder}/{name}",
             f"/c/{folder}/", "/c/done.hft/campaign.db", "/c/done.hft/trace", "/c//", "/c/./done.hft/", "/c/done.hft//", "/c/done.hft/%2e/",
             "/c/done.hft", "//done.hft/", "/c/../../../../../../etc/passwd", "/" + "a" * 4000, "/c/" + "%2e%2e%2f" * 300 + "etc/passwd", "/%ff%fe/"]
    for path in paths:
        status, answer = get(path)
        assert status == 404 and secret not in answer, (path, status)
    for host in ("Host: evil.example", "Host: evil.example:%d" % port, "Host: localhost.evil.example", "Host: [::1", "X: y", "Host: localhost\r\nHost: evil"):
        status, answer = get("/", host=host)
        assert status in (400, 421) and b"done.hft" not in answer, (host, status)
    for host in ("Host: localhost:9999", "Host: LocalHost", "host:127.0.0.1:%d" % port):
        assert get("/", host=host)[0] == 200, host
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "PRI"):
        assert get("/", method=method)[0] == 405, method
    # Pages of other sites may lead here, but not read what is here.
    assert get("/c/done.hft/report.json", "Sec-Fetch-Site: cross-site")[0] == 403
    assert get("/events", "Sec-Fetch-Site: cross-site")[0] == 403
    status, answer = get("/c/done.hft/", "Sec-Fetch-Site: cross-site", "Origin: http://evil.example")
    assert status == 200 and b"access-control" not in answer.lower() and b"frame-ancestors 'none'" in answer
    status, answer = get("/c/done.hft/report.json", method="HEAD")
    assert status == 200 and answer.endswith(b"\r\n\r\n") and b"Content-Length: 0\r\n" not in answer
    for data in (b"\0" * 100, b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET / HTTP/9\r\nHost: localhost\r\n\r\n"):
        assert raw(data, True)[0] in (400, 505, None), data
    assert raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20000)[0] in (431, None)
    assert raw(b"GET / HT", True)[0] is None


def main():
    verb, *rest = sys.argv[2:]
    if verb == "get":
        with urllib.request.urlopen(base + rest[0].lstrip("/"), timeout=120) as answer:
            sys.stdout.buffer.write(answer.read())
    elif verb == "news":
        news = stream(rest[0])
        for _ in range(int(rest[1])):
            print(next(news), end="")
    elif verb == "until":
        for line in stream(rest[0]):
            if subprocess.run(["jq", "-e", rest[1]], input=line.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
                json.loads(line)
                print(line, end="")
                return
        sys.exit("the stream has ended")
    elif verb == "status":
        for path in rest[1:]:
            try:
                status = urllib.request.urlopen(base + path.lstrip("/"), timeout=120).status
            except urllib.error.HTTPError as error:
                status = error.code
            assert status == int(rest[0]), (path, status)
    elif verb == "hostile":
        hostile(rest[0])
    elif verb in ("crowd", "hold"):
        held = []
        for _ in range(int(rest[0])):
            s = socket.create_connection(("127.0.0.1", port), timeout=120)
            s.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            held.append(s)
        answers = [s.recv(100).split()[1] for s in held]
        assert answers.count(b"200") >= min(len(held), 50) and set(answers) <= {b"200", b"503"}, answers
        if verb == "hold":
            os.kill(int(rest[1]), signal.SIGINT)
            for s in held:
                while s.recv(65536):
                    pass


main()
