"""Where data are looked for."""

from pathlib import Path

import pytest

from sampo.errors import MissingDataError
from sampo_envs.webshop.data import data_folder, fetched_folder


def test_the_variable_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("SAMPO_WEBSHOP_DATA", raising=False)
    assert fetched_folder() == tmp_path / "share" / "sampo" / "webshop"
    with pytest.raises(MissingDataError, match=r"data='fetched'.*webshop\.fetch"):
        data_folder("fetched")
    monkeypatch.setenv("SAMPO_WEBSHOP_DATA", str(tmp_path))
    assert data_folder("fetched") == tmp_path


def test_the_made_up_catalogue_is_in_the_package() -> None:
    names = sorted(path.name for path in data_folder("made-up").iterdir())
    assert names == [
        "items_ins_v2_made_up.json.gz",
        "items_shuffle_made_up.json.gz",
        "title_nouns_made_up.json.gz",
    ]


def test_a_path_is_itself(tmp_path: Path) -> None:
    assert data_folder(str(tmp_path)) == tmp_path
