"""The HTTP side: reads requests, writes answers, and breaks connections where a script says so."""

from __future__ import annotations

import json
import select
import socket
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Protocol, assert_never
from urllib.parse import urlsplit

from tests.fakes.messages.log import RefusedError, Request
from tests.fakes.messages.replies import DEFAULT_MESSAGES, STATUS_OF_TYPE, Drop, HttpError
from tests.fakes.messages.vertex import translate
from tests.fakes.messages.wire import PING, Envelope, Event, error_event

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from threading import Event as Signal

    from tests.fakes.messages.replies import Reply


@dataclass(frozen=True, slots=True)
class Page:
    """A plain JSON answer."""

    data: Mapping[str, Any]
    status: int = 200


@dataclass(frozen=True, slots=True)
class Stream:
    """A message that the caller wants as events."""

    envelope: Envelope


Outcome = Page | Stream | Envelope | HttpError | Drop


class Service(Protocol):
    """What stands behind the HTTP side."""

    stopping: Signal
    max_body: int

    def record(self, request: Request) -> str:
        """Log a request and give it its id."""

    def answer(self, request: Request) -> Outcome:
        """Decide; raises `RefusedError`."""

    def abandoned(self, request: Request) -> None:
        """Take note that the caller left before the answer was complete."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A request in progress."""

    request: Request
    id: str
    headers: Mapping[str, str] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    service: Service

    def do_GET(self) -> None:
        """Serve a GET."""
        self._serve()

    def do_POST(self) -> None:
        """Serve a POST."""
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Stay silent: the request log is for tests to read."""

    def _serve(self) -> None:
        request, problem = self._read()
        call = _Call(request, self.service.record(request))
        try:
            if problem is not None:
                raise problem
            outcome = self.service.answer(request)
        except RefusedError as refused:
            outcome = HttpError(refused.status, refused.kind, refused.message)
        try:
            self._write(call, outcome)
        except ConnectionError:
            self.service.abandoned(request)
            raise

    def _read(self) -> tuple[Request, RefusedError | None]:
        chunked = self.headers.get("transfer-encoding") == "chunked"
        raw = b"".join(self._chunks()) if chunked else self.rfile.read(int(self.headers.get("content-length", 0)))
        if len(raw) > self.service.max_body:
            return self._request(b""), RefusedError(413, "request_too_large", DEFAULT_MESSAGES["request_too_large"])
        return self._request(raw), None

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _request(self, raw: bytes) -> Request:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        return translate(
            Request(self.command, parts.path, parts.query, headers, raw, _parse(raw), time.time(), parts.path)
        )

    def _write(self, call: _Call, outcome: Outcome) -> None:
        match outcome:
            case Page(data, status):
                self._send_json(call, status, data, {})
            case HttpError():
                self._send_error(call, outcome)
            case Drop():
                self._hang_up()
            case Stream(envelope):
                self._send_stream(call, envelope)
            case Envelope():
                self._send_message(call, outcome)
            case _:
                assert_never(outcome)

    def _send_json(self, call: _Call, status: int, data: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self._send_text(call, status, json.dumps(data), {"content-type": "application/json", **headers})

    def _send_text(self, call: _Call, status: int, text: str, headers: Mapping[str, str]) -> None:
        payload = text.encode()
        self._send_head(call, status, {**headers, "content-length": str(len(payload))})
        self.wfile.write(payload)

    def _send_head(self, call: _Call, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"request-id": call.id, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_error(self, call: _Call, error: HttpError) -> None:
        if error.body is not None:
            self._send_text(call, error.status, error.body, {"content-type": error.content_type, **error.headers})
            return
        message = error.message or DEFAULT_MESSAGES.get(error.type, error.type)
        detail = {"type": error.type, "message": message}
        self._send_json(call, error.status, {"type": "error", "error": detail, "request_id": call.id}, error.headers)

    def _send_message(self, call: _Call, envelope: Envelope) -> None:
        """A whole message; the faults of a stream become the nearest thing that can befall it."""
        reply = envelope.reply
        self._pause(reply.pause)
        if reply.error_after is not None:
            kind, message = reply.error
            self._send_error(call, HttpError(STATUS_OF_TYPE.get(kind, 500), kind, message))
            return
        payload = json.dumps(envelope.message()).encode()
        headers = {"content-type": "application/json", "content-length": str(len(payload)), **reply.headers}
        self._send_head(call, 200, headers)
        if reply.stall_after is not None:
            self._stall(call.request)
        elif reply.cut_after is not None:
            self.wfile.write(payload[: len(payload) // 2])
            self._hang_up()
        else:
            self.wfile.write(payload)

    def _send_stream(self, call: _Call, envelope: Envelope) -> None:
        reply = envelope.reply
        headers = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        self._send_head(call, 200, {**headers, "transfer-encoding": "chunked", **reply.headers})
        sent = 0
        for event in envelope.events():
            if event.name != PING:
                if self._fault(call, reply, sent):
                    return
                if event.name == "content_block_start" and event.data["index"]:
                    self._pause(reply.block_pause)
                sent += 1
            self._send_event(event, reply.write)
            self._pause(reply.pause)
        if not self._fault(call, reply, sent):
            self.wfile.write(b"0\r\n\r\n")

    def _fault(self, call: _Call, reply: Reply, sent: int) -> bool:
        """Do what the script wants after this many events; True when the stream is over."""
        if reply.cut_after is not None and sent >= reply.cut_after:
            self._hang_up()
            return True
        if reply.stall_after is not None and sent >= reply.stall_after:
            self._stall(call.request, reply.stall_ping)
            return True
        if reply.error_after is not None and sent >= reply.error_after:
            self._send_event(error_event(*reply.error), reply.write)
            self.wfile.write(b"0\r\n\r\n")
            return True
        return False

    def _send_event(self, event: Event, size: int | None) -> None:
        data = event.encode()
        step = size or len(data)
        for start in range(0, len(data), step):
            piece = data[start : start + step]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def _pause(self, seconds: float) -> None:
        if seconds and self.service.stopping.wait(seconds):
            raise ConnectionAbortedError("the server stops")

    def _stall(self, request: Request, ping: float = 0.0) -> None:
        """Send nothing more, or only pings, until the caller goes or the server stops."""
        self.close_connection = True
        while not self.service.stopping.wait(ping or 0.02):
            if ping:
                self._send_event(Event(PING, {"type": PING}), None)
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                self.service.abandoned(request)
                return

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _parse(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None
