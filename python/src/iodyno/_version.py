"""The version of the installed package; a source tree that was never installed has none."""

from importlib import metadata


def _installed() -> str:
    try:
        return metadata.version("iodyno")
    except metadata.PackageNotFoundError:
        return "unknown"


__version__ = _installed()
