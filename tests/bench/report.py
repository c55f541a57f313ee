"""Figures with their budgets: collected over repeats, printed as a table, written as JSON."""

import json
import statistics


class Report:
    def __init__(self, facts):
        self.facts = facts
        self.figures = {}

    def add(self, name, value, unit, budget=None, least=None, most=None):
        """One measurement of a figure. budget says what DESIGN section 14 allows; least or most is that as a number."""
        figure = self.figures.setdefault(
            name, {"name": name, "unit": unit, "values": [], "budget": budget, "least": least, "most": most}
        )
        figure["values"].append(value)

    def result(self, figure):
        values = figure["values"]
        median = statistics.median(values)
        verdict = None
        if figure["least"] is not None:
            verdict = median >= figure["least"]
        elif figure["most"] is not None:
            verdict = median <= figure["most"]
        return {**figure, "median": median, "min": min(values), "max": max(values), "met": verdict}

    def results(self):
        return [self.result(figure) for figure in self.figures.values()]

    def rows(self):
        rows = [("what", "median", "unit", "from", "to", "budget", "")]
        for r in self.results():
            verdict = {True: "met", False: "MISSED", None: ""}[r["met"]]
            rows.append(
                (r["name"], show(r["median"]), r["unit"], show(r["min"]), show(r["max"]), r["budget"] or "", verdict)
            )
        return rows

    def print(self):
        for key, value in self.facts.items():
            print(f"{key}: {value}")
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            cells = [cell.rjust(w) if i in (1, 3, 4) else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))]
            print("  ".join(cells).rstrip())

    def write(self, path):
        with open(path, "w") as out:
            json.dump({"machine": self.facts, "figures": self.results()}, out, indent=1)
            out.write("\n")


def show(value):
    if value == int(value) and abs(value) < 1e9:
        return str(int(value))
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}"


def percentile(values, part):
    """The value that `part` (0.5, 0.99) of all stay at or below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, int(part * len(ordered) + 0.999999) - 1))]
