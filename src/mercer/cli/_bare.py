"""What runs without the extra ``cli``: the demo, and advice on how to get the rest."""

import argparse
import sys

ADVICE = "this command needs typer, rich and polars: pip install 'mercer[cli]'"


def run(arguments):
    """Run the demo, or say what is missing; return the exit code."""
    if arguments and arguments[0] in ("-h", "--help") or not arguments:
        print("usage: mercer demo [--output FILE] [--text] [--force]\n\nFor all commands: pip install 'mercer[cli]'")
        return 0 if arguments else 2
    if arguments[0] != "demo":
        print(f"error: {ADVICE}. Without, there is `mercer demo`.", file=sys.stderr)
        return 1
    parser = argparse.ArgumentParser(prog="mercer demo")
    parser.add_argument("--output", default="mercer_demo.png", help="file of the picture (default: %(default)s)")
    parser.add_argument("--text", action="store_true", help="draw with letters, also where matplotlib is installed")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    options = parser.parse_args(arguments[1:])
    from mercer.cli._tables import check_free
    from mercer.demo import run as demo

    if not options.text:
        check_free(options.output, "--output", options.force)
    demo(output=None if options.text else options.output)
    return 0
