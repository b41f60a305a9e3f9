"""The page as a person uses it, in a real browser."""

from dataclasses import replace

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from sampo.data.episode_log import write_episodes
from sampo.view.command import main

from .browser import BROWSER, DRIVER, WHY_NOT, open_browser
from .conftest import make_run, record

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None or DRIVER is None, reason=WHY_NOT),
]


@pytest.fixture(scope="module")
def browser():
    driver = open_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(small_run, tmp_path_factory):
    target = tmp_path_factory.mktemp("page") / "view.html"
    main([str(small_run), "--output", str(target), "--open", "false"])
    return target.as_uri()


class Page:
    """A page that has been opened."""

    def __init__(self, driver, address):
        self.driver = driver
        driver.get("about:blank")  # a change of the fragment alone would load nothing
        driver.get(address)
        self.until(lambda: driver.execute_script("return document.documentElement.dataset.ready"))

    def until(self, condition):
        WebDriverWait(self.driver, 20, poll_frequency=0.05).until(lambda _: condition())

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def press(self, *keys):
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    @property
    def focus(self):
        return self.driver.switch_to.active_element

    def choose(self, name, value):
        Select(self.one(f"#filters [name={name}]")).select_by_value(value)

    @property
    def cells(self):
        return [cell.get_attribute("aria-label") for cell in self.all("td.turn")]


@pytest.fixture
def episodes(browser, address):
    page = Page(browser, f"{address}#tab=episodes&update=2")
    yield page
    assert browser.get_log("browser") == []


@pytest.fixture
def curves(browser, address):
    page = Page(browser, address)
    yield page
    assert browser.get_log("browser") == []


def test_two_hundred_updates_open_within_two_seconds(browser, tmp_path):
    run = make_run(tmp_path / "long" / "version_0", updates=200)
    main([str(run), "--open", "false"])
    target = run / "view.html"
    assert target.stat().st_size < 20e6
    opened = []
    for _ in range(3):  # the machine may be busy with something else
        page = Page(browser, f"{target.as_uri()}#tab=episodes&update=200")
        ready = "return Number(document.documentElement.dataset.ready)"
        opened.append(browser.execute_script(ready))
    assert min(opened) < 2000
    assert len(page.all(".group")) == 3
    loaded = "return performance.getEntriesByType('resource').length"
    assert browser.execute_script(loaded) == 0
    assert browser.get_log("browser") == []


def test_an_episode_opens(episodes):
    assert (
        "12 episodes, 4 solved · 8 trained on · left out: all failed 4"
        in episodes.one("#timeline").text
    )
    assert [g.text.splitlines()[0] for g in episodes.all(".group")] == [
        "group 0 · train/0",
        "group 1 · train/1",
        "group 2 · train/2",
    ]
    episodes.all(".group")[1].click()
    episodes.all("#members thead th")[2].click()
    assert "Episode 3" in episodes.one("#episode h3").text
    assert "failure · max turns · reward −0.3" in episodes.one("#episode .head").text
    assert len(episodes.all(".turn-block")) == 3
    assert "update=2&group=1&member=2" in episodes.driver.current_url


def test_members_stand_side_by_side(episodes):
    first, *_ = episodes.cells
    assert first == "episode 1, turn 1: left, advantage +1.5, reward −0.1, state a of 4 turns"
    assert len(episodes.cells) == 12
    (wrong,) = [label for label in episodes.cells if "wrong format" in label]
    assert wrong.startswith("episode 4, turn 2: no action")
    assert len(episodes.all("td.turn.same")) == 4  # the first turns began in the same state


def test_hovering_a_token_shows_its_numbers(episodes):
    tokens = episodes.all("#turn-0 .tok.own")
    assert [token.text for token in tokens] == ["<act>", "left", "</act>"]
    ActionChains(episodes.driver).move_to_element(tokens[1]).perform()
    tip = episodes.one("#tip").text
    for line in (
        "token\n5, number 2 of 3",
        "mask\n1: written by the policy",
        "log-prob sampled\n−0.25 (probability 0.779)",  # exp(-0.25) = 0.7788
        "log-prob recomputed\n−0.5",
        "ratio of the token\n1.1052",  # exp(0.1)
        "ratio in the loss\n1.0513",  # exp(0.05)
        "advantage\n+1.5",
        "clip\nclipped by the main bound",
        "entropy\n0.25 nats",
        "KL to the reference\n0.00483",  # exp(-0.1) + 0.1 - 1, in half precision
    ):
        assert line in tip
    assert "clipped" in tokens[1].get_attribute("class")
    assert "rejected" in tokens[2].get_attribute("class")
    prompt = episodes.one("#turn-0 .tok.prompt")
    ActionChains(episodes.driver).move_to_element(prompt).perform()
    assert "0: part of the prompt, no gradient" in episodes.one("#tip").text


