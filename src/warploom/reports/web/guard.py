"""Who gets an answer: this machine's own pages, or those who know the token. Nobody else's pages.

A page of somebody else, open in the same browser, can send requests here. It is refused by the
Host it names (a name that was made to point here), the Origin it comes from, and what the browser
says of the site that asks.
"""

import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from warploom.core.ids import digest

COOKIE = "warploom_token"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_OWN_SITES = frozenset(("same-origin", "none"))


def is_loopback(host: str) -> bool:
    """Return whether a name or address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """Refuses what is not asked by our own pages, and sets the headers that bind these.

    Without a `token` only names of this machine are answered, at `port`. With one, any name is,
    but each request must bring it: as `Authorization: Bearer`, or as the cookie that a visit to
    `/?token=...` sets.
    """

    def __init__(self, app: ASGIApp, token: str = "") -> None:
        self._app = app
        self._token = token
        # A browser sends the cookies of a host to each of its ports: two servers need two names.
        self._cookie = f"{COOKIE}_{digest((token,))[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._refusal(scope)
        await (answer or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to who gets no other; None for those who do."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._token and not _names_this_machine(host):
            return PlainTextResponse("this server answers to names of its own machine only", 421)
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return PlainTextResponse("requests of other sites get nothing", 403)
        site = headers.get("sec-fetch-site", "none")
        opened = headers.get("sec-fetch-mode") == "navigate" and scope["method"] == "GET"
        if site not in _OWN_SITES and not (opened and scope["path"] == "/"):
            return PlainTextResponse("requests of other sites get nothing", 403)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("there is nothing to write to", 405)
        return self._without_token(scope, headers) if self._token else None

    def _without_token(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        bearer = bearer if scheme.lower() == "bearer" else ""
        if _same(bearer, self._token) or _same(_cookie(headers, self._cookie), self._token):
            return None
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and _same(asked, self._token):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return answer
        return PlainTextResponse("open the address that `warploom visualize` printed: it holds "
                                 "the token that is needed here", 401)  # fmt: skip


def _names_this_machine(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)


def _cookie(headers: Mapping[str, str], name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _same(given: str, token: str) -> bool:
    return bool(given) and secrets.compare_digest(given.encode(), token.encode())
