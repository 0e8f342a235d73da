"""Each kind of plot is drawn, and refused where the run lacks what it needs."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from sqlalchemy import create_engine, text

from warploom.cli import main
from warploom.reports.queries.timelines import timeline_path
from warploom.testing.made_run import MadeRun

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    made = MadeRun(tmp_path / "run", paid=True)
    made.begin(24)
    return made


def drawn(path: Path) -> tuple[int, str]:
    """Return how many shapes an SVG has, and its words."""
    root = ET.parse(path).getroot()
    shapes = sum(1 for one in root.iter() if one.tag in {f"{_SVG}path", f"{_SVG}use"})
    return shapes, " ".join(one.text or "" for one in root.iter(f"{_SVG}text"))


@pytest.mark.parametrize(
    ("kind", "least", "told"),
    [
        ("improvement", 24, "best so far"),
        ("lineage", 24, "steps from the seed"),
        ("islands", 15, "island 2"),
        ("pareto", 15, "lines of code"),
        ("similarity", 10, "cosine similarity"),
        ("cost", 15, "US dollars"),
    ],
)
def test_a_kind_is_drawn(run: MadeRun, tmp_path: Path, kind: str, least: int, told: str) -> None:
    target = tmp_path / f"{kind}.svg"
    assert main(["plot", kind, str(run.folder), "-o", str(target)]) == 0
    shapes, words = drawn(target)
    assert shapes >= least
    assert told in words and "run" in words


def test_the_same_run_gives_the_same_picture(run: MadeRun, tmp_path: Path) -> None:
    one, two = tmp_path / "1.svg", tmp_path / "2.svg"
    for target in (one, two):
        assert main(["plot", "pareto", str(run.folder), "-o", str(target)]) == 0
    assert one.read_bytes() == two.read_bytes()


def test_a_picture_can_be_a_png(run: MadeRun, tmp_path: Path) -> None:
    target = tmp_path / "x.png"
    assert main(["plot", "improvement", str(run.folder), "-o", str(target)]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")


def test_a_kept_timeline_is_drawn(run: MadeRun, tmp_path: Path) -> None:
    place = timeline_path(run.folder, 1)
    place.parent.mkdir()
    place.write_text(
        '{"traceEvents": [{"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": '
        '{"name": "default stream"}}, {"ph": "X", "name": "work<<<", "cat": "kernel", "pid": 0, '
        '"tid": 1, "ts": 1.0, "dur": 5.0, "args": {"compute_us": 3.0, "communication_us": 1.0, '
        '"waiting_us": 1.0}}]}'
    )
    target = tmp_path / "t.svg"
    assert main(["plot", "timeline", str(run.folder), "-o", str(target)]) == 0
    assert "rank 0 default stream" in drawn(target)[1]


def test_a_roofline_needs_counts_and_draws_them(
    run: MadeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "roof.svg"
    assert main(["plot", "roofline", str(run.folder), "-o", str(target)]) == 2
    assert "flops" in capsys.readouterr().err and not target.exists()
    with create_engine(run.url).begin() as connection:
        public = '{"flops": 1e9, "bytes": 1e8, "time_ms": 1.0}'
        connection.execute(text("UPDATE programs SET public = :p WHERE correct"), {"p": public})
    assert main(["plot", "roofline", str(run.folder), "-o", str(target)]) == 0
    words = drawn(target)[1]
    assert "GB/s" in words and "roof: memory" in words
    assert "$" not in words and "10" in words.split(), "numbers are written out"


@pytest.mark.parametrize("kind", ["improvement", "lineage", "islands", "pareto", "similarity",
                                  "cost", "timeline", "roofline", "replay", "path"])  # fmt: skip
def test_an_empty_run_is_refused_clearly(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = MadeRun(tmp_path / "empty")
    made.begin(0)
    target = tmp_path / ("x.html" if kind == "path" else "x.svg")
    assert main(["plot", kind, str(made.folder), "-o", str(target)]) == 2
    assert str(made.folder) in capsys.readouterr().err
    assert not target.exists()


def test_a_run_that_cost_nothing_has_no_plot_of_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = MadeRun(tmp_path / "free")
    made.begin(5)
    assert main(["plot", "cost", str(made.folder), "-o", str(tmp_path / "x.svg")]) == 2
    assert "cost anything" in capsys.readouterr().err


def test_text_is_no_mathematics(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "a$x_$b<b>")
    made.begin(5)
    target = tmp_path / "x.svg"
    assert main(["plot", "improvement", str(made.folder), "-o", str(target)]) == 0
    assert "a$x_$b<b>" in drawn(target)[1]


def test_the_path_can_be_a_moving_picture(run: MadeRun, tmp_path: Path) -> None:
    from PIL import Image

    run.grow(25, 30)  # the best of many is no seed
    with create_engine(run.url).begin() as connection:
        connection.execute(text("DELETE FROM events"))
    target = tmp_path / "path.gif"
    assert main(["plot", "path", str(run.folder), "-o", str(target)]) == 0
    with Image.open(target) as moving:
        assert moving.n_frames >= 2 and moving.info["duration"] >= 1000
        moving.seek(1)
        colors = moving.convert("RGB").getcolors(100_000)
    shades = {color for _, color in colors or ()}
    assert {(221, 245, 229), (253, 230, 227)} <= shades, "lines that came and went are marked"


def test_a_film_needs_ffmpeg_and_says_so(
    run: MadeRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    target = tmp_path / "path.mp4"
    assert main(["plot", "path", str(run.folder), "-o", str(target)]) == 3
    assert "apt install ffmpeg" in capsys.readouterr().err and not target.exists()


def test_a_film_is_written_where_ffmpeg_is(run: MadeRun, tmp_path: Path) -> None:
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs ffmpeg (apt install ffmpeg)")
    target = tmp_path / "path.mp4"
    assert main(["plot", "path", str(run.folder), "-o", str(target)]) == 0
    assert target.read_bytes()[4:8] == b"ftyp"


def test_a_kept_replay_is_drawn(
    run: MadeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = keep_replay(run)
    target = tmp_path / "replay.svg"
    line = ["plot", "replay", str(run.folder), "-o", str(target)]
    assert main([*line, "--program", str(number)]) == 0
    assert "rank 1, work" in drawn(target)[1] and "at the other access" in drawn(target)[1]
    assert main([*line, "--program", str(number), "--finding", "9"]) == 2
    assert "has 1 findings" in capsys.readouterr().err
    assert main(["plot", "lineage", str(run.folder), "--finding", "1"]) == 2


def keep_replay(run: MadeRun) -> int:
    """Keep a replay of the first program with an error; returns its number."""
    with create_engine(run.url).begin() as connection:
        query = "SELECT number, failure FROM programs WHERE NOT correct"
        number, kind = connection.execute(text(query)).first() or (0, "")
    event = {"seq": 3, "rank": 0, "text": "put of 4 bytes", "kernel": "work", "line": 7}
    last = {"seq": 5, "rank": 1, "text": "reads", "kernel": "work", "block": [0, 0, 0], "line": 5}
    host = {"seq": 4, "rank": 1, "text": "launch of work", "kernel": None, "line": None}
    found = {"kind": kind, "line": 5, "other": {"line": 7}, "trace": [event, host, last]}
    place = run.folder / "replays" / f"{number}-3-lazy.json"
    place.parent.mkdir()
    place.write_text(json.dumps({"replay": "3:lazy", "findings": [found]}))
    return int(number)
