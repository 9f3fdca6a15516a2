"""What the checks look at where labels are predicted; with those of all models."""

from mercer.report._html import listed
from mercer.report._looks import LOOKS, check

__all__ = ["LOOKS"]


@check("M210")
def never_predicted(s):
    """Classes that no row was taken for."""
    found = s["fit"].get("never")
    if found:
        rows, one = sum(one["rows"] for one in found), len(found) == 1
        named = f"{'Class' if one else 'Classes'} {listed([one['name'] for one in found], 3)} {'is' if one else 'are'}"
        yield f"{named} never predicted, though {rows} of the rows left out are of {'it' if one else 'them'}."
