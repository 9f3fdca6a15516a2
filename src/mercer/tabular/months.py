"""Names of months and of days of the week in the usual languages."""

import re
import unicodedata

NAMES = (  # of each month in English, German, French, Spanish, Italian, Portuguese and Dutch; and short ones
    "january januar jänner janvier enero gennaio janeiro januari jan janv ene gen",
    "february februar feber février febrero febbraio fevereiro februari feb fév févr fev",
    "march märz mars marzo março maart mar mär mrz mrt",
    "april avril abril aprile apr avr abr",
    "may mai mayo maggio maio mei mag",
    "june juni juin junio giugno junho jun giu",
    "july juli juillet julio luglio julho jul juil lug",
    "august août agosto augustus aug aoû ago",
    "september septembre septiembre setiembre settembre setembro sep sept set",
    "october oktober octobre octubre ottobre outubro oct okt ott out",
    "november novembre noviembre novembro nov",
    "december dezember décembre diciembre dicembre dezembro dec dez déc dic",
)
DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun "
    "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so "
    "lundi mardi mercredi jeudi vendredi samedi dimanche lun mar mer jeu ven sam dim "
    "lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato domenica "
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag segunda-feira terça-feira quarta-feira "
    "quinta-feira sexta-feira ma wo vr za zo"
)


def _bare(word):
    """A word in small letters without accents: Maerz is not März, and marz is."""
    return "".join(sign for sign in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(sign))


def _pattern(words):
    """A pattern of words with and without accents, the longest first."""
    every = sorted({word for one in words for word in (one, _bare(one))}, key=lambda word: (-len(word), word))
    return "|".join(map(re.escape, every))


NUMBERS = {_bare(word): number for number, words in enumerate(NAMES, start=1) for word in words.split()}
MONTH = _pattern([word for words in NAMES for word in words.split()])
WEEKDAY = _pattern(DAYS.split())


def month_number(word):
    """1 to 12 of the name of a month, or of its number; None of another word."""
    return int(word) if word.isdigit() else NUMBERS.get(_bare(word))
