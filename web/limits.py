"""Where the web says no: every limit in one place, and the limiter that keeps one client from starving the rest.

The page and the REST API share one `Limiter` (the server makes it and hands it to both):

    limiter.request(client)              # once for every event or REST call; raises Refused
    with limiter.search(client):         # around every search; raises Refused
        result = await player.search_async(position)

`client` is `client_address(scope)` of the request. The REST API calls both by itself, so a middleware around the whole
server must leave out `/api/v1`, and static files need no counting. `Refused` says whose limit it was, in words, and
in how many seconds it is worth trying again: `whole_server` is a 503, otherwise it is a 429.

A whole class may come from one address (a school's router, a share link, a Space's proxy), so what one client may do
is what forty players do, and less than all: the engine steps every search in turn, so nobody waits for a flood to end.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """All limits of the web. Rates are requests a second; a burst is how many may come at once after a pause."""

    body_bytes: int = 65_536  # of one request
    moves: int = 1000  # in a client's list of moves; far more than any game here has
    simulations: int = 20_000  # a search may be asked for
    seconds: float = 10.0  # a search may be asked for, and the longest any search takes
    temperature: float = 10.0
    client_rate: float = 100.0
    client_burst: int = 200
    client_searches: int = 64  # at a time
    total_rate: float = 400.0
    total_burst: int = 800
    total_searches: int = 192  # at a time; below what the engine takes, so that it is we who say no
    clients: int = 4096  # remembered; those who have long been quiet are forgotten first
    jobs: int = 32  # finished training jobs remembered


class Refused(Exception):
    """A limit is reached. The message is for people; `retry_after` is in whole seconds."""

    def __init__(self, message: str, retry_after: float, *, whole_server: bool):
        self.retry_after = max(1, math.ceil(retry_after))
        self.whole_server = whole_server
        super().__init__(f"{message} Please try again in {self.retry_after} s.")


class _Bucket:
    """Tokens that flow in at `rate` up to `burst`; and how many searches its owner has in flight."""

    __slots__ = ("in_flight", "tokens", "when")

    def __init__(self, burst: float, now: float):
        self.tokens = burst
        self.when = now
        self.in_flight = 0

    def take(self, rate: float, burst: float, now: float) -> float:
        """0 and one token less, or the seconds until there will be one."""
        self.tokens = min(burst, self.tokens + max(0.0, now - self.when) * rate)
        self.when = now
        if self.tokens >= 1:
            self.tokens -= 1
            return 0.0
        return (1 - self.tokens) / rate


class Limiter:
    """Counts requests and searches, by client and in all. Thread-safe; memory bounded by `limits.clients`."""

    def __init__(self, limits: Limits | None = None, clock: Callable[[], float] = time.monotonic):
        self.limits = limits or Limits()
        self._clock = clock
        self._lock = threading.Lock()
        self._total = _Bucket(self.limits.total_burst, clock())
        self._clients: OrderedDict[str, _Bucket] = OrderedDict()  # the one that was quiet for longest comes first

    def request(self, client: str) -> None:
        """Count one request, or raise Refused. A refused one costs others nothing."""
        limits, now = self.limits, self._clock()
        with self._lock:
            wait = self._bucket(client, now).take(limits.client_rate, limits.client_burst, now)
            if wait:
                raise Refused("That is a lot of requests from one address.", wait, whole_server=False)
            wait = self._total.take(limits.total_rate, limits.total_burst, now)
            if wait:
                raise Refused("The server is busy.", wait, whole_server=True)

    @contextmanager
    def search(self, client: str) -> Iterator[None]:
        """Hold one of the client's places for a search, or raise Refused."""
        with self._lock:
            bucket = self._bucket(client, self._clock())
            if bucket.in_flight >= self.limits.client_searches:
                many = f"{bucket.in_flight} searches from this address are under way already."
                raise Refused(many, 1, whole_server=False)
            if self._total.in_flight >= self.limits.total_searches:
                raise Refused(f"The server is busy with {self._total.in_flight} searches.", 2, whole_server=True)
            bucket.in_flight += 1
            self._total.in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                bucket.in_flight -= 1
                self._total.in_flight -= 1

    def searches(self) -> int:
        """How many searches are in flight in all."""
        return self._total.in_flight

    def _bucket(self, client: str, now: float) -> _Bucket:
        bucket = self._clients.get(client)
        if bucket is None:
            bucket = self._clients[client] = _Bucket(self.limits.client_burst, now)
            self._forget()
        self._clients.move_to_end(client)
        return bucket

    def _forget(self) -> None:
        """Those with a search in flight are kept, so that its place is given back to the right one."""
        while len(self._clients) > self.limits.clients:
            quiet = next((name for name, bucket in self._clients.items() if not bucket.in_flight), None)
            if quiet is None:
                return
            del self._clients[quiet]


def client_address(scope: MutableMapping[str, Any]) -> str:
    """Who asks, from an ASGI scope. Whether to believe X-Forwarded-For is for uvicorn to know (FORWARDED_ALLOW_IPS);
    by then it has put the right one here. Of an IPv6 address the first half: the rest is the client's to choose."""
    host = str(scope["client"][0]) if scope.get("client") else "unknown"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:64]
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ipaddress.IPv6Address(int(address) >> 64 << 64))
    return host
