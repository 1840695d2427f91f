"""What the programs say about themselves: default settings, manual pages, shell completions."""

import re
import shutil

import pytest

from harness import BIN, ROOT, environment, run

DEPLOY = ROOT / "deploy"
PAGES = ["antenna.1", "antennactl.8", "antennad.8", "antennad.conf.5"]


def test_what_lies_in_deploy_is_what_the_programs_say(world):
    made = world.path / "made"
    assert run([ROOT / "scripts/generate-docs", made], env={**environment(world.path), "ANTENNA_BIN": str(BIN)}).code == 0
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    assert len(names) == 14
    for name in names:
        assert (DEPLOY / name).read_text() == (made / name).read_text(), f"{name}: run scripts/generate-docs"


def test_the_default_settings_are_valid_and_change_nothing(world):
    lines = (DEPLOY / "antennad.conf").read_text().splitlines()
    settings = [line[2:] if line.startswith("; ") and " =" in line else line for line in lines]
    plain, given = world.path / "plain.conf", world.path / "given.conf"
    plain.write_text("\n".join(lines) + "\n")
    given.write_text("\n".join(settings) + "\n")
    env = environment(world.path)

    def shown(file):
        rows = run([BIN / "antennad", "config", "show", "--json", "--config", file], env=env).json
        return {(row["section"], row["key"]): (row["value"], row["origin"]) for row in rows}
    defaults, all_given = shown(plain), shown(given)
    assert {key: value for key, (value, _) in defaults.items()} == {key: value for key, (value, _) in all_given.items()}
    assert all(origin == "default" for _, origin in defaults.values())
    assert all(origin.startswith(f"{given}:") for _, origin in all_given.values())


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_rendered_without_a_warning(world, page):
    found = run(["groff", "-man", "-ww", "-z", "-Tutf8", DEPLOY / "man" / page], env=environment(world.path))
    assert (found.code, found.err) == (0, "")
    text = run(["groff", "-man", "-Tutf8", DEPLOY / "man" / page], env=environment(world.path)).out
    # Bold is a letter, a step back, and the letter again.
    text = re.sub(".\b", "", text)
    assert "NAME" in text and "SEE ALSO" in text


def test_the_pages_name_every_command_and_setting():
    page = (DEPLOY / "man/antennactl.8").read_text().replace("\\-", "-")
    for command in ("status", "leave", "group allow", "reload", "backup", "rotate-key"):
        assert command in page
    page = (DEPLOY / "man/antennad.conf.5").read_text()
    for line in (DEPLOY / "antennad.conf").read_text().splitlines():
        if line.startswith("; ") and " =" in line:
            assert line[2:].split(" =")[0] in page


@pytest.mark.parametrize("program, line, words", [
    ("antennactl", ["gr"], ["group"]),
    ("antennactl", ["group", ""], ["allow"]),
    ("antennactl", ["--state", "/tmp", "rel"], ["relay", "reload"]),
    ("antennactl", ["leave", "#news", "--rea"], ["--reason"]),
    ("antennactl", ["status", "--js"], ["--json"]),
    ("antennactl", ["completions", "z"], ["zsh"]),
    ("antennad", ["config", ""], ["check", "default", "show"]),
    ("antennad", ["--check"], ["--check-config"]),
    ("antenna", ["channel", "cr"], ["create"]),
    ("antenna", ["channel", "create", "news", "--rel"], ["--relay"]),
])
def test_bash_completes_a_word(world, program, line, words):
    script = DEPLOY / "completions/bash" / program
    assert run(["bash", "-n", script], env=environment(world.path)).code == 0
    asked = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _"$1"; printf '%s\\n' "${COMPREPLY[@]}\""""
    found = run(["bash", "-c", asked, "bash", script, program, *line], env=environment(world.path))
    assert (found.code, found.err) == (0, "")
    assert sorted(set(found.out.split())) == words


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
@pytest.mark.parametrize("program", ["antenna", "antennactl", "antennad"])
def test_zsh_reads_its_completion(world, program):
    found = run(["zsh", "-n", DEPLOY / "completions/zsh" / f"_{program}"], env=environment(world.path))
    assert (found.code, found.err) == (0, "")


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize("program, line, words", [
    ("antennactl", "antennactl gr", ["group"]),
    ("antennactl", "antennactl group ", ["allow"]),
    ("antennactl", "antennactl leave '#news' --rea", ["--reason"]),
    ("antennad", "antennad config ", ["check", "default", "show"]),
    ("antenna", "antenna channel cr", ["create"]),
])
def test_fish_completes_a_word(world, program, line, words):
    script = DEPLOY / "completions/fish" / f"{program}.fish"
    found = run(["fish", "--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"', script, line],
                env=environment(world.path))
    assert (found.code, found.err) == (0, "")
    assert sorted(row.split("\t")[0] for row in found.out.splitlines()) == words


def test_a_shell_that_is_not_known_is_wrong_usage(world):
    found = run([BIN / "antennactl", "completions", "tcsh", "--json"], env=environment(world.path))
    assert found.code == 64 and found.error["hint"] == "bash, zsh or fish"
    found = run([BIN / "antenna", "completions", "bash", "--json"], env=environment(world.path))
    assert found.json == (DEPLOY / "completions/bash/antenna").read_text()
