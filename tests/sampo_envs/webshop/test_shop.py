"""Prepared folders: made once, found again, made anew when the data change."""

import os
import shutil
from pathlib import Path

import pytest

from sampo.errors import MissingDataError
from sampo_envs.webshop import Shop, data_folder, open_shop


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache, with nothing opened in this process."""
    open_shop.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield tmp_path / "cache" / "sampo" / "webshop"
    open_shop.cache_clear()


def test_preparing_happens_once(fresh: Path) -> None:
    data = data_folder("made-up")
    open_shop(data, "synthetic", 42)
    (folder,) = fresh.iterdir()
    before = folder.stat().st_mtime_ns
    open_shop.cache_clear()
    open_shop(data, "synthetic", 42)
    assert [path.stat().st_mtime_ns for path in fresh.iterdir()] == [before]
    open_shop(data, "synthetic", 7)
    assert len(list(fresh.iterdir())) == 2


def test_changed_data_are_prepared_again(fresh: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(data_folder("made-up"), data)
    open_shop(data, "synthetic", 42)
    open_shop.cache_clear()
    path = next(data.glob("items_shuffle*"))
    os.utime(path, ns=(0, 0))
    open_shop(data, "synthetic", 42)
    assert len(list(fresh.iterdir())) == 2


def test_what_fails_leaves_nothing(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingDataError):
        open_shop(tmp_path / "empty", "synthetic", 42)
    assert list(fresh.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_reported(fresh: Path) -> None:
    fresh.parent.parent.mkdir()
    fresh.parent.write_text("a file where the folder should be")
    with pytest.raises(MissingDataError, match="XDG_CACHE_HOME"):
        open_shop(data_folder("made-up"), "synthetic", 42)


def test_products_by_asin(shop: Shop) -> None:
    item = shop.goal(0).product
    assert shop.product(item.asin) == item
    assert shop.price(item.asin) > 0
    with pytest.raises(KeyError):
        shop.product("B0")


def test_special_searches_list_by_query_and_category(shop: Shop) -> None:
    item = shop.goal(0).product
    found = shop.search(f"<q> {item.query}")
    assert len(found) == 30
    assert all(shop.product(asin).query == item.query for asin in found)
    assert item.asin in shop.search(f"<c> {item.category} ignored")
    assert len(shop.search(f"<c> {item.category}")) == 60
    assert list(shop.search("<q> no such query")) == []
    assert list(shop.search("<c>")) == []
