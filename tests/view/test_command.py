"""`sampo view` from the outside: what it says, what it writes, and how it fails."""

import base64
import gzip
import json
import os
import re
import subprocess
import sys

import pytest

from sampo.view.command import main


def view(*args):
    main([*map(str, args), "--open", "false"])


def data_of(page):
    (text,) = re.findall(r'<script type="application/json" id="data">"(.*)"</script>', page)
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_one_file_that_loads_nothing(small_run, tmp_path, capsys):
    target = tmp_path / "deep" / "page.html"
    view(small_run, "--output", target)
    page = target.read_text(encoding="utf-8")
    assert re.findall(r"<script(?! type=\"application/json\")([^>]*)>", page) == [' type="module"']
    assert not re.search(r"<(?:link|img|iframe)|\bsrc=|@import|url\(|fetch\(|XMLHttp", page)
    assert "default-src 'none'" in page
    out = capsys.readouterr()
    assert re.match(r"Wrote .*page\.html \(0\.\d MB\): 3 files of rollouts;", out.out)
    assert not out.err
    assert [path.name for path in target.parent.iterdir()] == ["page.html"]


def test_everything_is_in_it(small_run, tmp_path):
    view(small_run, "--output", tmp_path / "p.html")
    data = data_of((tmp_path / "p.html").read_text(encoding="utf-8"))
    assert data["curves"]["rollout/dropped_all_failed"] == [[1, 2, 3], [0.0, 1.0, 0.0]]
    assert data["curves"]["episodes/success_rate/odd"] == [[1, 2, 3], [0.5, 0.5, 0.5]]
    assert data["alarms"][0]["rule"] == "ref_kl_above"
    assert [file["step"] for file in data["files"]] == [1, 2, 3, 3]
    assert dict(map(tuple, data["phases"]))["rollout"] == 9.0
    titles = [chart["title"] for chart in data["charts"]]
    assert titles.count("Dropped groups") == 1


def test_the_newest_run_of_a_name(run, capsys):
    view(run.parent)
    assert (run / "view.html").is_file()
    assert capsys.readouterr().err.startswith("version_0 is the newest of the runs in ")


def test_what_is_broken_is_said_and_the_rest_shown(run, capsys):
    (events,) = run.glob("events*")
    events.unlink()
    with (run / "alarms.jsonl").open("a") as alarms:
        alarms.write('{"step": 3, "ru')
    (run / "config.yaml").write_text("model: [")
    path = run / "episodes" / "update_000001.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    view(run)
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == 4
    assert all(note.startswith("Note: ") for note in notes)
    page = (run / "view.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<li>", page)) == 4
    assert len(data_of(page)["files"]) == 3


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["/no/such/run"], 1, "There is no folder /no/such/run."),
        ([], 2, "the following arguments are required: RUN"),
        (["x", "--opne", "false"], 2, "unrecognized arguments: --opne"),
        (["x", "--open", "maybe"], 2, "invalid choice: 'maybe'"),
    ],
)
def test_mistakes_are_one_sentence(args, code, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(args)
    assert stopped.value.code == code
    err = capsys.readouterr().err
    assert err.startswith("sampo: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_place_that_cannot_be_written(small_run, capsys):
    with pytest.raises(SystemExit):
        view(small_run, "--output", small_run / "config.yaml" / "page.html")
    assert re.fullmatch(r"sampo: error: .*config.yaml: File exists\.\n", capsys.readouterr().err)


def test_it_opens_a_browser_only_where_there_is_a_screen(small_run, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    target = tmp_path / "p.html"
    main([str(small_run), "--output", str(target)])
    assert not opened
    monkeypatch.setenv("DISPLAY", ":0")
    main([str(small_run), "--output", str(target)])
    view(small_run, "--output", target)
    assert opened == [target.as_uri()]


def test_it_needs_neither_torch_nor_a_config(small_run, tmp_path):
    code = (
        "import sys; from sampo.__main__ import main\n"
        f"sys.argv = ['sampo', 'view', {str(small_run)!r}, '--output', 'p', '--open', 'false']\n"
        "main(); print(sorted({'torch', 'transformers', 'lightning'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_command_line_knows_it(small_run, tmp_path):
    from sampo.cli import main as sampo

    sampo(["view", str(small_run), "--output", str(tmp_path / "p.html"), "--open", "false"])
    assert (tmp_path / "p.html").is_file()
