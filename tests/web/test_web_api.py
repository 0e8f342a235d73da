"""The API and its guard, over real sockets."""

import json
import re
import socket
import threading
import time
from http.client import HTTPConnection, HTTPResponse
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from web_server import serving

from warploom.cli import main
from warploom.core.errors import MissingToolError
from warploom.reports.web import server
from warploom.reports.web.hub import Hub
from warploom.testing.made_run import MadeRun

TOKEN = "a-secret-of-many-letters"


def asked(
    address: str, path: str, method: str = "GET", **headers: str
) -> tuple[int, HTTPResponse, str]:
    place = urlsplit(address)
    connection = HTTPConnection(str(place.hostname), place.port, timeout=20)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=names)
    answer = connection.getresponse()
    body = answer.read().decode(errors="surrogateescape")
    connection.close()
    return answer.status, answer, body


def told(address: str, path: str) -> Any:
    status, _, body = asked(address, path)
    assert status == 200, body
    return json.loads(body)


@pytest.fixture
def key(address: str) -> str:
    return str(told(address, "/api/runs")[0]["key"])


def test_every_address_answers_and_is_documented(address: str, key: str) -> None:
    paths = told(address, "/openapi.json")["paths"]
    assert len(paths) > 15
    for path, methods in paths.items():
        assert set(methods) == {"get"}, path
        assert methods["get"]["description"]
        if path.endswith("/news"):
            continue
        if path.startswith("/api/staged"):
            continue
        filled = path.replace("{key}", key).replace("{number}", "4").replace("{at}", "1")
        status, _, body = asked(address, filled + ("?to=1" if path.endswith("/diff") else ""))
        assert status == 200, (path, body)


def test_what_addresses_refuse_is_documented_and_true(address: str, key: str) -> None:
    described = told(address, "/openapi.json")
    for path, methods in described["paths"].items():
        answers = methods["get"]["responses"]
        assert {"401", "403", "404", "421", "422", "500"} <= set(answers), path
        for status in ("404", "422", "500"):
            form = answers[status]["content"]["application/json"]["schema"]
            assert set(form["properties"]) == {"error", "hint"}, path
    for path, wanted in (("runs/x", 404), (f"runs/{key}/programs?limit=0", 422),
                         (f"runs/{key}/programs/999", 404), ("staged/x", 404),
                         (f"runs/{key}/programs/4/findings/7", 404),
                         (f"runs/{key}/programs?island=99999999999999999999", 422)):  # fmt: skip
        status, _, body = asked(address, f"/api/{path}")
        assert status == wanted and set(json.loads(body)) == {"error", "hint"}, path


def test_the_overview_has_the_champions_figures(address: str, key: str) -> None:
    page = told(address, f"/api/runs/{key}")
    assert page["info"]["state"] == "finished"
    assert page["overview"]["champion"] == 1
    assert page["overview"]["speedup"] == 3.0
    assert page["facts"]["topology"] == "h200-8"
    assert page["overview"]["rejections"] == 12  # 6 of 60 programs came after 2 that were known
    assert page["overview"]["scored"] == "the whole run"


def test_pages_are_whole_and_bounded(address: str, key: str) -> None:
    path = f"/api/runs/{key}/programs"
    numbers = []
    for offset in range(0, 60, 25):
        page = told(address, f"{path}?limit=25&offset={offset}&sort=score&descending=true")
        assert page["total"] == 60
        numbers += [row["number"] for row in page["rows"]]
    assert sorted(numbers) == list(range(1, 61))
    for wrong in ("limit=501", "limit=0", "offset=-1", "sort=code", "status=odd", "limit=x"):
        assert asked(address, f"{path}?{wrong}")[0] == 422
    assert asked(address, f"{path}?search={quote('x' * 301)}")[0] == 422


