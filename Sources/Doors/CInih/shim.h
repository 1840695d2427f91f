#ifndef ANTENNA_CINIH_SHIM_H
#define ANTENNA_CINIH_SHIM_H

#include <ini.h>

// Where the library was built with settings that can change (Debian's is), let lines be `count` bytes long.
// Elsewhere they stay at 200, and the reader notices lines that do not fit.
static inline void antenna_inih_allow_lines(int count) {
    extern int ini_max_line __attribute__((weak));
    if (&ini_max_line) ini_max_line = count;
}

#endif
