"""Tables as people keep them: those that are read right, and those that are refused."""

import datetime

DAYS = [datetime.date(2024, 1, 5), datetime.date(2024, 2, 28), datetime.date(2024, 3, 1)]


def column(cells, beside="y"):
    """A table of a column x of these cells, and one of numbers."""
    return f"x;{beside}\n" + "".join(f"{cell};{i}\n" for i, cell in enumerate(cells))


def hours(number):
    """A duration, as it is read: to the microsecond."""
    return datetime.timedelta(seconds=round(3600 * number))


READ = {  # what: (content, column, its values, what is said)
    "units": (column(["12 kg", "3.5 kg", "7kg"]), "x", [12.0, 3.5, 7.0], "the unit 'kg' was taken out"),
    "units with a comma": (column(["3,5 g", "12,25 g", "1 g"]), "x", [3.5, 12.25, 1.0], "decimal comma"),
    "units in some cells": (column(["12 kg", "13", "9 kg"]), "x", [12.0, 13.0, 9.0], "1 cell without a unit"),
    "two units of one kind": (column(["12 kg", "500 g", "9 kg"]), "x", [12.0, 0.5, 9.0], "'g' were converted to 'kg'"),
    "unit that is not known": (column(["3 bags", "4 bags", "9 bags"]), "x", [3.0, 4.0, 9.0], "the unit 'bags'"),
    "limits": (column(["< 0.5", "1.5", "2"]), "x", [0.5, 1.5, 2.0], "--missing '< 0.5' makes it missing"),
    "about": (column(["ca. 5", "~ 7", "6"]), "x", [5.0, 7.0, 6.0], "read as the number itself"),
    "percent": (column(["5 %", "12.5 %", "7 %"]), "x", [5.0, 12.5, 7.0], "the unit '%' was taken out"),
    "currency in front": (column(["€ 12", "€ 1.250,50", "€ 3"]), "x", [12.0, 1250.5, 3.0], "the unit '€' was taken"),
    "currency behind": (column(["12 €", "1.250,50 €", "3 €"]), "x", [12.0, 1250.5, 3.0], "'€'"),
    "negative currency": (column(["-€12", "€3", "€4"]), "x", [-12.0, 3.0, 4.0], "'€'"),
    "currency by letters": (column(["CHF 12.50", "CHF 3", "CHF 4"]), "x", [12.5, 3.0, 4.0], "'CHF'"),
    "marks": (column(["12*", "13", "14†"]), "x", [12.0, 13.0, 14.0], ""),
    "thin groups": (column(["1 250 m", "12 000 m", "3 m"]), "x", [1250.0, 12000.0, 3.0], "'m'"),
    "missing among units": (column(["12 kg", "-", "n/a"]), "x", [12.0, None, None], "'kg'"),
    "windows letters": ("x;y\nprice in \x80;1\nna\xefve \x96 so;2\n".encode("latin-1"), "x",
                        ["price in €", "naïve – so"], "cp1252"),
    "dates in two forms": (column(["2024-01-05", "28.02.2024", "2024-03-01"]), "x", DAYS, "dates in 2 forms"),
    "dates with names": (column(["5 Jan 2024", "28 February 2024", "Mar 1, 2024"]), "x", DAYS, "3 forms (5 Jan 2024, "),
    "dates with short years": (column(["05.01.24", "28.02.24", "01.03.24"]), "x", DAYS, ""),
    "dates with slashes among others": (column(["05/01/2024", "28/02/2024", "2024-03-01"]), "x", DAYS, "2 forms"),
    "a row of totals": ("plot,y\na,1\nb,2\nc,4\nTotal,7\n", "y", [1, 2, 4], "of totals ('Total')"),
    "totals and mean": ("plot,y\na,1\nb,2\nc,4\nSum:,7\nMean,2.3\n", "y", [1, 2, 4], "the last 2 rows are of totals"),
    "empty rows at the end": ("a,y\n3,1\n4,2\n,\n,\n", "y", [1, 2], "2 empty rows at the end"),
    "a title": ("Harvest 2024\nplot,x,y\na,3,1\nb,4,2\n", "y", [1, 2], "1 line above the header ('Harvest 2024')"),
    "titles and blank lines": ("Harvest;;\nDr. Who;;\n\nplot;x;y\na;3;1\nb;4;2\n", "y", [1, 2], "above the header"),
    "comments": ("# made by a logger\n# unit: mm\nt;x;y\n1;2;3\n4;5;6\n", "y", [3, 6], "2 lines above the header"),
    "a footnote": ("plot,x,y\na,3,1\nb,4,2\n\nSource: own counts\n", "y", [1, 2], "'Source: own counts'"),
    "units below the names": ("a,b\nkg,cm\n1,2\n3,4\n", "b", [2, 4], "holds units ('kg', 'cm')"),
    "units in brackets": ("a,b\n[kg],[-]\n1,2\n3,4\n", "b", [2, 4], "holds units"),
    "marks that could be units": ("a,b\nA,C\nC,B\nB,A\n", "a", ["A", "C", "B"], ""),
    "the header again": ("a,b\n1,2\na,b\n3,4\n", "b", [2, 4], "1 row that repeat the header"),
    "two columns of one name": ("a,a,b\n1,2,3\n4,5,6\n", "a (2)", [2, 5], "column 2 has the name 'a'"),
    "brackets of a ledger": (column(["(12.50)", "13.25", "(7)"]), "x", [-12.5, 13.25, -7.0], "as in a ledger"),
    "errors behind the number": (column(["1.2 ± 0.1", "1.3±0.2", "1.4 kg"]), "x", [1.2, 1.3, 1.4], "what follows ±"),
    "minus as it is printed": (column(["−1.5", "2.5", "–3 kg"]), "x", [-1.5, 2.5, -3.0], "'kg'"),
    "dashes as they are printed": (column(["–", "1.5", "2"]), "x", [None, 1.5, 2.0], "read as missing"),
    "errors of a spreadsheet": (column(["#DIV/0!", "1.5", "#REF!"]), "x", [None, 1.5, None], ""),
    "the separator in the first line": ("sep=;\nx;y\n1,5;2\n2,5;3\n", "x", [1.5, 2.5], "decimal comma"),
    "blanks between the cells": ("x   y\n1.5 2\n 2.5   3\n7 4\n", "x", [1.5, 2.5, 7.0], "blanks stand between"),
    "a column of words": ("full name\nAnna Lee\nBob Ray\nCy Fox\n", "full name", ["Anna Lee", "Bob Ray", "Cy Fox"], ""),
    "two decimal marks": (column(["12.54", "17,95", "13.1", "1.214,5", "9"]), "x", [12.54, 17.95, 13.1, 1214.5, 9.0],
                          "each is read by its own"),
    "another decimal mark": ("x,y,z\n1.25,2,\"17,95\"\n2.5,3,\"12,4\"\n", "z", [17.95, 12.4], "a decimal comma"),
    "a doubtful mark that size decides": (column(["1254.5", "1.295,2", "1,234"]), "x", [1254.5, 1295.2, 1234.0], ""),
    "ranges": (column(["10.7-12.7", "11.2–13.2", "9.5 to 10.5"]), "x", [11.7, 12.2, 10.0], "the middle of a range"),
    "ranges with a comma and a unit": (column(["10,7-12,7 kg", "11-13 kg"]), "x", [11.7, 12.0], "middle of a range"),
    "ranges among numbers": (column(["10-12", "14", "9-11", "12"]), "x", [11.0, 14.0, 10.0, 12.0], "middle of a"),
    "durations beyond a day": (column(["11:41:00", "25:41:00"]), "x", [*map(hours, (701 / 60, 1541 / 60))], "durations"),
    "durations in words": (column(["11h 41min", "2h", "41 min"]), "x", [*map(hours, (701 / 60, 2, 41 / 60))], "hours"),
    "durations in short": (column(["1h30", "2h05"]), "x", [hours(1.5), hours(125 / 60)], "durations"),
    "minutes and seconds beside hours": (column(["45:30", "1:02:06"]), "x", [datetime.time(0, 45, 30),
                                                                             datetime.time(1, 2, 6)], ""),
    "times of day": (column(["9:05", "09:05:30"]), "x", [datetime.time(9, 5), datetime.time(9, 5, 30)], ""),
    "thousands by letters": (column(["5.04k", "800", "1.2M"]), "x", [5040.0, 800.0, 1.2e6], "converted to plain"),
    "powers of ten": (column(["5.045×10^3", "4.1 x 10^2", "3·10²"]), "x", [5045.0, 410.0, 300.0], "powers of ten"),
    "shares and percent": (column(["12%", "0.12", "15 %"]), "x", [0.12, 0.12, 0.15], "0.12 for 12%"),
    "months in German": (column(["5. Januar 2024", "28. Feb. 2024", "1. März 2024"]), "x", DAYS, ""),
    "months in French": (column(["5 janvier 2024", "28 févr. 2024", "1er mars 2024"]), "x", DAYS, ""),
    "months in Spanish": (column(["5 de enero de 2024", "28 de febrero de 2024", "1 marzo 2024"]), "x", DAYS, ""),
    "months in Italian": (column(["5 gennaio 2024", "28 febbraio 2024", "1 marzo 2024"]), "x", DAYS, ""),
    "months in Dutch": (column(["5 januari 2024", "28 februari 2024", "1 mrt 2024"]), "x", DAYS, ""),
    "months in Portuguese": (column(["5 de janeiro de 2024", "28 fev 2024", "1 março 2024"]), "x", DAYS, ""),
    "days of the week": (column(["Fri, 5 Jan 2024", "Mittwoch, 28. Februar 2024", "2024-03-01"]), "x", DAYS, ""),
    "days of a spreadsheet among dates": (column(["2024-01-05", "45350", "2024-03-01"]), "x", DAYS, "30 December 1899"),
    "German dates with hours": (column(["05.01.2024 14:05", "28.02.2024 09:00:30"]), "x",
                                [datetime.datetime(2024, 1, 5, 14, 5), datetime.datetime(2024, 2, 28, 9, 0, 30)], ""),
    "hours with am and pm": (column(["01/05/2024 2:05 PM", "02/28/2024 12:00 am"]), "x",
                             [datetime.datetime(2024, 1, 5, 14, 5), datetime.datetime(2024, 2, 28)], ""),
    "months with a year": (column(["Jan-24", "Mrz-24", "Dec-24"]), "x",
                           [datetime.date(2024, m, 1) for m in (1, 3, 12)], ""),
    "quarters": (column(["2024Q1", "2024-Q2", "2024Q3"]), "x", [datetime.date(2024, m, 1) for m in (1, 4, 7)], ""),
    "weeks": (column(["2024-W05", "2024-W06"]), "x", [datetime.date(2024, 1, 29), datetime.date(2024, 2, 5)], ""),
    "columns that are not there": ("a,b,,\n1,2,,\n3,4,,\n", "b", [2, 4], "2 columns without a name and without cells"),
}  # fmt: skip


