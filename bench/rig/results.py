# SPDX-License-Identifier: Apache-2.0
"""All measurements, and which targets they meet. Figures of different rounds are never paired."""
import csv
from dataclasses import dataclass
from statistics import median

from rows import HIGHER_IS_BETTER


@dataclass
class Spread:
    """Several measurements of one figure: their median and their range."""

    values: list

    @property
    def median(self):
        return median(self.values)

    @property
    def low(self):
        return min(self.values)

    @property
    def high(self):
        return max(self.values)


@dataclass
class Verdict:
    row: object
    target: object
    spread: Spread  # of the ratios; of the figure itself if the target is a limit
    met: bool


class Results:
    def __init__(self):
        self.figures = {}  # (row name, entry label, metric) to {round: value}
        self.failures = []
        self.shapes = {}  # (row name, entry label) to a list of quantiles for each round

    def add(self, row, entry, round_number, metrics):
        for metric, value in metrics.items():
            self.figures.setdefault((row.name, entry.label, metric), {})[round_number] = value

    def add_shape(self, row, entry, quantiles):
        if quantiles:
            self.shapes.setdefault((row.name, entry.label), []).append(quantiles)

    def spread(self, row, entry, metric):
        values = self.figures.get((row.name, entry.label, metric))
        return Spread(list(values.values())) if values else None

    def ratios(self, row, ours, theirs, metric):
        """How many times as good ours was, round by round; None if one waits for its release and the other does not."""
        if ours.confirmed != theirs.confirmed:
            return None
        mine = self.figures.get((row.name, ours.label, metric), {})
        other = self.figures.get((row.name, theirs.label, metric), {})
        both = [r for r in mine if r in other and mine[r] > 0 and other[r] > 0]
        if not both:
            return None
        if metric in HIGHER_IS_BETTER:
            return Spread([mine[r] / other[r] for r in both])
        return Spread([other[r] / mine[r] for r in both])

    def verdict(self, row, target):
        if target.limit is not None:
            spread = self.spread(row, target.entry, target.metric)
            return spread and Verdict(row, target, spread, spread.median <= target.limit)
        spread = self.ratios(row, target.entry, target.against, target.metric)
        if spread is None:
            return None
        met = spread.high >= 1.0 if target.no_loss else spread.median >= target.factor
        return Verdict(row, target, spread, met)

    def write_csv(self, path):
        with open(path, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["row", "entry", "metric", "round", "value"])
            for (row, entry, metric), values in self.figures.items():
                for round_number, value in values.items():
                    out.writerow([row, entry, metric, round_number, f"{value:.6g}"])

    def write_shapes(self, path):
        with open(path, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["row", "entry", "quantile", "microseconds"])
            for (row, entry), rounds in self.shapes.items():
                for quantile, values in enumerate(zip(*rounds)):
                    out.writerow([row, entry, quantile, f"{median(values):.1f}"])
