#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve.py - PROGRAM: send concurrent requests to `centimani serve`; each reply must equal the program's output. TAP.

`make test` runs it on the program built with ThreadSanitizer, which makes the server exit with an error after a data race.
"""
import concurrent.futures
import http.client
import json
import subprocess
import sys

CLIENTS = 6
ROUNDS = 3
UPLOAD = json.dumps({"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8, "vocab_size": 16, "n_positions": 4})
# Each URL of the server, and the command line with the same answer.
QUESTIONS = [
    ("/api/rank?model=gemm_k1&devices=nvidia-h200,nvidia-t4", ["rank", "gemm_k1", "--devices", "nvidia-h200,nvidia-t4"]),
    ("/api/rank?model=resnet18&devices=amd-mi250,nvidia-a100-40g", ["rank", "resnet18", "--devices", "amd-mi250,nvidia-a100-40g"]),
    ("/api/rank?model=lstm&devices=nvidia-h200&batch={batch}", ["rank", "lstm", "--devices", "nvidia-h200", "--batch", "{batch}"]),
    ("/api/device?model=resnet18&device=nvidia-t4&batch={batch}",
     ["explain", "resnet18", "--device", "nvidia-t4", "--full", "--batch", "{batch}"]),
    ("/api/graph?model=resnet18", ["graph", "resnet18"]),
    ("/api/models", ["models"]),
]


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path)
    reply = connection.getresponse()
    return reply.status, reply.read().decode()


def upload(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/api/upload?name=config.json", UPLOAD, {"X-Centimani": "1"})
    reply = connection.getresponse()
    return "" if reply.status == 200 else reply.read().decode()


def alone(program, words):
    done = subprocess.run([program, *words, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def main():
    program = sys.argv[1]
    asked = [(path.format(batch=1 << i), [word.format(batch=1 << i) for word in words])
             for path, words in QUESTIONS for i in range(2 if "{batch}" in path else 1)]
    expected = {path: alone(program, words) for path, words in asked}
    with subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        port = int(server.stdout.readline().split(b":")[-1].strip(b"/\n"))
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            paths = [path for path, _ in asked for _ in range(ROUNDS)]
            files = [clients.submit(upload, port) for _ in range(ROUNDS)]
            replies = list(clients.map(lambda path: (path, *get(port, path)), paths))
            refused = "\n".join(filter(None, (file.result() for file in files)))
        server.terminate()
        said = server.communicate(timeout=60)[1].decode()
    different = sorted({path for path, status, text in replies if status != 200 or text != expected[path]})
    results = [(not different, f"{len(replies)} replies are what the program prints", " ".join(different)),
               (not refused, "files are stored meanwhile", refused),
               (server.returncode == 0, f"the server ends with {server.returncode}", said)]
    print(f"1..{len(results)}")
    for number, (ok, name, why) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {name}")
        for line in [] if ok else why.splitlines():
            print("# " + line)
    return 0 if all(ok for ok, _, _ in results) else 1


sys.exit(main())
