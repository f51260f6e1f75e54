"""The fake Messages API: what a test holds in its hands."""

from __future__ import annotations

import socket
import sys
import threading
import traceback
from collections import deque
from dataclasses import replace
from http.server import ThreadingHTTPServer
from itertools import count as numbers
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote

from tests.fakes.messages.auth import Auth, TokenRefusal, exchange_google
from tests.fakes.messages.cache import PromptCache
from tests.fakes.messages.catalogue import (
    KNOWN,
    Abilities,
    check_abilities,
    check_known,
    get_model,
    list_models,
)
from tests.fakes.messages.diagnose import Diagnoses
from tests.fakes.messages.handler import Handler, Page, Stream
from tests.fakes.messages.issued import Issued
from tests.fakes.messages.log import RefusedError, invalid
from tests.fakes.messages.prompt import count, parts_of
from tests.fakes.messages.replies import HttpError, Reply, prompt_too_long
from tests.fakes.messages.validate import check_count, check_create
from tests.fakes.messages.wire import Envelope, content_of, usage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from tests.fakes.messages.auth import TokenGrant
    from tests.fakes.messages.cache import PrefixChange
    from tests.fakes.messages.handler import Outcome
    from tests.fakes.messages.log import Request
    from tests.fakes.messages.replies import Answer

MEBIBYTE = 1024 * 1024
STOP_SECONDS = 5.0


