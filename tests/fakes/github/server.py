"""The fake GitHub server: what tests start, fill, script and ask afterwards."""

import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.github.clock import Clock
from tests.fakes.github.faults import Fault, secondary_limit
from tests.fakes.github.oidc import Oidc
from tests.fakes.github.records import User
from tests.fakes.github.repo import FakeRepo
from tests.fakes.github.service import Outcome, Service, is_write
from tests.fakes.github.wire import Exchange, Request
from tests.fakes.github.world import BOT, World

# Always known, and allowed everything.
DEFAULT_TOKEN = "ghs_test"

# Called for every exchange of every fake; the contract check listens here.
OBSERVERS: list[Callable[[Exchange], None]] = []


class FakeGitHub:
    """A GitHub on loopback. Use it as a context manager."""

    def __init__(self) -> None:
        self._world = World()
        self._service = Service(self._world, self._record)
        self._exchanges: list[Exchange] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.service = self._service
        self._world.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.add_token(DEFAULT_TOKEN)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving and hang up on clients that keep their connection open."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def _record(self, exchange: Exchange) -> None:
        self._exchanges.append(exchange)
        for observer in OBSERVERS:
            observer(exchange)

    @property
    def url(self) -> str:
        """The value for GITHUB_API_URL."""
        return self._world.url

    @property
    def graphql_url(self) -> str:
        """The value for GITHUB_GRAPHQL_URL."""
        return f"{self._world.url}/graphql"

    @property
    def server_url(self) -> str:
        """The base of every `html_url`."""
        return self._world.url

    @property
    def clock(self) -> Clock:
        """The time of everything the fake stores."""
        return self._world.clock

    @property
    def oidc(self) -> Oidc:
        """The runner's identity endpoint."""
        return self._service.oidc

    @property
    def oidc_url(self) -> str:
        """The value for ACTIONS_ID_TOKEN_REQUEST_URL."""
        return self.oidc.url

    @property
    def oidc_token(self) -> str:
        """The value for ACTIONS_ID_TOKEN_REQUEST_TOKEN."""
        return self.oidc.token

    @property
    def requests(self) -> list[Exchange]:
        """Every request so far, in order of completion."""
        return list(self._exchanges)

    @property
    def writes(self) -> list[Exchange]:
        """The requests that changed something."""
        return [exchange for exchange in self._exchanges if is_write(exchange)]

    @property
    def pending_faults(self) -> list[Fault]:
        """Scripted faults that no request has met yet."""
        return self._world.faults.pending

    def add_token(self, token: str, login: str = BOT, permissions: Mapping[str, str] | None = None) -> None:
        """Make a token known; `permissions=None` means everything."""
        self._world.add_token(token, login, permissions)

    def add_user(self, login: str, type: str = "User") -> User:  # noqa: A002 - GitHub's own field name
        """Make an account: User, Bot or Organization."""
        user = self._world.user(login)
        user.type = type
        return user

    def add_repo(self, full_name: str, default_branch: str = "main", private: bool = False) -> FakeRepo:
        """Make a repository with one commit."""
        return self._world.add_repo(full_name, default_branch, private=private)

    def repo(self, full_name: str) -> FakeRepo:
        """A repository that is there."""
        return self._world.repos[full_name.lower()]

    def fault(
        self,
        method: str | None = None,
        path: str = ".*",
        status: int | None = None,
        times: int = 1,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        delay: float = 0.0,
        drop: bool = False,
        truncate: int | None = None,
        after_commit: bool = False,
    ) -> None:
        """Script the next `times` matching requests; `path` is a regular expression for the whole path.

        `status` answers instead of the state, `drop` hangs up without an answer, `truncate` cuts the body after so
        many bytes, `delay` waits first; with `after_commit` the request takes effect and its answer is lost.
        """
        pattern = re.compile(path)
        fault = Fault(method, pattern, status, times, body, headers or {}, delay, drop, truncate, after_commit)
        self._world.faults.add(fault)

    def rate_limit(self, remaining: int = 0, reset_in: float = 1, limit: int = 5000, status: int = 403) -> None:
        """Set the primary limit; once `remaining` is used up requests fail until the reset, in real seconds."""
        quota = self._world.quota
        quota.limit, quota.remaining, quota.status = limit, remaining, status
        # Whole seconds on the wire, and never earlier than asked for.
        quota.reset = int(-(-(time.time() + reset_in) // 1))

    def secondary_limit(
        self,
        retry_after: int | None = 1,
        times: int = 1,
        status: int = 403,
        method: str | None = None,
        path: str = ".*",
    ) -> None:
        """Answer the next `times` requests as the secondary limit does."""
        self._world.faults.add(secondary_limit(retry_after, times, status, method, path))


class _Server(ThreadingHTTPServer):
    """The socket side; remembers connections so that closing does not wait for idle clients."""

    daemon_threads = True
    service: Service

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember a connection."""
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection."""
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that are still open."""
        with self._open_lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    # The client was quicker.
                    continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay quiet about clients that hang up in the middle; anything else is a defect of the fake."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    # Headers and body leave together; apart, the client's delayed acknowledgement costs 40 ms a request.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        request = Request(self.command, parts.path, query, headers, raw, _parse(raw))
        self._send(self.server.service.handle(request))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - http.server's names

    def _send(self, outcome: Outcome) -> None:
        if outcome.drop:
            self.close_connection = True
            return
        body = outcome.reply.encoded()
        self.send_response(outcome.reply.status)
        for name, value in outcome.reply.headers.items():
            if name != "X-Fake-Committed":
                self.send_header(name, value)
        if outcome.reply.status != 204:
            self.send_header("Content-Type", outcome.reply.content_type)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if outcome.truncate is not None:
            self.close_connection = True
            body = body[: outcome.truncate]
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Nothing: `FakeGitHub.requests` is the log."""


def _parse(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError as problem:
        return problem
