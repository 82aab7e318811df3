# SPDX-License-Identifier: Apache-2.0
"""A drawing as SVG: shapes, text and arrows, on a white ground, so that it can be read in a dark window, too."""
from xml.sax.saxutils import escape

INK = "#222222"
FAINT = "#777777"
GRID = "#dddddd"
GREEN = "#0b6e4f"
AMBER = "#b9770e"
RED = "#c0392b"
BLUE = "#2874a6"
GREY = "#888888"


def _number(value):
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = [f"<title>{escape(title)}</title>",
                      f'<rect width="{width}" height="{height}" fill="#ffffff"/>']

    def box(self, x, y, width, height, fill, stroke="none", radius=3, opacity=1.0):
        self.parts.append(f'<rect x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}" '
                          f'rx="{radius}" fill="{fill}" stroke="{stroke}" fill-opacity="{opacity:g}"/>')

    def text(self, x, y, text, colour=INK, anchor="start", size=13, weight="normal"):
        # A white rim keeps text readable where a line passes behind it.
        rim = "" if colour == "#ffffff" else ' stroke="#ffffff" stroke-width="3" paint-order="stroke"'
        self.parts.append(f'<text x="{_number(x)}" y="{_number(y)}" fill="{colour}" text-anchor="{anchor}" '
                          f'font-size="{size}" font-weight="{weight}"{rim}>{escape(text)}</text>')

    def lines(self, x, y, texts, step=17, **style):
        for text in texts:
            self.text(x, y, text, **style)
            y += step

    def line(self, x1, y1, x2, y2, colour=INK, width=1.0, dashes=""):
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<path d="M{_number(x1)},{_number(y1)} L{_number(x2)},{_number(y2)}" stroke="{colour}" '
                          f'stroke-width="{width:g}" fill="none"{dashed}/>')

    def arrow(self, points, colour=INK, width=1.5, dashes=""):
        """Along the points: straight if there are two, a curve with one or two handles if there are three or four."""
        kind = {2: "L", 3: "Q", 4: "C"}[len(points)]
        (x0, y0), *rest = points
        path = " ".join(f"{_number(x)},{_number(y)}" for x, y in rest)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<path d="M{_number(x0)},{_number(y0)} {kind}{path}" stroke="{colour}" stroke-width="{width:g}" '
                          f'fill="none"{dashed}/>')
        (x1, y1), (x2, y2) = points[-2:]
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        head = [(x2, y2), (x2 - 8 * ux - 4 * uy, y2 - 8 * uy + 4 * ux), (x2 - 8 * ux + 4 * uy, y2 - 8 * uy - 4 * ux)]
        corners = " ".join(f"{_number(x)},{_number(y)}" for x, y in head)
        self.parts.append(f'<polygon points="{corners}" fill="{colour}"/>')

    def write(self, path):
        body = "\n".join(self.parts)
        path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                        f'viewBox="0 0 {self.width} {self.height}" font-family="sans-serif">\n{body}\n</svg>\n',
                        encoding="utf-8")
