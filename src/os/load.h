// SPDX-License-Identifier: ISC
/*
 * os/load.h - how busy the machine's processors are.
 */
#ifndef OS_LOAD_H
#define OS_LOAD_H

struct os_load {
	int file; /* /proc/stat; -1: it cannot be read */
	unsigned long long total, idle;
};

/* Opens what tells it: before a sandbox. Without it nothing is ever known to be busy. */
void os_load_open(struct os_load *load);
void os_load_close(struct os_load *load);
/* For how much of the time since the last call the processors were at work, all together, in
 * thousandths. */
unsigned os_load_processors(struct os_load *load);

#endif
