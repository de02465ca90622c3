"""Who may ask: Host, Origin and token are checked before any route, and every answer carries the safety headers."""

from __future__ import annotations

import hmac
import http.cookies
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepscope.errors import UsageError
from stepscope.facts.server import server_facts
from stepscope.server.replies import error_reply
from stepscope.server.settings import Settings

_TOKEN: Final = "token"


class Guard:
    """The outermost layer of the server."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._headers: dict[str, str] = server_facts().headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        scope = self._without_base_path(scope)
        refused = self._refusal(scope)
        answer = self._app if refused is None else refused
        await answer(scope, receive, send_with_headers)

    def _without_base_path(self, scope: Scope) -> Scope:
        """Some proxies pass the prefix on, some cut it off; both are understood."""
        base, path = self._settings.base_path, str(scope["path"])
        if base and (path == base or path.startswith(f"{base}/")):
            rest = path[len(base) :]
            return {**scope, "path": rest or "", "raw_path": rest.encode(), "root_path": ""}
        return scope

    def _refusal(self, scope: Scope) -> Response | None:
        request, headers = Request(scope), Headers(scope=scope)
        if scope["path"] == "":
            return RedirectResponse(f"{self._settings.base_path}/")  # relative addresses need the slash
        host = headers.get("host", "")
        if not self._settings.answers_for(host):
            return error_reply(UsageError("foreign_host", host=host), request)
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, host):
            return error_reply(UsageError("foreign_origin", origin=origin), request)
        if self._settings.token is None or self._shows_token(headers):
            return None
        return self._let_in(scope) or error_reply(UsageError("token_needed"), request)

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            address = urlsplit(origin).netloc
        except ValueError:
            return False
        return bool(address) and (address == host or address in self._settings.allowed_hosts)

    def _shows_token(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return True
        cookies: http.cookies.SimpleCookie = http.cookies.SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except http.cookies.CookieError:
            return False
        held = cookies.get(self._settings.cookie)
        return held is not None and self._is_token(held.value)

    def _let_in(self, scope: Scope) -> Response | None:
        """The address that was printed carries the token; it moves to a cookie, out of the history of the browser."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == _TOKEN]
        if scope["method"] not in ("GET", "HEAD") or not given or not self._is_token(given[0]):
            return None
        rest = urlencode([pair for pair in query if pair[0] != _TOKEN])
        target = f"{self._settings.base_path}/{str(scope['path']).lstrip('/')}"
        answer = RedirectResponse(f"{target}?{rest}" if rest else target, status_code=303)
        path = f"{self._settings.base_path}/"
        answer.set_cookie(self._settings.cookie, given[0], path=path, httponly=True, samesite="strict")
        return answer

    def _is_token(self, given: str) -> bool:
        expected = self._settings.token or ""
        return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
