# SPDX-License-Identifier: Apache-2.0
"""A manual page from the help of a command and of its subcommands."""


def escape(text: str) -> str:
    """For roff: a backslash, a hyphen that can be copied, and no request at a line's beginning."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return "\\&" + text if text[:1] in (".", "'") else text


def body(items: list, known: set[str]) -> list[str]:
    """Options, text and examples in the order of the help; without the options in `known`."""
    out, literal = [], False
    for item in items:
        if isinstance(item, str):
            is_literal = item.startswith("  ")
            if literal and not is_literal:
                out.append(".fi")
            if is_literal and not literal:
                out.append(".PP\n.nf")
            literal = is_literal
            if not item:
                if out and out[-1] != ".PP":
                    out.append(".PP")
            elif not literal and item.endswith(":"):
                out.append(f".PP\n{escape(item)}")
            else:
                out.append(escape(item))
            continue
        if literal:
            out.append(".fi")
            literal = False
        if not known & set(item.names):
            out += [f".TP\n.B {escape(item.head)}", *(escape(line) for line in item.about or ["(no value)"])]
    if literal:
        out.append(".fi")
    while out and out[-1] == ".PP":
        out.pop()
    # a paragraph's request has an effect only before text
    return [line for line, after in zip(out, [*out[1:], "text"], strict=True) if line != ".PP" or after[0] != "."]


def synopsis(lines: list[str]) -> list[str]:
    return [".nf", *(escape(line) for line in lines), ".fi"]


def page(name: str, section: int, about: str, version: str, commands: list) -> str:
    """`commands` are the command's own help and those of its subcommands (distribution/pages.py: Help)."""
    first, rest = commands[0], commands[1:]
    out = [f'.TH {name.upper()} {section} "" "Fairlead {version}" "Fairlead"']
    out += [".SH NAME", f"{name} \\- {escape(about)}"]
    out += [".SH SYNOPSIS", *synopsis(first.synopsis)]
    out.append(".SH DESCRIPTION")
    out += [escape(line) for line in first.before if line]
    out += body(first.body, set())
    if rest:
        known = {flag for item in first.flags for flag in item.names}
        out.append(".SH COMMANDS\nEach command also has the options above.")
        for command in rest:
            out += [f".SS {escape(command.words.partition(' ')[2])}", *synopsis(command.synopsis)]
            out += [".PP", *body(command.body, known)]
    out += [".SH SEE ALSO", "The documents in /usr/share/doc/fairlead\\-doc, of the package fairlead\\-doc."]
    return "\n".join(out) + "\n"
