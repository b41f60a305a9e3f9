"""The table of nouns, with a stand-in for spaCy."""

import gzip
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

from sampo_envs.webshop import data_folder, nouns


def parse(text: str) -> list[SimpleNamespace]:
    kinds = {"desk": "NOUN", "Lumo": "PROPN", "lamp": "NOUN"}
    return [SimpleNamespace(text=word, pos_=kinds.get(word, "X")) for word in text.split()]


def test_nouns_and_names_count_with_repeats() -> None:
    table = nouns.title_nouns({"B1": "Lumo desk lamp lamp for", "B2": "for"}, parse)
    assert table["B1"] == {"nouns": ["desk", "lamp", "lumo"], "len_with_repeats": 4}
    assert table["B2"] == {"nouns": [], "len_with_repeats": 0}


def test_the_command_writes_the_table(tmp_path: Path, monkeypatch, capsys) -> None:
    source = next(data_folder("made-up").glob("items_shuffle*"))
    shutil.copy(source, tmp_path / source.name)
    spacy = SimpleNamespace(load=lambda model: parse if model == "tiny" else 1 / 0)
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    assert nouns.main([str(tmp_path), "--model", "tiny"]) == 0
    table = json.loads(gzip.decompress((tmp_path / "title_nouns.json.gz").read_bytes()))
    assert len(table) == 300
    assert "300 titles" in capsys.readouterr().out


def test_without_spacy_it_says_so(tmp_path: Path, monkeypatch, capsys) -> None:
    source = next(data_folder("made-up").glob("items_shuffle*"))
    shutil.copy(source, tmp_path / source.name)
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert nouns.main([str(tmp_path)]) == 1
    assert "pip install spacy" in capsys.readouterr().err
