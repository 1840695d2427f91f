"""Reads what valgrind's callgrind wrote: instructions by object and function, and how often functions were called."""

import collections
import os
import re

NAME = re.compile(r"\((\d+)\)(?: (.*))?")
ALLOCATORS = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign"}


class Profile:
    """The whole run of one program."""

    def __init__(self, lines):
        #: Instructions by (object, function), those of callees left out.
        self.instructions = collections.Counter()
        #: Calls by (object of the caller, function).
        self.calls = collections.Counter()
        self._read(lines)

    @classmethod
    def of(cls, path):
        with open(path, errors="replace") as file:
            return cls(file)

    def _read(self, lines):
        objects, functions = {}, {}
        place = function = callee = None
        is_of_callee = False
        for line in lines:
            first = line[:1]
            if first.isdigit() or first in ("+", "-", "*"):
                # The line after calls= is what the call cost, which stands where the callee's own lines are.
                if not is_of_callee:
                    words = line.split()
                    self.instructions[place, function] += int(words[1]) if len(words) > 1 else 0
                is_of_callee = False
            elif first == "c":
                if line.startswith("calls="):
                    self.calls[place, callee] += int(line[6:].split()[0])
                    is_of_callee = True
                elif line.startswith("cfn="):
                    callee = self._name(functions, line[4:])
                elif line.startswith("cob="):
                    self._name(objects, line[4:])
            elif line.startswith("fn="):
                function = self._name(functions, line[3:])
            elif line.startswith("ob="):
                place = os.path.basename(self._name(objects, line[3:]))

    @staticmethod
    def _name(table, text):
        """A name is written out once, and a number after that."""
        match = NAME.match(text.rstrip("\n"))
        if not match:
            return text.rstrip("\n")
        if match[2] is not None:
            table[match[1]] = match[2]
        return table.get(match[1], match[1])

    def outside(self, *prefixes):
        """Instructions in all objects but those whose names begin so."""
        return sum(cost for (place, _), cost in self.instructions.items() if not place.startswith(prefixes))

    def allocations(self, *callers_left_out):
        """How often memory was asked for, but by these objects."""
        # Recursion gets a number: malloc'2.
        return sum(count for (place, name), count in self.calls.items()
                   if name and name.split("'")[0] in ALLOCATORS
                   and not (callers_left_out and place.startswith(callers_left_out)))


def slopes(value, few, many):
    """What one delivery and one message cost, from four runs that differ in subscribers and messages.

    `value(subscribers, messages)` is counted over a whole run; `few` and `many` are (subscribers, messages).
    Starting, joining and stopping are the same whatever the messages, so one message more costs
    (later - earlier) / messages; of that, what grows with the subscribers is the cost of a delivery.
    """
    each = {n: (value(n, many[1]) - value(n, few[1])) / (many[1] - few[1]) for n in (few[0], many[0])}
    delivery = (each[many[0]] - each[few[0]]) / (many[0] - few[0])
    return delivery, each[few[0]] - few[0] * delivery
