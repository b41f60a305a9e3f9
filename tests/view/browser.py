"""A headless Chromium for tests, or the reason why there is none."""

import shutil
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DRIVER = shutil.which("chromedriver")
WHY_NOT = (
    "needs chromium (or google-chrome) and chromedriver on the PATH; on Debian: "
    "apt-get install chromium chromium-driver"
)


def open_browser() -> Any:
    """Return a driver; a fixed window, a light theme, no network and no sandbox (root in CI)."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # A given path: selenium would else look for a driver on the network.
    return webdriver.Chrome(options=options, service=Service(str(DRIVER)))
