"""Draw a training run: one page of curves in one HTML file, that needs nothing else and asks no other host."""

from __future__ import annotations

import argparse
from pathlib import Path

from alphazero.training.run_folder import RunError, write

TAKES_GAME = False  # but RUN


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", type=Path, help="folder of a training run, or its metrics.jsonl")
    parser.add_argument("--output", metavar="FILE", type=Path, help="where to write (default: RUN/report.html)")


def run(args: argparse.Namespace) -> int:
    from alphazero.report_page import page
    from alphazero.report_run import read_run

    output = args.output
    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        # A slip of the keyboard must not replace the metrics by a drawing of them.
        raise RunError(f"--output {output}: the page is HTML, so give a name that ends in .html")
    seen = read_run(args.folder)
    output = output or seen.folder / "report.html"
    write(output, page(seen))
    print(output)
    return 0