def test_tokens_are_coloured_by_what_one_asks_for(episodes):
    options = [option.text for option in Select(episodes.one("#colour")).options]
    assert options == ["advantage", "ratio", "log-prob", "entropy", "KL to the reference"]

    def colours():
        return [
            t.value_of_css_property("background-color") for t in episodes.all("#turn-0 .tok.own")
        ]

    by_advantage = colours()
    assert len(set(by_advantage)) == 1
    Select(episodes.one("#colour")).select_by_visible_text("log-prob")
    assert len(set(colours())) == 3  # -0.5, -0.25, -0.125
    assert "surprising" in episodes.one(".ramp").text


def test_filters(episodes):
    episodes.choose("outcome", "success")
    assert len(episodes.all(".group")) == 2
    assert episodes.one("#found").text == "4 of 12 episodes, 2 of 3 groups"
    assert "Episode 2" in episodes.one("#episode h3").text  # the first that succeeded
    episodes.choose("outcome", "")
    episodes.choose("training", "because all_failed")
    assert [g.text.splitlines()[0] for g in episodes.all(".group")] == ["group 2 · train/2"]
    assert "not trained on" in episodes.one(".token-tools").text
    episodes.choose("training", "kept")
    episodes.choose("stop", "max_turns")
    episodes.choose("type", "odd")
    assert episodes.one("#found").text == "2 of 12 episodes, 1 of 3 groups"
    episodes.one("#reset").click()
    assert episodes.one("#found").text == "3 groups"
    episodes.one("#filters [name=text]").send_keys("room 1.2")
    assert [g.text.splitlines()[0] for g in episodes.all(".group")] == ["group 1 · train/1"]
    episodes.one("#filters [name=text]").send_keys(" nowhere")
    assert episodes.one("#groups").text == "No episode passes these filters."