def test_what_is_not_there_is_said(address: str, key: str) -> None:
    assert asked(address, "/api/runs/nothing")[0] == 404
    status, _, body = asked(address, f"/api/runs/{key}/programs/999")
    assert status == 404 and "no program 999" in json.loads(body)["error"]
    assert asked(address, "/static/../server.py")[0] == 404
    assert asked(address, "/static/%2e%2e/server.py")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example",
                                  "localhost.evil.example", "10.0.0.1", "", "[::f"])  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/api/runs", "/static/main.js", "/openapi.json"])
def test_another_host_gets_nothing(address: str, host: str, path: str) -> None:
    status, _, body = asked(address, path, Host=host)
    assert status in (400, 421)
    assert "key" not in body and len(body) < 100


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
    ],
)
def test_another_origin_gets_nothing(address: str, headers: dict[str, str]) -> None:
    status, answer, body = asked(address, "/api/runs", **headers)
    assert status == 403 and "moe" not in body
    assert answer.headers["Access-Control-Allow-Origin"] is None


def test_names_of_this_machine_and_a_link_to_the_page_are_answered(address: str) -> None:
    port = urlsplit(address).port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert asked(address, "/api/runs", Host=host)[0] == 200
    linked = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert asked(address, "/", **linked)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_nothing_can_be_written(address: str, method: str) -> None:
    assert asked(address, "/api/runs", method)[0] == 405


def test_each_answer_forbids_what_pages_do_not_need(address: str) -> None:
    for path in ("/", "/api/runs", "/static/main.js", "/nothing"):
        headers = asked(address, path)[1].headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_a_token_is_asked_of_everybody(finished: MadeRun) -> None:
    with serving(finished.folder, TOKEN) as address:
        for path in ("/", "/api/runs", "/static/main.js", "/openapi.json"):
            assert asked(address, path)[0] == 401
        assert asked(address, "/?token=wrong-but-long-enough")[0] == 401
        assert asked(address, f"/api/runs?token={TOKEN}")[0] == 401
        assert asked(address, "/api/runs", Authorization=f"Bearer {TOKEN}x")[0] == 401
        assert asked(address, "/api/runs", Authorization=f"Bearer {TOKEN}")[0] == 200
        assert (
            asked(address, "/api/runs", Host="a.example", Authorization=f"Bearer {TOKEN}")[0] == 200
        )
        status, answer, _ = asked(address, f"/?token={TOKEN}")
        cookie = str(answer.headers["Set-Cookie"])
        assert status == 303 and answer.headers["Location"] == "/"
        assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
        assert asked(address, "/api/runs", Cookie=cookie.split(";")[0])[0] == 200
        crossed = {"Cookie": cookie.split(";")[0], "Origin": "http://evil.example"}
        assert asked(address, "/api/runs", **crossed)[0] == 403


def _news(address: str, key: str, wanted: int) -> list[dict[str, Any]]:
    place = urlsplit(address)
    connection = HTTPConnection(str(place.hostname), place.port, timeout=20)
    connection.request("GET", f"/api/runs/{key}/news")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    found: list[dict[str, Any]] = []
    while len(found) < wanted:
        line = answer.readline().decode()
        if line.startswith("data: "):
            found.append(json.loads(line.removeprefix("data: ")))
    answer.close()
    connection.close()
    return found


def test_news_come_while_a_run_goes_on(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "live")
    made.begin(3, finished=False)
    with serving(made.folder) as address:
        key = told(address, "/api/runs")[0]["key"]
        found: list[dict[str, Any]] = []
        reader = threading.Thread(target=lambda: found.extend(_news(address, key, 2)))
        reader.start()
        time.sleep(0.6)
        made.grow(4, 1)
        reader.join(timeout=15)
        assert [one["attempts"] for one in found] == [3, 4]
        assert told(address, f"/api/runs/{key}/graph?after=3")["number"] == [4]
        # who comes again is told the present at once
        assert _news(address, key, 1)[0]["attempts"] == 4


