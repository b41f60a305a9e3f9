"""Runs as processes: done once, gone on with, told of when they fail, ended when stopped."""

import signal
import sys
import threading
import time

import pytest

from sampo.arena import runner as module
from sampo.arena.runner import Runner, last_words
from sampo.errors import ConfigError


@pytest.fixture
def script(monkeypatch):
    """Return a function that puts a few lines of Python in place of `sampo fit`."""

    def put(code: str) -> None:
        def command(grid, run, folder):
            return [sys.executable, "-c", code, str(folder), run.method.name, str(run.seed)]

        monkeypatch.setattr(module, "fit_command", command)

    return put


NOTE = "import sys, pathlib; open(pathlib.Path(sys.argv[1]) / 'count', 'a').write('x')\n"


def counts(folder):
    return {
        str(file.parent.relative_to(folder)): len(file.read_text())
        for file in folder.rglob("count")
    }


def test_everything_is_run_once(write, script, tmp_path):
    script(NOTE)
    grid = write(test=False)
    seen = []
    first = Runner(grid=grid, folder=tmp_path / "arena", jobs=2)
    first.changed = lambda progress: seen.append(dict(progress.states))
    assert set(first.run().states.values()) == {"done"}
    assert any("running" in states.values() for states in seen)
    again = Runner(grid=grid, folder=tmp_path / "arena")
    assert set(again.progress.states.values()) == {"done"}
    again.run()
    assert set(counts(tmp_path / "arena").values()) == {1}
    assert len(counts(tmp_path / "arena")) == 4


def test_a_failed_run_ends_no_other_and_is_tried_again(write, script, tmp_path):
    luck = tmp_path / "luck"
    condition = f"sys.argv[2:] == ['grpo', '1'] and not pathlib.Path({str(luck)!r}).exists()"
    script(f"{NOTE}if {condition}: sys.exit('sampo: error: no luck.')")
    grid = write(test=False)
    progress = Runner(grid=grid, folder=tmp_path / "arena").run()
    assert progress.errors == {"sokoban/grpo/seed_1": "sampo: error: no luck."}
    assert sorted(progress.states.values()) == ["done", "done", "done", "failed"]
    luck.touch()
    progress = Runner(grid=grid, folder=tmp_path / "arena").run()
    assert set(progress.states.values()) == {"done"}
    assert counts(tmp_path / "arena")["sokoban/grpo/seed_1"] == 2


def test_other_settings_in_the_same_folder_are_refused(write, script, tmp_path):
    script("")
    grid, folder = write(test=False), tmp_path / "arena" / "sokoban" / "grpo" / "seed_0"
    folder.mkdir(parents=True)
    (folder / "command.json").write_text('["other"]')
    (folder / "done.json").write_text("{}")
    with pytest.raises(ConfigError, match="begun with other settings"):
        Runner(grid=grid, folder=tmp_path / "arena").run()


def test_stopping_ends_the_processes(write, script, tmp_path):
    script(NOTE + "import time; time.sleep(60)")
    arena = Runner(grid=write(test=False), folder=tmp_path / "arena", jobs=2)
    codes = []
    execute = arena.launcher.execute
    arena.launcher.execute = lambda *args: codes.append(execute(*args)) or codes[-1]

    def interrupt():
        while len(counts(tmp_path / "arena")) < 2:
            time.sleep(0.02)
        arena._stop()

    thread = threading.Thread(target=interrupt)
    started = time.monotonic()
    thread.start()
    arena.run()
    thread.join()
    assert time.monotonic() - started < 30
    assert "done" not in arena.progress.states.values()
    assert codes == [-signal.SIGTERM] * 2
    assert len(counts(tmp_path / "arena")) == 2


def test_jobs_must_be_some(write, tmp_path):
    with pytest.raises(ConfigError, match="--jobs must be at least 1"):
        Runner(grid=write(), folder=tmp_path, jobs=0)


def test_last_words(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"a\n12%\r50%\n\n")
    assert last_words(log) == "50%"
    log.write_bytes(b"sampo: error: no.\nbye\n")
    assert last_words(log) == "sampo: error: no."
    log.write_bytes(b"")
    assert last_words(log) == "it said nothing"