def test_the_way_through_by_keyboard(episodes):
    episodes.one("#tab-episodes").click()
    for _ in range(20):
        episodes.press(Keys.TAB)
        if episodes.focus.get_attribute("role") == "slider":
            break
    assert episodes.focus.value_of_css_property("outline-style") == "solid"
    episodes.press(Keys.ARROW_LEFT)
    episodes.until(lambda: episodes.one("#slider").get_attribute("aria-valuetext") == "update 1")
    assert episodes.focus.get_attribute("id") == "slider"  # drawn anew, still focused
    for _ in range(9):
        episodes.press(Keys.TAB)
        if episodes.focus.get_attribute("id") == "groups":
            break
    episodes.press(Keys.ARROW_DOWN)
    assert episodes.one("#groups").get_attribute("aria-activedescendant") == "group-1"
    episodes.press(Keys.ENTER, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert episodes.focus.get_attribute("aria-label").startswith("episode 3, turn 2: left")
    assert episodes.one(".turn-block.chosen h4").text == "turn 2"
    episodes.press(Keys.ENTER, Keys.ARROW_RIGHT)
    assert episodes.focus.text == "left"  # the second token of the reply
    assert episodes.one("#tip").is_displayed()
    assert episodes.focus.get_attribute("aria-describedby") == "tip"
    episodes.press(Keys.END)
    assert "rejected by the sequence mask" in episodes.one("#tip").text
    episodes.press(Keys.ESCAPE)
    assert not episodes.one("#tip").is_displayed()
    episodes.press(Keys.ARROW_DOWN)
    assert episodes.one(".turn-block.chosen h4").text == "turn 3"


def test_text_of_the_world_is_never_html(browser, address):
    page = Page(browser, f"{address}#tab=episodes&validation=3")
    assert page.one("#turn-0 .observation").text == "room 0.0 <img src=x onerror=boom()>"
    assert not page.all("main img")
    assert "held-out task" in page.one("#episode .head").text
    assert browser.get_log("browser") == []


@pytest.fixture
def shop(browser, tmp_path):
    """A shop's page with a link, an option that was clicked, and a text that is no link."""
    run = make_run(tmp_path / "shop" / "version_0", updates=1)
    episode = record(0, 0, 1).episode
    page = "Back to Search [SEP] color [SEP] Red [SEP] Blue <b> [SEP] $5.00"
    links = ("search[<your query>]", "click[back to search]", "click[red]", "click[blue <b>]")
    first, second, third = (
        replace(turn, observation=page, admissible_actions=links) for turn in episode.turns
    )
    turns = (replace(first, action="search[Hat]"), replace(second, action="click[Red]"), third)
    write_episodes(run / "episodes" / "validation_000001.jsonl", [replace(episode, turns=turns)])
    main([str(run), "--open", "false"])
    yield Page(browser, f"{(run / 'view.html').as_uri()}#tab=episodes&validation=1")
    assert browser.get_log("browser") == []


def test_web_pages_are_read_as_pages(shop):
    # Two links that follow each other share a line; the last line is the box to search in.
    lines = [line.text for line in shop.all("#turn-2 .visited p")]
    assert lines == ["Back to Search", "color", "Red\nBlue <b>", "$5.00", ""]
    links = [link.text for link in shop.all("#turn-2 .link")]
    assert links == ["Back to Search", "Red", "Blue <b>"]
    assert [link.text for link in shop.all("#turn-1 .used")] == ["Red"]
    assert not shop.all("#turn-2 .used")  # its action, `right`, is neither click nor search
    assert [box.text for box in shop.all(".visited .query")] == ["hat", "", ""]
    assert not shop.all(".visited b")


def test_pages_can_be_read_as_the_text_that_they_were(shop):
    toggle = shop.one("#pages")
    assert toggle.get_attribute("aria-pressed") == "true"
    shop.driver.execute_script("arguments[0].focus()", toggle)
    shop.press(Keys.ENTER)
    assert shop.focus.get_attribute("aria-pressed") == "false"  # drawn anew, still focused
    assert not shop.all(".visited")
    shop.press(Keys.SPACE)
    assert len(shop.all(".visited")) == 3


def test_other_observations_have_no_such_switch(episodes):
    assert not episodes.all("#pages, .visited")


def test_curves_with_their_alarms(curves):
    titles = [heading.text for heading in curves.all(".chart h3") if heading.is_displayed()]
    assert titles == [
        "Success rate",
        "Rollout success by task type",
        "KL to the reference",
        "Gradient norm",
        "Dropped groups",
        "Seconds per update",
    ]
    assert len(curves.all(".chart .alarm")) == len(curves.all(".chart"))
    (own,) = [c for c in curves.all(".chart") if c.find_elements(By.CSS_SELECTOR, "[class=alarm]")]
    assert own.text.startswith("KL to the reference")
    told = curves.one(".alarms tbody").text.split("\n")
    assert told[0] == "update 2 ref_kl_above"
    assert told[1] == "The policy is far from its reference."
    assert " ".join(told[2:]) == "0.31 0.1 warning none read update 2 episodes/update_000001.jsonl"
    assert "rollout 9 s" in curves.one(".time").text
    chart = curves.one(".chart")
    assert chart.get_attribute("aria-label").startswith(
        "Success rate. rollouts: 0.3333 at update 1"
    )


def test_a_chart_leads_to_the_episodes(curves):
    legend = curves.one(".chart .legend")
    assert legend.text.splitlines() == ["rollouts", "1", "held-out", "0.75"]  # the last ones
    plot = curves.one(".chart > svg")
    # Ten pixels right of its middle is update 2 of an axis from 1 to 3.
    ActionChains(curves.driver).move_to_element_with_offset(plot, 10, 0).click().perform()
    assert legend.text.splitlines()[:2] == ["rollouts", "0.6667"]
    assert "update 2" in curves.one("#pinned").text
    assert "ref_kl_above" in curves.one("#pinned").text
    curves.one("#pinned button").click()
    curves.until(lambda: curves.all("#slider"))
    assert curves.one("#slider").get_attribute("aria-valuetext") == "update 2"


def test_charts_by_keyboard(curves):
    curves.driver.execute_script("document.querySelector('.chart').focus()")
    curves.press(Keys.HOME)
    assert "update 1" in curves.one("#pinned").text
    curves.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert curves.focus.get_attribute("aria-label").startswith("Rollout success by task type")
    curves.press(Keys.ENTER)
    curves.until(lambda: curves.all("#slider"))
    assert curves.one("#slider").get_attribute("aria-valuetext") == "update 2"
    assert curves.focus.get_attribute("id") == "slider"


def test_a_curve_is_found_by_its_name(curves):
    curves.one("#find-chart").send_keys("norm")
    shown = [heading.text for heading in curves.all(".chart h3") if heading.is_displayed()]
    assert shown == ["Gradient norm"]


def test_light_and_dark(curves):
    def shade():
        return curves.driver.execute_script(
            "return getComputedStyle(document.body).backgroundColor"
        )

    def prefer(scheme):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        curves.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    prefer("light")
    light = shade()
    prefer("dark")
    dark = shade()
    assert light != dark
    curves.one("#theme").click()
    assert (shade(), curves.one("#theme").get_attribute("aria-label")) == (light, "Colours: light")
    curves.one("#theme").click()
    prefer("light")
    assert (shade(), curves.one("#theme").get_attribute("aria-label")) == (dark, "Colours: dark")


def test_views_by_keyboard(curves):
    curves.one("#tab-curves").click()
    curves.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert curves.focus.get_attribute("id") == "tab-settings"
    assert "Clip (clip_low 0.1)" in curves.one("#panel-settings").text
    assert not curves.one("#panel-curves").is_displayed()
