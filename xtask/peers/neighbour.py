"""Calls a healthy upstream server through Countersign again and again: `neighbour.py PORT`.

A line for each call, until its input ends: when it was over, how long it took (seconds), and what was wrong with it. It is a program
of its own, so that nothing else its starter does is in these times. Talks to the loopback address only.
"""

import http.client
import json
import sys
import threading
import time

PATH = "/v1/tools/healthy__echo"
# Between two calls: about as often as an assistant that is busy.
PAUSE = 0.003


def call(connection, number):
    """Nothing, or what was wrong."""
    connection.request("POST", PATH, json.dumps({"args": {"text": str(number)}}), {"content-type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    right = response.status == 200 and answer["result"] == {"said": str(number)}
    return None if right else f"{response.status} {json.dumps(answer)[:300]}"


def main():
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    number = 0
    while not ended.is_set():
        number += 1
        begun = time.perf_counter()
        try:
            wrong = call(connection, number)
        except (OSError, http.client.HTTPException) as err:
            wrong = f"{type(err).__name__}: {err}"
            connection.close()
        took = time.perf_counter() - begun
        print(json.dumps([time.monotonic(), took, wrong]), flush=True)
        time.sleep(0.1 if wrong else PAUSE)


if __name__ == "__main__":
    main()
