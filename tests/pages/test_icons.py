"""The theme's script of icons keeps those that pages show, by any of their names."""

from bertology_utils.pages.icons import SCRIPTS, keep_used_icons

SCRIPT = (
    'var a={"arrow-up":[384,512,[8593],"f062","M1"],sun:[512,512,[9728],"f185",["M2","M3"]],'
    'glass:[512,512,[128269,"search"],"f002","M4"],moon:[384,512,[],"f186","M5"]};go(a)'
)


def test_icons_that_no_page_shows_are_cut_out(tmp_path):
    scripts = tmp_path / SCRIPTS
    scripts.mkdir(parents=True)
    (tmp_path / "index.html").write_text('<i class="fa-solid fa-search fa-lg"></i>')
    (scripts / "pydata-sphinx-theme.js").write_text('x.className="fa-solid fa-sun"')
    (scripts / "fontawesome.js").write_text(SCRIPT)
    for _ in range(2):
        keep_used_icons(tmp_path)
        assert (scripts / "fontawesome.js").read_text() == (
            'var a={sun:[512,512,[9728],"f185",["M2","M3"]],glass:[512,512,[128269,"search"],"f002","M4"]};go(a)'
        )
