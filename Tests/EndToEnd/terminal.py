"""A program on a terminal of its own, as a person sits before it."""

import os
import pty
import select
import time

from harness import WAIT


class Terminal:
    """What a program shows on its terminal, and a way to type."""

    def __init__(self, words, env, cwd=None):
        self.shown = ""
        self.code = None
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            try:
                if cwd:
                    os.chdir(cwd)
                os.execve(str(words[0]), [str(word) for word in words], {**env, "TERM": "xterm"})
            finally:
                os._exit(127)

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def _read(self, seconds):
        """Takes in what is there; False at the end."""
        ready, _, _ = select.select([self.descriptor], [], [], max(0, seconds))
        if not ready:
            return True
        try:
            piece = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.shown += piece.decode(errors="replace")
        return bool(piece)

    def wait_for(self, text, seconds=WAIT):
        deadline = time.monotonic() + seconds
        while text not in self.shown:
            alive = self._read(deadline - time.monotonic())
            assert text in self.shown or (alive and time.monotonic() < deadline), \
                f"no ‘{text}’ within {seconds} s; shown: {self.shown!r}"

    def end(self, seconds=WAIT):
        """Waits for the end of the program; its exit code."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            assert time.monotonic() < deadline, f"still running after {seconds} s; shown: {self.shown!r}"
        _, status = os.waitpid(self.pid, 0)
        os.close(self.descriptor)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code
