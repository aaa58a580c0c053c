"""A headless browser for the pages that people work with; tests are skipped, with the reason, where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync"
)
WIDTHS = (360, 768, 1440)


def find_chromium() -> str | None:
    """Return the path of an installed Chromium: PSYCHOEDU_CHROMIUM, or one of the usual names on the path."""
    named = os.environ.get("PSYCHOEDU_CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Return a running headless Chromium."""
    api = pytest.importorskip("playwright.sync_api", reason="the package playwright, of the extra [browser], is not installed")
    path = find_chromium()
    if path is None:
        named = os.environ.get("PSYCHOEDU_CHROMIUM")
        looked = f"PSYCHOEDU_CHROMIUM={named}" if named else f"none of {', '.join(NAMES)} on the path, PSYCHOEDU_CHROMIUM not set"
        pytest.skip(f"no Chromium is installed: {looked}")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture
def show(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that opens HTML from disk; afterwards no page may have complained or asked for anything else."""
    contexts, complaints, requests = [], [], []

    def open_page(html: str, width: int = 1440, script: str = "", name: str = "page.html", context: Any = None) -> Any:
        path = tmp_path / name
        path.write_text(html, encoding="utf-8")
        if context is None:
            context = chromium.new_context(viewport={"width": width, "height": 800})
            context.set_default_timeout(10_000)
            contexts.append(context)
            context.on("request", lambda request: requests.append(request.url))
            if script:
                context.add_init_script(script)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file://", "blob:file://", "blob:null"))] == []


@pytest.fixture
def save(tmp_path: Path) -> Callable[[Any, str], Path]:
    """Return a function that presses a button and returns the file that the browser then saves, under its own name."""

    def press(page: Any, button: str) -> Path:
        with page.expect_download() as waiting:
            page.locator(button).click()
        target = tmp_path / "saved" / waiting.value.suggested_filename
        waiting.value.save_as(target)
        return target

    return press