REFUSED = {  # what: (content, words of the message: the place, the remedy)
    "two currencies": (column([*(f"{i} €" for i in range(25)), "7 $"]),
                       "different units: '€', '[$]'.*--categorical 'x'"),
    "two currencies in front": (column([f"{'€' if i % 2 else '$'} {i}" for i in range(40)]), "different units"),
    "a word among units": (column([f"{i} kg" for i in range(25)] + ["heavy"]),
                           "except for row 26: 'heavy'.*--missing"),
    "a word among dates": (column([f"2024-01-{i + 1:02d}" for i in range(25)] + ["soon"]),
                           "dates except for row 26: 'soon'.*--missing"),
    "a date that is none": (column([f"{i + 1:02d}.01.2024" for i in range(25)] + ["31.02.2024"]),
                            "row 26: '31.02.2024'"),
    "a word among few numbers": (column(["1.5", "2", "3", "4", "none yet", "6", "7"]), "row 5: 'none yet'.*--missing"),
    "ranges or codes": (column([f"{i}-{i + 2}" for i in range(10, 40)]), "ranges or codes: --numeric 'x' reads the middle"),
    "percent or shares": (column([f"{i / 100}%" if i % 2 else f"{i / 100}" for i in range(1, 60)]), "both may be meant"),
    "a mark that size does not decide": (column([*["1.54", "17,95", "1300.5", "1,234"] * 9]), "thousands or decimals"),
    "a cell too many": ("a,b\n1,2\n3,4,5\n", "line 3: 3 cells"),
    "no header": ("1,2\n3,4\n", "no header.*--no-header"),
    "nothing but titles": ("Harvest\n\n", "no rows"),
}  # fmt: skip