class FakeMessages:
    """A Messages API on loopback that plays a script and refuses what the real one refuses.

    Leaving the `with` block fails the test when a request broke the API's rules (unless `allow_invalid`),
    when a request found no scripted reply, or when a `respond` function raised.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        models: Sequence[str] | None = None,
        context_window: int | None = None,
        cache_minimum: int = 0,
        max_body: int = 32 * MEBIBYTE,
        abilities: Abilities | None = None,
        describes_models: bool = True,
        knows_diagnostics: bool = True,
        allow_invalid: bool = False,
    ) -> None:
        self.requests: list[Request] = []
        self.refusals: list[RefusedError] = []
        self.left: list[Request] = []
        self.stopping = threading.Event()
        self.max_body = max_body
        self._models = models
        self._context_window = context_window
        known = abilities or Abilities()
        self._abilities = replace(known, max_input_tokens=context_window) if context_window else known
        self._describes_models = describes_models
        self._knows_diagnostics = knows_diagnostics
        self._diagnoses = Diagnoses()
        self._allow_invalid = allow_invalid
        self._auth = Auth(api_key)
        self._cache = PromptCache(cache_minimum)
        self._issued = Issued()
        self._script: deque[Answer] = deque()
        self._responder: Callable[[Request], Answer] | None = None
        self._mistakes: list[str] = []
        self._serial = numbers(1)
        self._lock = threading.Lock()
        self._http = _Server(self)

    @property
    def url(self) -> str:
        """The base URL for the SDK."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the calls of the model, in order."""
        return [request.body for request in self.requests if request.creates_message]

    @property
    def pending(self) -> int:
        """How many scripted replies nobody has asked for yet."""
        return len(self._script)

    @property
    def prefix_changes(self) -> list[PrefixChange]:
        """The calls whose prompt did not continue an earlier one byte for byte."""
        return list(self._cache.changes)

    def queue(self, *answers: Answer) -> None:
        """Script the next answers."""
        with self._lock:
            self._script.extend(answers)

    def respond(self, responder: Callable[[Request], Answer]) -> None:
        """Answer with this function whenever the queue is empty."""
        self._responder = responder

    def queue_tokens(self, *answers: TokenGrant | TokenRefusal) -> None:
        """Script the next token exchanges; without a script they succeed."""
        self._auth.queue(*answers)

    def refuse_tokens(self, refusal: TokenRefusal | None = None) -> None:
        """Refuse every token exchange from now on; the SDK tries again once after a 401."""
        self._auth.usual = refusal or TokenRefusal()

    def revoke_tokens(self) -> None:
        """Make the minted access tokens worthless."""
        self._auth.revoke()

    def forget_cache(self) -> None:
        """Let the prompt cache expire."""
        self._cache.forget()

    def remember(self, reply: Reply, model: str) -> None:
        """Treat a message from elsewhere, a stored transcript say, as one of this server's own."""
        self._issued.remember(model, [content_of(block, self._new_id) for block in reply.content])

    def stop(self) -> None:
        """Go away at once, in the middle of whatever is under way."""
        self.stopping.set()
        self._http.stop()

    def __enter__(self) -> Self:
        self._http.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        mistakes = [*self._mistakes, *(str(refused) for refused in self.refusals if not self._allow_invalid)]
        # A test that fails already says why; its error must not be hidden.
        if mistakes and error is None:
            raise AssertionError("the fake Messages API saw mistakes:\n" + "\n".join(mistakes))

    def record(self, request: Request) -> str:
        """Log a request and give it its id."""
        with self._lock:
            self.requests.append(request)
        return self._new_id("req")

    def abandoned(self, request: Request) -> None:
        """Take note that the caller left before the answer was complete."""
        with self._lock:
            self.left.append(request)

    def mistake(self, text: str) -> None:
        """Take note of what must fail the test."""
        with self._lock:
            self._mistakes.append(text)

    def answer(self, request: Request) -> Outcome:
        """Decide what to answer."""
        if (request.method, request.path) == ("POST", "/v1/oauth/token"):
            return self._exchange(request)
        if (request.method, request.path) == ("POST", "/sts/v1/token"):
            return Page(exchange_google(request))
        self._auth.check(request)
        self._guard(lambda: _check_json(request))
        match request.method, request.path.removeprefix("/v1/").split("/"):
            case "POST", ["messages"]:
                return self._create(request)
            case "POST", ["messages", "count_tokens"]:
                self._guard(lambda: check_count(request.body))
                return Page({"input_tokens": count(request.body)})
            case "GET", ["models"] if self._describes_models:
                return Page(list_models(self._known_models, self._abilities))
            case "GET", ["models", name] if self._describes_models:
                return Page(get_model(self._known_models, unquote(name), self._abilities))
        raise RefusedError(404, "not_found_error", f"Not found: {request.method} {request.path}")

    @property
    def _known_models(self) -> Sequence[str]:
        return KNOWN if self._models is None else self._models

    def _exchange(self, request: Request) -> Page:
        granted = self._auth.exchange(request)
        if isinstance(granted, TokenRefusal):
            return Page({"error": granted.error, "error_description": granted.description}, granted.status)
        return Page(granted)

    def _create(self, request: Request) -> Outcome:
        body = request.body
        if not self._knows_diagnostics and isinstance(body, dict) and "diagnostics" in body:
            # A proxy's own rule, not the API's: the caller is meant to cope.
            raise invalid("diagnostics: Extra inputs are not permitted")
        self._guard(lambda: check_create(body))
        if self._models is not None:
            check_known(self._models, body["model"])
        self._guard(lambda: check_abilities(body, self._abilities))
        self._guard(lambda: self._issued.check(body))
        tokens = count(body)
        if self._context_window is not None and tokens > self._context_window:
            return prompt_too_long(tokens, self._context_window)
        answer = self._next(request)
        if not isinstance(answer, Reply):
            return answer
        envelope = self._envelope(answer, body)
        return Stream(envelope) if body.get("stream") else envelope

    def _guard(self, check: Callable[[], None]) -> None:
        """Run a check and keep its refusal for the end of the test."""
        try:
            check()
        except RefusedError as refused:
            with self._lock:
                self.refusals.append(refused)
            raise

    def _next(self, request: Request) -> Answer:
        with self._lock:
            if self._script:
                return self._script.popleft()
            responder = self._responder
        if responder is not None:
            return responder(request)
        calls = len(self.bodies)
        text = f"no reply is scripted for call {calls} of the model: queue() one more, or set respond()"
        self.mistake(text)
        return HttpError(500, "api_error", f"fake Messages API: {text}", headers={"x-should-retry": "false"})

    def _envelope(self, reply: Reply, body: dict[str, Any]) -> Envelope:
        blocks = tuple(content_of(block, self._new_id) for block in reply.content)
        self._issued.remember(body["model"], blocks)
        message_id, parts = self._new_id("msg"), parts_of(body)
        with self._lock:
            charged = self._cache.bill(parts)
            diagnostics = self._diagnoses.compare(body, message_id, parts)
        return Envelope(message_id, body["model"], reply, blocks, usage_of(reply, blocks, charged), diagnostics)

    def _new_id(self, prefix: str) -> str:
        return f"{prefix}_fake{next(self._serial):06d}"


def _check_json(request: Request) -> None:
    if request.raw and request.body is None:
        raise invalid("The request body is not valid JSON")


class _Server(ThreadingHTTPServer):
    """A server that can end its own connections."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, service: FakeMessages) -> None:
        super().__init__(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"service": service}))
        self._service = service
        self._open: set[socket.socket] = set()
        self._idle = threading.Condition()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), name="fake-messages", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving, end every connection and wait for its thread."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        with self._idle:
            for connection in self._open:
                _end(connection)
            if not self._idle.wait_for(lambda: not self._open, STOP_SECONDS):
                raise RuntimeError("a connection of the fake Messages API did not end")

    def process_request(self, request: Any, client_address: Any) -> None:
        """Keep the connection in sight, then serve it in a thread of its own."""
        with self._idle:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection and let `stop` know."""
        super().shutdown_request(request)
        with self._idle:
            self._open.discard(request)
            self._idle.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that goes is no error; anything else must fail the test."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            self._service.mistake(traceback.format_exc())


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # The other side was quicker; the thread closes what is left.
        return
