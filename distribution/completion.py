# SPDX-License-Identifier: Apache-2.0
"""Completion for bash and zsh from the help of a command and of its subcommands.

Both shells get the same tree: for each command, identified by its words, the words that may follow, each with a
sentence, and for flags with a value what completes it: words, files, folders, or nothing.
"""

import re
from dataclasses import dataclass, field

FILES = {"FILE": "file", "DIR": "folder"}


@dataclass
class Node:
    words: dict[str, str] = field(default_factory=dict)  # flags and subcommands, each with a sentence
    values: dict[str, list[str]] = field(default_factory=dict)  # by flag: words, or "@file", "@folder", or nothing


def choices(value: str) -> list[str]:
    found = []
    for word in value.strip("[]<>").split("|"):
        if word.split(".")[0] in FILES:
            found.append(f"@{FILES[word.split('.')[0]]}")
        elif re.fullmatch(r"[a-z][a-z0-9-]*", word) and "|" in value:
            found.append(word)
    return found


def short(sentence: str) -> str:
    """What a list of completions has room for."""
    return re.split(r"\. |;| {3}", sentence)[0][:72]


def tree(name: str, commands: list) -> dict[str, Node]:
    """By the words after the command's name; "" is the command itself."""
    nodes: dict[str, Node] = {}
    for command in commands:
        path = command.words.removeprefix(name).strip()
        node = nodes.setdefault(path, Node())
        for flag in command.flags:
            for spelt in flag.names:
                node.words[spelt] = short(" ".join(flag.about))
                if flag.value:
                    node.values[spelt] = choices(flag.value)
        if path:
            parent, _, word = path.rpartition(" ")
            sentence = next((line for line in command.body if isinstance(line, str) and line), "")
            nodes[parent].words[word] = short(sentence)
    return nodes if len(commands) > 1 else nodes | of_synopsis(name, nodes[""], commands[0])


def of_synopsis(name: str, whole: Node, command) -> dict[str, Node]:
    """The subcommands of a program that has one help for all of them, each with the flags of its own synopsis."""
    nodes: dict[str, Node] = {}
    path = ""
    for line in [*command.synopsis, *(line for line in command.body if isinstance(line, str))]:
        begins = re.match(rf"\s*{name} ([a-z][a-z0-9]+(?: [a-z]+)?)(?= )", line)
        path = begins[1] if begins else path if line.lstrip().startswith(("-", "[")) else ""
        if not path:
            continue
        for end in range(1, len(path.split()) + 1):
            before, word = path.split()[: end - 1], path.split()[end - 1]
            parent = nodes.setdefault(" ".join(before), Node()) if before else whole
            parent.words.setdefault(word, "")
        node = nodes.setdefault(path, Node())
        for flag, value in re.findall(r"(?<![\w-])(-{1,2}[a-z][\w-]*)(?: ([A-Za-z][^\s\]]*))?", line):
            node.words[flag] = whole.words.get(flag, "")
            if value:
                node.values[flag] = choices(value)
    if command.synopsis[0].startswith(tuple(f"{name} {path} " for path in nodes)):  # no command without a subcommand
        words = {word for path in nodes for word in path.split()[:1]}
        whole.words = {word: about for word, about in whole.words.items() if word in words or not word.startswith("-")}
        whole.words |= {"--help": "", "--version": ""}
        whole.values = {}
    return nodes


def quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def function(name: str) -> str:
    return "_" + name.replace("-", "_")


def cases(nodes: dict[str, Node], line) -> list[str]:
    return [f"    {quote(path)}) {line(node)} ;;" for path, node in nodes.items()]


def value_cases(nodes: dict[str, Node]) -> list[str]:
    """By command and flag: the value's words."""
    return [
        f"    {quote(f'{path} {flag}'.strip())}) has_value=yes values={quote(' '.join(words))} ;;"
        for path, node in nodes.items()
        for flag, words in node.values.items()
    ]


def walk(nodes: dict[str, Node], steps: str, path: str) -> list[str]:
    """Finds the command that the words before the current one name: the shell's variable `path`."""
    known = "|".join(quote(words) for words in nodes if words)
    if not known:
        return []
    return [
        f"  for (({steps})); do",
        f"    next=${{{path}:+${path} }}${{words[i]}}",
        f'    case "$next" in {known}) {path}=$next ;; esac',
        "  done",
    ]


def bash(name: str, nodes: dict[str, Node]) -> str:
    out = [
        f"# bash completion for {name}, made from its --help",
        f"{function(name)}() {{",
        '  local path="" found="" values="" has_value="" current=${COMP_WORDS[COMP_CWORD]} next i',
        '  local previous=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}")',
        *walk(nodes, "i = 1; i < COMP_CWORD; i++", "path"),
        '  case "${path:+$path }$previous" in',
        *value_cases(nodes),
        "  esac",
        '  case "$values" in',
        "    *@file*|*@folder*) compopt -o filenames 2>/dev/null",
        '      mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;',
        "  esac",
        "  if [[ -n $has_value ]]; then",
        '    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")',
        "    return",
        "  fi",
        '  case "$path" in',
        *cases(nodes, lambda node: f"found={quote(' '.join(node.words))}"),
        "  esac",
        '  mapfile -t COMPREPLY < <(compgen -W "$found" -- "$current")',
        "}",
        f"complete -F {function(name)} {name}",
    ]
    return "\n".join(out) + "\n"


def zsh(name: str, nodes: dict[str, Node]) -> str:
    def described(node: Node) -> str:
        return (
            "found=("
            + " ".join(quote(f"{word}:{about}" if about else word) for word, about in node.words.items())
            + ")"
        )

    out = [
        f"#compdef {name}",
        f"# zsh completion for {name}, made from its --help",
        "emulate -L zsh",
        'local command_path="" values="" has_value="" next previous=${words[CURRENT-1]} i',
        "local -a found",
        *walk(nodes, "i = 2; i < CURRENT; i++", "command_path"),
        'case "${command_path:+$command_path }$previous" in',
        *value_cases(nodes),
        "esac",
        'case "$values" in',
        "  *@file*) _files; return ;;",
        "  *@folder*) _files -/; return ;;",
        "esac",
        "if [[ -n $has_value ]]; then",
        "  compadd -- ${=values}",
        "  return",
        "fi",
        'case "$command_path" in',
        *cases(nodes, described),
        "esac",
        f"_describe -o {quote(name)} found",
    ]
    return "\n".join(out) + "\n"
