"""Bodies: JSON as the API writes it, its error texts, its pages."""

import base64
import csv
import hashlib
import io
import json

from .market import sample

JSON = "application/json; charset=utf-8"
HTML = "text/html"
ERRORS = {error["id"]: error for error in sample("_errors")}
PAGE = ("<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<center>"
        "<h1>{0}</h1></center>\r\n<hr><center>nginx/1.18.0 (Ubuntu)</center>"
        "\r\n</body>\r\n</html>\r\n")


def pretty(value):
    """JSON with two spaces, as JavaScript writes it: 228, never 228.0."""
    if isinstance(value, list) and value and all(
            type(row) is dict for row in value):
        rows = [{name: whole(part) for name, part in row.items()}
                for row in value]
        if not any(isinstance(part, (dict, list)) for row in rows
                   for part in row.values()):
            # The same bytes, ten times as fast.
            texts = (json.dumps(row, ensure_ascii=False, separators=(
                ",\n    ", ": "))[1:-1] for row in rows)
            return "[\n" + ",\n".join(f"  {{\n    {text}\n  }}"
                                      for text in texts) + "\n]"
        value = rows
    return json.dumps(value, ensure_ascii=False, indent=2)


def whole(value):
    return (int(value) if isinstance(value, float) and value.is_integer()
            and abs(value) < 1e21 else value)


def etag(body):
    digest = base64.b64encode(hashlib.sha1(body).digest()).decode()[:27]
    return f'W/"{len(body):x}-{digest}"'


def as_csv(rows):
    """A bulk answer: every cell a string."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
