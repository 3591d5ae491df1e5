// SPDX-License-Identifier: ISC
#include "os/load.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>

void os_load_open(struct os_load *load)
{
	load->file = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	(void)os_load_processors(load);
}

void os_load_close(struct os_load *load)
{
	if (load->file >= 0)
		close(load->file);
	load->file = -1;
}

/* The first line has the totals of all processors: user, nice, system, idle, iowait, irq, softirq,
 * steal (proc(5)). */
unsigned os_load_processors(struct os_load *load)
{
	enum { FIELDS = 8, IDLE = 3, IOWAIT = 4 };
	unsigned long long field[FIELDS] = {0};
	unsigned long long total = 0;
	unsigned long long idle;
	unsigned busy = 0;
	char text[512];
	ssize_t length = load->file >= 0 ? pread(load->file, text, sizeof text - 1, 0) : -1;

	if (length <= 0)
		return 0;
	text[length] = '\0';
	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &field[0], &field[1],
		   &field[2], &field[3], &field[4], &field[5], &field[6], &field[7]) < FIELDS)
		return 0;
	for (unsigned i = 0; i < FIELDS; i++)
		total += field[i];
	idle = field[IDLE] + field[IOWAIT];
	if (total > load->total && idle >= load->idle)
		busy = (unsigned)(1000 - (idle - load->idle) * 1000 / (total - load->total));
	load->total = total;
	load->idle = idle;
	return busy <= 1000 ? busy : 0;
}

/* Not getloadavg(3): a sandbox may not open /proc/loadavg. */
unsigned os_load_average(void)
{
	struct sysinfo info;

	if (sysinfo(&info) < 0)
		return 0;
	return (unsigned)(info.loads[0] * 100 >> SI_LOAD_SHIFT);
}
