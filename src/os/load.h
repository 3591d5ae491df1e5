// SPDX-License-Identifier: ISC
/*
 * os/load.h - the load of the machine's processors.
 */
#ifndef OS_LOAD_H
#define OS_LOAD_H

struct os_load {
	int file; /* /proc/stat; -1: it cannot be read */
	unsigned long long total, idle;
};

/* Opens /proc/stat, before a sandbox is entered. If it fails, the load is always 0. */
void os_load_open(struct os_load *load);
void os_load_close(struct os_load *load);
/* How busy all processors together were since the last call, in thousandths. */
unsigned os_load_processors(struct os_load *load);
/* How many processes ran or waited for a processor or the disk on average in the last minute, in
 * hundredths (getloadavg(3)); 0 if the system does not say. */
unsigned os_load_average(void);

#endif
