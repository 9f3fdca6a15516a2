"""Tables as people keep them: those that are read right, and those that are refused."""

import datetime

DAYS = [datetime.date(2024, 1, 5), datetime.date(2024, 2, 28), datetime.date(2024, 3, 1)]


def column(cells, beside="y"):
    """A table of a column x of these cells, and one of numbers."""
    return f"x;{beside}\n" + "".join(f"{cell};{i}\n" for i, cell in enumerate(cells))


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
    "a cell too many": ("a,b\n1,2\n3,4,5\n", "line 3: 3 cells"),
    "no header": ("1,2\n3,4\n", "no header.*--no-header"),
    "nothing but titles": ("Harvest\n\n", "no rows"),
}  # fmt: skip
