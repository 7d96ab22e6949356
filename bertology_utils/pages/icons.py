"""The icons of the built book: of the theme's two thousand, which every page loads, those that a page shows.

Depends on the built book alone.
"""

import re
from pathlib import Path

SCRIPTS = Path("_static") / "scripts"
ICON = re.compile(
    r'"?([\w-]+)"?:\[\d+,\d+,\[([^\]]*)\],"[0-9a-f]+",(?:"[^"]*"|\[[^\]]*\])\],?'
)  # name: size, other names


def keep_used_icons(html: Path) -> None:
    """Cuts the theme's script of icons (1.5 MB) down to those that a page or another script of the theme names."""
    script = html / SCRIPTS / "fontawesome.js"
    pages = [*html.rglob("*.html"), *(html / SCRIPTS).glob("*theme.js")]
    used = {name for page in pages for name in re.findall(r"\bfa-([\w-]+)", page.read_text(encoding="utf-8"))}

    def kept(icon: re.Match[str]) -> str:
        return icon[0] if used & {icon[1], *re.findall(r'"([^"]*)"', icon[2])} else ""

    text = ICON.sub(kept, script.read_text(encoding="utf-8"))
    script.write_text(re.sub(r",\}", "}", text), encoding="utf-8")
