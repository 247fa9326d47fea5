#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""malformed.py - PROGRAM [COUNT]: send malformed requests and uploads to `centimani serve`.

Half of them are bytes on a socket (cut, doubled, flipped requests), half are well-formed HTTP with a bad path, query, header
or file. The server must answer or hang up, stay alive, and answer a good request afterwards. Prints one line."""
import concurrent.futures
import http.client
import os
import random
import socket
import subprocess
import sys
import time

CLIENTS = 8
GOOD = "/api/rank?model=gemm_k1&devices=nvidia-h200"
HEADS = [b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", b"POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99999999999999999999\r\n\r\n",
         b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", b"%s %d\r\n\r\n",
         b"POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Centimani: 1\r\nContent-Length: 50\r\n\r\nshort"]
PATHS = ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/rank", "/api/rank?model=", "/api/rank?model=/etc/passwd",
         "/api/rank?model=upload:../../etc/passwd", "/api/rank?model=upload:0", "/api/rank?model=%00", "/api/rank?model=resnet50&devices=/etc/passwd",
         "/api/rank?model=resnet50&devices=x.json", "/api/rank?model=resnet50&batch=-1", "/api/rank?model=resnet50&batch=1e309",
         "/api/rank?model=resnet50&where=price<", "/api/rank?model=resnet50&objective=--help", "/api/rank?model=resnet50&price=a=b=c",
         "/api/rank?model=gemm:m=1,n=1,k=99999999999999999999", "/api/device?model=resnet50", "/api/device?model=resnet50&device=none",
         "/api/upload", "/openapi.json/", "/style.css?x", "/%s%s%n", "/" + "a" * 20000, "/api/rank?" + "&".join(f"k{i}=v" for i in range(2000))]
NAMES = ["a.onnx", "config.json", "b.cmt.json", "../../x.onnx", "%00.onnx", "no-ending", "x" * 500 + ".onnx", ".onnx", "a b<script>.json"]


def raw(port, rng):
    head = rng.choice(HEADS)
    data = bytearray(head % (rng.choice([b"/", b"/api/rank?model=gemm_k1", b"/api/upload?name=a.onnx", b"*", b"\xff\xfe"]), port))
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(data)) if data else 0
        what = rng.randrange(4)
        if what == 0 and data:
            data[at] = rng.randrange(256)
        elif what == 1:
            del data[at:]
        elif what == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(64)))
        else:
            data += data[:at]
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(bytes(data))
        connection.settimeout(0.05)  # the server does not answer incomplete requests
        connection.shutdown(socket.SHUT_WR)
        try:
            connection.recv(256)
        except OSError:
            pass


def body_of(rng, models):
    if models and rng.random() < 0.7:
        with open(rng.choice(models), "rb") as file:
            data = bytearray(file.read(200000))
        for _ in range(rng.randrange(1, 30)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data[:rng.randrange(1, len(data))])
    return rng.choice([b"", b"{", b"[" * 5000, b'{"model_type":"gpt2","n_layer":1e9}', os.urandom(rng.randrange(3000))])


def formed(port, rng, models):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {}
    if rng.random() < 0.1:
        headers["Host"] = rng.choice(["evil.example", "127.0.0.1:1", "", "localhost:%d.evil" % port])
    if rng.random() < 0.1:
        headers["Origin"] = rng.choice(["http://evil.example", "null", "https://127.0.0.1:%d" % port])
    if rng.random() < 0.5:
        name = rng.choice(NAMES).replace("%", "%25").replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
        connection.request("POST", "/api/upload?name=" + name, body_of(rng, models), {**headers, "X-Centimani": "1"})
    else:
        connection.putrequest(rng.choice(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]), rng.choice(PATHS), skip_host="Host" in headers)
        for key, value in headers.items():
            connection.putheader(key, value)
        connection.endheaders()
    status = connection.getresponse()
    status.read()
    connection.close()
    return status.status


def good(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", GOOD)
    reply = connection.getresponse()
    text = reply.read()
    return reply.status == 200 and b'"ranking"' in text


def good_in_a_crowd(port):
    """An upload succeeds while many clients hold idle connections."""
    crowd = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(100)]
    text = '{"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8, "vocab_size": 16, "n_positions": 4}'
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/api/upload?name=config.json", text, {"X-Centimani": "1"})
    reply = connection.getresponse()
    reply.read()
    for other in crowd:
        other.close()
    return reply.status == 200


def one(port, index, models):
    rng = random.Random(index)
    try:
        return formed(port, rng, models) if index % 2 else raw(port, rng) or "bytes"
    except (http.client.HTTPException, OSError) as problem:
        return type(problem).__name__


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    folder = os.environ.get("CENTIMANI_MODELS") or ""
    models = [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
    statuses, begin = {}, time.monotonic()
    with subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE) as server:
        port = int(server.stdout.readline().split(b":")[-1].strip(b"/\n"))
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            for status in clients.map(lambda index: one(port, index, models), range(count)):
                statuses[status] = statuses.get(status, 0) + 1
        alive = server.poll() is None and good(port) and good_in_a_crowd(port)
        server.terminate()
        code = server.wait(60)
    counts = ", ".join(f"{key}: {value}" for key, value in sorted(statuses.items(), key=str))
    print(f"{sum(statuses.values())} requests in {time.monotonic() - begin:.0f} s ({counts}); "
          f"{'alive' if alive else 'dead'} after them, exit {code}", flush=True)
    return 0 if alive and code == 0 and 500 not in statuses and "TimeoutError" not in statuses else 1


sys.exit(main())
