# SPDX-License-Identifier: Apache-2.0
"""Manual pages, completions and environment files have what the help has, and their readers accept them."""

import subprocess
from pathlib import Path

import pytest

from distribution import completion, environment, manual, pages
from lab import build

TEXT = """usage: tool --id NAME [options]
       tool explain --http HOST:PORT WHAT

Does a thing. It's one.

  --id NAME            name of this tool,
                       unique in the cluster
  --mode on|off        how it works  (on)
  --key FILE           a key
  --huge               takes no value
  -o, --output=FORMAT  how it prints

Lines\\here begin:
  .example --id 7
"""


def complete(script: str, *words: str) -> list[str]:
    """What bash proposes for the last of these words."""
    line = " ".join(f"'{word}'" for word in words)
    run = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tool; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", run], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


@pytest.fixture(scope="module")
def script() -> str:
    return completion.bash("tool", completion.tree("tool", [pages.parse("tool", TEXT)]))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("tool", "--i"), ["--id"]),
        (("tool", "--mode", ""), ["on", "off"]),
        (("tool", "--mode", "of"), ["off"]),
        (("tool", "--id", ""), []),
        (("tool", "ex"), ["explain"]),
        (("tool", "explain", "--"), ["--http"]),
        (("tool", "explain", "--http", ""), []),
        (("tool", "--nothing"), []),
    ],
)
def test_bash_proposes(script: str, words: tuple[str, ...], found: list[str]) -> None:
    assert complete(script, *words) == found


def test_help_without_usage_is_refused() -> None:
    with pytest.raises(ValueError, match="the help of tool has no line 'usage: '"):
        pages.parse("tool", "something else\n")


def test_flags_are_read() -> None:
    flags = pages.parse("tool", TEXT).flags
    assert [(flag.names, flag.value) for flag in flags] == [
        (["--id"], "NAME"),
        (["--mode"], "on|off"),
        (["--key"], "FILE"),
        (["--huge"], ""),
        (["-o", "--output"], "FORMAT"),
    ]
    assert flags[0].about == ["name of this tool,", "unique in the cluster"]


def test_page_escapes_what_roff_would_take() -> None:
    page = manual.page("tool", 8, "does a thing", "1.2.3", [pages.parse("tool", TEXT)])
    assert "Lines\\ehere begin:" in page
    assert "  .example \\-\\-id 7" in page
    assert warnings(page) == ""


def test_environment_has_every_flag_as_a_comment() -> None:
    file = environment.file("fairlead-tool", "fairlead-tool.service", "TOOL_", pages.parse("fairlead-tool", TEXT))
    assert [line for line in file.splitlines() if not line.startswith("#")] == [""] * 4
    for line in ("#TOOL_ID=NAME", "#TOOL_MODE=on|off", "#TOOL_KEY=FILE", "#TOOL_HUGE=true"):
        assert f"\n{line}\n" in file


def warnings(page: str) -> str:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-Z"], input=page, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stderr


@pytest.mark.parametrize("name", pages.BUILT)
def test_programs(name: str, tmp_path: Path) -> None:
    """Of each program in C: every option of the help stands in its page and is proposed; the shells read the files."""
    text = pages.said(build.DIRECTORY / pages.BUILT[name], "--help")
    found = pages.parse(name, text)
    page = manual.page(name, 8, "a program", "1.2.3", [found])
    assert warnings(page) == ""
    nodes = completion.tree(name, [found])
    proposed = {word for node in nodes.values() for word in node.words}
    for flag in (flag for item in found.flags for flag in item.names):
        assert flag.replace("-", "\\-") in page
        assert flag in proposed or f"{flag} " not in " ".join(found.synopsis)
    for shell, write in (("bash", completion.bash), ("zsh", completion.zsh)):
        script = tmp_path / shell
        script.write_text(write(name, nodes))
        subprocess.run([shell, "-n", script], check=True, timeout=60)
