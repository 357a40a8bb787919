"""The whole server in this process, on a port of this machine, and raw bytes to it: for tests of what surrounds it."""

import contextlib
import json
import socket
import time
from urllib.parse import urlsplit

import httpx

from tests.rest_client import UNLIMITED, players
from web.server import Serving, serve

PATIENCE = 30.0  # seconds that anything here may take, on however slow a machine


@contextlib.contextmanager
def running(**options):
    served = serve(players(), Serving(**{"host": "127.0.0.1", "limits": UNLIMITED, **options}))
    try:
        yield served
    finally:
        served.close()


def client(served, address=None):
    """An HTTP client; with an address, as one who comes through a proxy on this machine."""
    headers = {"X-Forwarded-For": address} if address else {}
    return httpx.Client(base_url=served.url, headers=headers, timeout=PATIENCE, trust_env=False)


def event(http, request, name="ask"):
    return http.post(f"/gradio_api/run/{name}", json={"data": [request]})


def connect(served):
    address = urlsplit(served.url)
    return socket.create_connection((address.hostname, address.port), timeout=PATIENCE)


def exchange(served, sent):
    """All that the server says to these bytes until it closes the connection."""
    with connect(served) as line:
        line.sendall(sent)
        return b"".join(iter(lambda: line.recv(65536), b""))


def start_event(served, request):
    """Send an event and do not wait for the answer: the open connection."""
    body = json.dumps({"data": [request]}).encode()
    line = connect(served)
    line.sendall(b"POST /gradio_api/run/ask HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return line


def eventually(condition):
    """Wait until it is true; false if it never becomes so."""
    end = time.monotonic() + PATIENCE
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return met