def test_the_list_tells_which_run_cannot_be_read(tmp_path: Path) -> None:
    MadeRun(tmp_path / "good").begin(2)
    bad = MadeRun(tmp_path / "bad", run="evolve-20260101-000000-bad000")
    bad.begin(1)
    (bad.folder / "programs.db").write_bytes(b"not a database" * 100)
    with serving(tmp_path) as address:
        runs = {one["title"]: one for one in told(address, "/api/runs")}
        assert runs["bad"]["state"] == "unreadable" and runs["bad"]["error"]
        assert runs["good"]["attempts"] == 2
        status, _, body = asked(address, f"/api/runs/{runs['bad']['key']}/graph")
        assert status == 500 and "no warploom database" in json.loads(body)["error"]


def test_a_huge_source_is_cut_and_can_be_had_whole(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "huge", text="x" * 600_000)
    made.begin(1)
    with serving(made.folder) as address:
        key = told(address, "/api/runs")[0]["key"]
        detail = told(address, f"/api/runs/{key}/programs/1")
        assert len(detail["code"]) == 400_000 < detail["code_length"]
        _, answer, body = asked(address, f"/api/runs/{key}/programs/1/code")
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert len(body) == detail["code_length"]


def test_a_port_in_use_is_said(finished: MadeRun, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["visualize", str(finished.folder), "--port", str(port)]) == 2
        assert f"127.0.0.1:{port}: Address already in use" in capsys.readouterr().err


def test_an_address_that_is_not_ours_is_said(
    finished: MadeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["visualize", str(finished.folder), "--host", "192.0.2.1", "--token", TOKEN]
    assert main(line) == 2
    assert "cannot listen at 192.0.2.1: " in capsys.readouterr().err


def test_without_a_port_another_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(server, "DEFAULT_PORT", taken.getsockname()[1])
        with server.listening("127.0.0.1", None) as found:
            assert found.getsockname()[1] != taken.getsockname()[1]


def test_missing_pages_are_said(
    finished: MadeRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(server, "files", lambda _: tmp_path)
    hub = Hub(finished.folder, None)
    with pytest.raises(MissingToolError, match="not installed"):
        server.app_for(hub)
    hub.close()


def test_pages_never_parse_html_or_run_text() -> None:
    static = Path(str(files("warploom.reports.web").joinpath("static")))
    scripts = list(static.rglob("*.js"))
    assert len(scripts) > 15
    forbidden = (r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|"
                 r"srcdoc|DOMParser|javascript:")  # fmt: skip
    for path in [*scripts, static / "index.html"]:
        text = path.read_text()
        assert not re.search(forbidden, text), path
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), path
    page = (static / "index.html").read_text()
    assert "<style" not in page and not re.search(r"<script(?![^>]*src=)", page)
    assert not re.search(r"\son\w+=|\sstyle=", page)


@pytest.mark.parametrize(
    "path",
    ["/programs?island=99999999999999999999", "/programs/9223372036854775808",
     "/programs?offset=99999999999999999999999"],
)  # fmt: skip
def test_numbers_that_no_database_holds_are_refused(address: str, key: str, path: str) -> None:
    status, answer, body = asked(address, f"/api/runs/{key}{path}")
    assert status in (404, 422)
    assert json.loads(body)
    assert answer.getheader("X-Content-Type-Options") == "nosniff"


def test_two_servers_of_one_machine_know_their_tokens_apart(finished: MadeRun) -> None:
    other = "another-secret-of-many-letters"
    with serving(finished.folder, TOKEN) as one, serving(finished.folder, other) as two:
        cookies = [
            asked(address, f"/?token={token}")[1].getheader("Set-Cookie", "").partition(";")[0]
            for address, token in ((one, TOKEN), (two, other))
        ]
        both = "; ".join(cookies)
        assert len({cookie.partition("=")[0] for cookie in cookies}) == 2
        assert asked(one, "/", Cookie=both)[0] == asked(two, "/", Cookie=both)[0] == 200
        assert asked(one, "/", Authorization=f"bearer {TOKEN}")[0] == 200
        assert asked(one, "/", Authorization=f"Basic {TOKEN}")[0] == 401
