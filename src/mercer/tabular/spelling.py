"""One category in several spellings: alpha, Alpha and ALPHA; and truth values in words."""

import re
import unicodedata
from collections import Counter

from mercer.selection.kernels_search.objects import text_kind
from mercer.tabular.cells import count, quote

WORD = re.compile(r"[^\W\d_]{3,}.*")  # so Aa and AA, Co and CO, C1CCCCC1 and c1ccccc1 differ
UNSEEN = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")  # signs that nobody sees
SPACES = re.compile(r"[\s_]+")
DIGITS = ({"1", "1.0", "true"}, {"0", "0.0", "false"})
TRUTHS = tuple(  # (words for true, for false) of each language
    tuple(set(words.split()) for words in pair)
    for pair in (
        ("yes y true t", "no n false f"),
        ("ja j wahr", "nein n falsch"),
        ("ja j waar", "nee n onwaar"),
        ("oui o vrai", "non n faux"),
        ("sí si s verdadero vero", "no n falso"),
        ("sim s verdadeiro", "não nao n falso"),
        ("ja j sant", "nej n falskt"),
        ("tak t", "nie n"),
        ("ano a", "ne n"),
        ("да д", "нет н"),
        ("evet e", "hayır hayir h"),
        ("kyllä k", "ei e"),
        ("on", "off"),
        ("positive positiv pos pos. +", "negative negativ neg neg. -"),
        ("✓ ✔ ☑", "✗ ✘ ☒"),
    )
)
ANSWERS = set().union(*(words for pair in TRUTHS for words in pair))


def key_of(text):
    """What spellings of one category have in common; the text itself where a capital may mean something."""
    seen = unicodedata.normalize("NFKC", UNSEEN.sub("", text)).strip()
    plain = SPACES.sub(" ", seen.casefold())
    return plain if WORD.fullmatch(plain) or plain in ANSWERS else seen


def _too_many(levels, rows):
    """Whether there are too many categories to look for spellings among them."""
    return levels > max(200, 0.5 * rows)


def spellings(counts):
    """{spelling: the most frequent one of the same category} of {text: how often}, those that differ alone."""
    if _too_many(len(counts), sum(counts.values())):
        return {}
    groups = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text.swapcase())):
        groups.setdefault(key_of(text), []).append(text)
    if all(len(group) == 1 for group in groups.values()) or text_kind([*counts]):
        return {}
    return {text: group[0] for group in groups.values() for text in group[1:]}


def unify_spelling(texts, name, notes):
    """The texts, None among them, with one spelling of each category, said; those that differ in capitals alone too."""
    counts = Counter(text for text in texts if text is not None)
    known = spellings(counts)
    if not known:
        return texts
    notes.append(describe_spellings(name, known, counts))
    return [known.get(text, text) for text in texts]


def describe_spellings(name, known, counts):
    """The sentence on spellings."""
    rows = sum(counts[text] for text in known)
    pairs = ", ".join(f"{text!r} as {one!r}" for text, one in [*known.items()][:4])
    more = f", … ({len(known)} in all)" if len(known) > 4 else ""
    return f"column {name!r}: {count(rows, 'cell')} in another spelling read alike: {pairs}{more}."


def one_spelling(column, notes, known=None):
    """(a column of texts with one spelling of each category, {spelling: the one that is kept})."""
    if known is None:
        if _too_many(column.n_unique(), len(column)):
            return column, {}
        counts = dict(column.drop_nulls().value_counts(name="n").rows())
        known = spellings(counts)
        if known:
            notes.append(describe_spellings(column.name, known, counts))
    return (column.replace(known) if known else column), known


def match_spellings(texts, known):
    """{text: the category among the known ones that it is another spelling of}, of texts that are not known."""
    by_key = {key_of(level): level for level in known}
    return {text: by_key[key_of(text)] for text in texts if text not in known and key_of(text) in by_key}


# ---------------------------------------------------------------------------------------------- truth values
def truths_in(column, notes, mixed=True):
    """The column as truth values, or None; ``mixed``: only where one of them is written in two ways, as yes and Y."""
    import polars as pl

    words = column.str.to_lowercase()
    some = set(words.drop_nulls().unique().head(13))
    if not some or len(some) > 12:
        return None
    for true, false in TRUTHS:
        true, false = (side | digits for side, digits in zip((true, false), DIGITS, strict=True))
        if some <= true | false:
            break
    else:
        return None
    plain = all(len(word) == 1 and word.isalpha() for word in some) or some <= DIGITS[0] | DIGITS[1]
    if mixed and (plain or len(some) < 3 or not (some & true and some & false)):
        return None
    said = (quote(sorted(some & side)) for side in (true, false))
    notes.append("column {!r}: {} read as true, {} as false.".format(column.name, *said))
    made = pl.when(words.is_in([*true])).then(True).when(words.is_in([*false])).then(False)
    return pl.select(made.alias(column.name)).to_series()
