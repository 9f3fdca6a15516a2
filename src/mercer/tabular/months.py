"""Names of months and of days of the week in the usual languages."""

import re
import unicodedata

NAMES = (  # of each month: English, German, French, Spanish, Italian, Portuguese, Dutch; Nordic languages; Polish,
    # Czech, Hungarian, Romanian, Turkish, Russian, as they stand in a date; and short ones
    "january januar jänner janvier enero gennaio janeiro januari jan janv ene gen "
    "tammikuuta stycznia styczeń sty ledna leden január ianuarie ocak oca января январь янв",
    "february februar feber février febrero febbraio fevereiro februari feb fév févr fev "
    "helmikuuta lutego luty lut února únor február februarie şubat şub февраля февраль фев",
    "march märz mars marzo março maart mar mär mrz mrt maa "
    "marts maaliskuuta marca marzec března březen március martie mart марта март мар",
    "april avril abril aprile apr avr abr "
    "huhtikuuta kwietnia kwiecień kwi dubna duben április aprilie nisan nis апреля апрель апр",
    "may mai mayo maggio maio mei mag maj toukokuuta maja května květen május mayıs мая май",
    "june juni juin junio giugno junho jun giu "
    "kesäkuuta czerwca czerwiec cze června červen június iunie haziran haz июня июнь июн",
    "july juli juillet julio luglio julho jul juil lug "
    "heinäkuuta lipca lipiec lip července červenec július iulie temmuz tem июля июль июл",
    "august août agosto augustus aug aoû ago "
    "augusti elokuuta sierpnia sierpień sie srpna srpen augusztus ağustos ağu августа август авг",
    "september septembre septiembre setiembre settembre setembro sep sept set "
    "syyskuuta września wrzesień wrz září szeptember septembrie eylül eyl сентября сентябрь сен сент",
    "october oktober octobre octubre ottobre outubro oct okt ott out "
    "lokakuuta października październik paź října říjen október octombrie ekim eki октября октябрь окт",
    "november novembre noviembre novembro nov "
    "marraskuuta listopada listopad lis listopadu noiembrie kasım kas ноября ноябрь ноя нояб",
    "december dezember décembre diciembre dicembre dezembro dec dez déc dic "
    "joulukuuta grudnia grudzień gru prosince prosinec decembrie aralık ara декабря декабрь дек",
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
    plain = unicodedata.normalize("NFD", word.lower().replace("ı", "i"))
    return "".join(sign for sign in plain if not unicodedata.combining(sign))


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
