"""The page on tool environments shows the code as it is, and a config that can be parsed."""

import re
from pathlib import Path

import yaml

from doc_pages import examples, text
from fit_parser import build_fit
from sampo_envs.sql_qa import SqlQaEnv, env

PAGE = "add-a-tool-environment"


def test_the_page_shows_the_code_as_it_is() -> None:
    source = Path(env.__file__).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text(PAGE), re.M | re.S)
    assert len(blocks) == 5
    for block in blocks:
        assert block in source, block


def test_the_config_of_the_page_builds(tmp_path: Path) -> None:
    content = examples(PAGE)["sql_qa.yaml"]
    (tmp_path / "sql_qa.yaml").write_text(content)
    assert yaml.safe_load(content)["data"]["sampling"]["stop"] == ["```\n"]
    built = build_fit("--config", "quickstart", "--config", str(tmp_path / "sql_qa.yaml"))
    assert isinstance(built.data.player.env, SqlQaEnv)
