#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clients.py - PROGRAM: test `centimani serve` with slow clients, other host names, and a second server on its port.

Uses only 127.0.0.1. Prints TAP."""
import http.client
import json
import socket
import subprocess
import sys
import threading
import time

QUESTION = "/api/rank?model=gemm_k1&devices=nvidia-h200"
SLOW = 12          # clients of each slow kind; more than the server's limit on concurrent answers
PATIENCE_S = 5     # time limit for answers to other clients, on a busy machine


def start(program, *options):
    server = subprocess.Popen([program, "serve", "--port", "0", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    return server, int(line.rsplit(":", 1)[1].strip("/\n"))


def ask(port, path=QUESTION, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    return reply.status, reply.read()


def timed(port, path=QUESTION):
    begin = time.monotonic()
    status, _ = ask(port, path)
    return status, time.monotonic() - begin


def half_requests(port):
    for i in range(SLOW):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"GET /api/ra" if i % 2 else b"POST /api/upload?name=a.onnx HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Centimani: 1\r\nContent-Length: 100000\r\n\r\nhalf" % port)
        yield client


def slow_readers(port):
    for _ in range(SLOW):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET /chart.js HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
        client.recv(16)
        yield client


def behind_slow_clients(port, make):
    clients = list(make(port))
    answers = [timed(port) for _ in range(8)]
    for client in clients:
        client.close()
    return all(status == 200 and seconds < PATIENCE_S for status, seconds in answers), answers


def behind_long_answers(port):
    """At most two child processes evaluate descriptions. Requests for files and built-in models do not wait for them."""
    paths = [f"/api/rank?model=gpt:layers=48,hidden=1600,heads=25,seq=1024,vocab=50257&batch={batch}" for batch in range(1, 9)]
    threads = [threading.Thread(target=ask, args=(port, path)) for path in paths]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    answers = [timed(port, path) for path in ("/", "/style.css", QUESTION, "/api/version") for _ in range(2)]
    waiting = sum(thread.is_alive() for thread in threads)
    for thread in threads:
        thread.join()
    return waiting >= len(paths) // 2 and all(status == 200 for status, _ in answers), (waiting, answers)


def hosts(port, expected):
    """expected: HTTP status by host name."""
    got = {host: ask(port, "/", Host=host.replace("PORT", str(port)))[0] for host in expected}
    return got == expected, got


def origins(port):
    own, other = f"http://127.0.0.1:{port}", "http://127.0.0.1:1"
    got = [ask(port, QUESTION, Host=f"127.0.0.1:{port}", Origin=origin)[0] for origin in (own, other, "http://evil.example")]
    return got == [200, 403, 403], got


def second(program, port):
    run = subprocess.run([program, "serve", "--port", str(port)], capture_output=True, text=True, timeout=20)
    return run.returncode == 1 and f"port {port}" in run.stderr and not run.stdout, (run.returncode, run.stderr)


def again(program, port):
    """The port is free as soon as a server has ended."""
    server = subprocess.Popen([program, "serve", "--port", str(port)], stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    server.terminate()
    server.wait(timeout=20)
    return line == f"http://127.0.0.1:{port}/\n", line


def refused(program, *options):
    run = subprocess.run([program, "serve", *options], capture_output=True, text=True, timeout=20)
    return run.returncode != 0 and bool(run.stderr), (run.returncode, run.stderr)


def main():
    program = sys.argv[1]
    results = []
    default = {"127.0.0.1:PORT": 200, "localhost:PORT": 200, "localhost:9999": 200, "localhost": 200, "evil.example": 403, "evil.example:PORT": 403,
               "127.0.0.1.evil.example:PORT": 403, "localhost.evil.example": 403, "box.example": 403, "localhost:PORT@evil.example": 403}
    server, port = start(program)
    results.append(("others are answered while clients send half a request", *behind_slow_clients(port, half_requests)))
    results.append(("others are answered while clients read slowly", *behind_slow_clients(port, slow_readers)))
    results.append(("others are answered while long answers are computed", *behind_long_answers(port)))
    results.append(("only local names are answered", *hosts(port, default)))
    results.append(("only its own page may ask", *origins(port)))
    results.append(("a second server on the port is refused", *second(program, port)))
    results.append(("the first one still answers", ask(port)[0] == 200, None))
    server.terminate()
    results.append(("it ends when asked to", server.wait(timeout=20) == 0, None))
    results.append(("its port is free at once", *again(program, port)))
    server, port = start(program, "--allow-host", "box.example", "--allow-host", "other.example:81", "--bind", "127.0.0.2")
    allowed = {"box.example": 200, "box.example:443": 200, "other.example:81": 200, "other.example": 403, "evil.example": 403}
    connection = socket.create_connection(("127.0.0.2", port))
    connection.close()
    real, http.client.HTTPConnection = http.client.HTTPConnection, lambda host, *a, **k: real("127.0.0.2", *a, **k)
    results.append(("names that are allowed are answered, at the address asked for", *hosts(port, {**allowed, "127.0.0.2:PORT": 200})))
    server.terminate()
    server.wait(timeout=20)
    results.append(("an address that is none is refused", *refused(program, "--bind", "here")))
    print(f"1..{len(results)}")
    for number, (name, ok, got) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} {name}" + ("" if ok else f"\n# {json.dumps(got)}"))
    return not all(ok for _, ok, _ in results)


if __name__ == "__main__":
    sys.exit(main())
