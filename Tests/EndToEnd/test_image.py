"""The Dockerfile: what it says, and those of its steps that need no container engine.

With ANTENNA_IMAGE=1 the programs are built as the image's build stage builds them (minutes, the first time).
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess

import pytest

from harness import BIN, ROOT, environment, run, until

USER = "10001"
PROGRAMS = ["antennad", "antennactl"]


def instructions():
    """[(stage, instruction, argument)], continued lines put together."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE))
    found, stage = [], -1
    for line in filter(None, map(str.strip, text.splitlines())):
        word, argument = line.split(None, 1)
        stage += word == "FROM"
        found.append((stage, word, argument))
    return found


def only(stage, word):
    arguments = [argument for s, w, argument in instructions() if (s, w) == (stage, word)]
    assert len(arguments) == 1, (word, arguments)
    return arguments[0]


def installed(stage):
    """The Debian packages that a stage installs."""
    command = next(argument for s, w, argument in instructions() if (s, w) == (stage, "RUN") and "apt-get" in argument)
    words = shlex.split(command)
    at = words.index("install")
    packages = words[at + 1:words.index("&&", at)]
    return {package for package in packages if not package.startswith("-")}


def test_the_image_is_small_and_runs_as_nobody_special():
    bases = [argument for _, word, argument in instructions() if word == "FROM"]
    assert bases == ["swift:6.3-bookworm AS build", "debian:12-slim"]
    assert only(1, "USER") == f"{USER}:{USER}"
    assert json.loads(only(1, "ENTRYPOINT")) == ["antennad"]
    assert json.loads(only(1, "VOLUME")) == ["/var/lib/antenna"]
    assert only(1, "STOPSIGNAL") == "SIGTERM"
    options, command = only(1, "HEALTHCHECK").split(" CMD ")
    assert json.loads(command) == ["antennad", "healthcheck"]
    # The check gives up by itself before the engine does.
    assert int(re.search(r"--timeout=(\d+)s", options)[1]) > 5
    assert not any(word in ("CMD", "ADD", "SHELL") for _, word, _ in instructions())


def test_the_build_stage_has_what_a_build_needs():
    setup = re.search(r"^packages=\(\n(.*?)\n\)", (ROOT / "scripts/setup").read_text(), re.DOTALL | re.MULTILINE)[1]
    assert installed(0) == set(setup.split())
    for _, word, argument in instructions():
        if word == "COPY" and not argument.startswith("--from"):
            assert all((ROOT / source).exists() for source in argument.split()[:-1]), argument
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignore[0] == "*" and {"!Package.swift", "!Sources", "!Tests"} <= set(ignore)
    build = next(a for s, w, a in instructions() if (s, w) == (0, "RUN") and "swift build" in a)
    for program in PROGRAMS:
        assert f"--static-swift-stdlib --product {program}" in build and f".build/release/{program}" in build


def libraries(program):
    """Names of the shared libraries that a program loads, without those of the language's own runtime."""
    out = run(["ldd", program], env=environment("/")).out
    assert "not found" not in out, out
    return {name for name in re.findall(r"^\s+(\S+?\.so[.0-9]*) => ", out, re.MULTILINE)
            if not re.match(r"lib(swift|Foundation|_Foundation|dispatch|BlocksRuntime)", name)}


@pytest.mark.skipif(not shutil.which("dpkg"), reason="needs the packages of Debian")
def test_the_image_has_the_libraries_that_the_programs_load():
    # libc6 is in every base; the two of the compiler are named although the base has them today.
    packages = {"libgcc-s1", "libstdc++6"}
    for program in PROGRAMS:
        for name in libraries(BIN / program):
            owners = subprocess.run(["dpkg", "-S", f"*/{name}"], capture_output=True, text=True).stdout
            packages |= {line.split(":")[0] for line in owners.splitlines()
                         if line.endswith(f"/{name}") and not line.startswith("libc6")}
    assert installed(1) == packages


def image_variables():
    return dict(pair.split("=", 1) for pair in shlex.split(only(1, "ENV")))


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_the_relay_writes_nothing_outside_its_volume(world):
    volume, trace, programs = world.path / "volume", world.path / "trace", world.path / "bin"
    volume.mkdir(mode=0o700)
    programs.mkdir()
    for program in PROGRAMS:
        shutil.copy(BIN / program, programs)
    become = []
    if os.geteuid() == 0 and shutil.which("setpriv"):
        os.chown(volume, int(USER), int(USER))
        world.path.chmod(0o755)
        become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--bounding-set=-all"]
    variables = {**image_variables(), "ANTENNA_RELAY__STATE": str(volume), "ANTENNA_RELAY__LISTEN": "127.0.0.1:0",
                 "PATH": f"{programs}:{os.environ['PATH']}"}
    kept = {key: os.environ[key] for key in ("LD_LIBRARY_PATH",) if key in os.environ}
    env = {**kept, **variables}
    with open(world.path / "log", "wb") as log:
        relay = subprocess.Popen(
            ["strace", "-f", "-qq", "-y", "-e", "trace=%file", "-o", trace, *become, "antennad"],
            env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    check = [*become, *json.loads(only(1, "HEALTHCHECK").split(" CMD ")[1])]
    try:
        until(lambda: relay.poll() is None and run(check, env=env).code == 0, what="the health check")
        assert run([*become, "antennactl", "address"], env=env).out.startswith("https://")
    finally:
        first = int(trace.read_text().split(None, 1)[0])
        os.kill(first, signal.SIGTERM)
        assert relay.wait(10) == 0
    assert sorted(path.name for path in volume.iterdir())
    changed = []
    for line in trace.read_text().splitlines():
        call = re.match(r"\d+ +(\w+)\((.*)", line)
        if not call or " = -1 " in line:
            continue
        writes = re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", line) if call[1].startswith("open") else (
            call[1] in ("creat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "link",
                        "symlink", "chmod", "fchmodat", "truncate", "mknod"))
        if writes:
            changed.append(re.search(r'"([^"]*)"', call[2])[1])
    assert changed and all(path.startswith(f"{volume}/") or path == "/dev/null" for path in changed), changed
    assert run(check, env=env).code == 69


@pytest.mark.skipif(os.environ.get("ANTENNA_IMAGE") != "1", reason="takes minutes: ANTENNA_IMAGE=1")
def test_the_image_s_programs_need_no_swift_on_the_machine(world):
    scratch = ROOT / ".build-image"
    for program in PROGRAMS:
        done = subprocess.run(
            ["swift", "build", "-c", "release", "--static-swift-stdlib", "--scratch-path", scratch, "--product", program],
            cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:]
        built = scratch / "release" / program
        loaded = run(["ldd", built], env=environment("/")).out
        assert not re.search(r"swift|Foundation|dispatch", loaded), loaded
        shown = run([built, "--version"], env={"PATH": "/usr/bin"})
        assert shown.code == 0 and shown.out.startswith(program)
