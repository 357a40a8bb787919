"""Everything a browser sees. `build()` makes the page, `launch_options()` how it is served."""

from web.page import build, launch_options

__all__ = ["build", "launch_options"]
