#define _GNU_SOURCE
#include "load.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
uint64_t now_nanoseconds(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t own_cpu_nanoseconds(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

/* What the scheduler has counted for every thread. */
uint64_t server_cpu_nanoseconds(int pid) {
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    uint64_t sum = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        if (task->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", pid, task->d_name);
        FILE *file = fopen(path, "r");
        uint64_t ran;
        if (file && fscanf(file, "%" SCNu64, &ran) == 1) sum += ran;
        if (file) fclose(file);
    }
    if (tasks) closedir(tasks);
    return sum;
}

long server_resident_bytes(int pid) {
    char path[64];
    long all, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

/* 64 steps for each doubling, so that a step is at most 1.6 %. */
void histogram_add(struct histogram *histogram, uint64_t value) {
    unsigned slot = (unsigned)value;
    if (value >= 64) {
        unsigned shift = 57 - (unsigned)__builtin_clzll(value);
        slot = (shift + 1) * 64 + (unsigned)(value >> shift) - 64;
    }
    histogram->counts[slot]++;
    histogram->count++;
    if (value > histogram->max) histogram->max = value;
}

double histogram_microseconds(const struct histogram *histogram, double share) {
    uint64_t wanted = (uint64_t)((double)histogram->count * share), seen = 0;
    for (unsigned slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
        seen += histogram->counts[slot];
        if (seen <= wanted) continue;
        double value = slot;
        if (slot >= 128) {
            unsigned shift = slot / 64 - 1;
            value = ((double)(slot % 64 + 64) + 0.5) * (double)(1ull << shift);
        }
        return (value < (double)histogram->max ? value : (double)histogram->max) / 1000;
    }
    return (double)histogram->max / 1000;
}
