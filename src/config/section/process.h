// SPDX-License-Identifier: ISC
/*
 * config/section/process.h - section process: the user of a process.
 */
#ifndef CONFIG_SECTION_PROCESS_H
#define CONFIG_SECTION_PROCESS_H

struct config_process { /* process NAME { ... } */
	const char *name;
	const char *user; /* "": that of setting user */
};

enum { CONFIG_PROCESSES = 17 }; /* whose user can be set */

#endif
