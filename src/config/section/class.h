// SPDX-License-Identifier: ISC
/*
 * config/section/class.h - sections class and rate: how many sessions hosts may have, and how much
 * they may send.
 */
#ifndef CONFIG_SECTION_CLASS_H
#define CONFIG_SECTION_CLASS_H

#include "config/section/address.h"
#include <stdint.h>

enum config_class_kind {                      /* which hosts a mask has */
			 CONFIG_CLASS_ALL,    /* "*" */
			 CONFIG_CLASS_HOST,   /* by name */
			 CONFIG_CLASS_DOMAIN, /* "*.NAME": a name and all below it */
			 CONFIG_CLASS_NETWORK,
};

enum config_class_count {
	CONFIG_CLASS_COUNT_ACTIVE, /* sessions in use */
	CONFIG_CLASS_COUNT_OPEN,   /* idle connections, too */
};

enum { CONFIG_CLASSES_MAX = 128 };

struct config_class {     /* class "MASK" { ... } */
	const char *mask; /* in canonical form */
	enum config_class_kind kind;
	const char *name; /* HOST: the name, DOMAIN: what follows "*."; else NULL */
	struct config_network network;
	uint32_t queue;  /* sessions, from which on mail waits */
	uint32_t refuse; /* and clients are refused */
	enum config_class_count count;
	const char *source; /* section of outgoing sessions; "": as setting source says */
};

enum config_rate_count { /* what is counted */
			 CONFIG_RATE_CONNECTIONS,
			 CONFIG_RATE_MESSAGES,
			 CONFIG_RATE_RECIPIENTS,
			 CONFIG_RATE_BYTES,
			 CONFIG_RATE_REFUSALS, /* of commands */
			 CONFIG_RATE_FAILED_LOGINS,
			 CONFIG_RATE_COUNTS,
};
enum config_rate_per {                          /* for each of which it is counted */
		       CONFIG_RATE_PER_ADDRESS, /* or IPv6 network of 64 bits */
		       CONFIG_RATE_PER_USER,
		       CONFIG_RATE_PER_SENDER_DOMAIN,
		       CONFIG_RATE_PER_CLASS,
		       CONFIG_RATE_PER_ALL, /* all together */
		       CONFIG_RATE_PERS,
};
enum config_rate_answer { CONFIG_RATE_SLOW, CONFIG_RATE_DEFER, CONFIG_RATE_CLOSE };
enum config_rate_full { CONFIG_RATE_FULL_ALLOW, CONFIG_RATE_FULL_REFUSE };

struct config_rate { /* rate NAME { ... } */
	const char *name;
	enum config_rate_count count;
	enum config_rate_per per;
	const char *class_mask; /* only for clients of that section class; "": for all */
	uint64_t limit;         /* at least 1 */
	int64_t interval_us;
	enum config_rate_answer answer;
	enum config_rate_full full; /* for a new subject, when rate_keys others are in use */
};
enum { CONFIG_RATES_MAX = 40, CONFIG_RATES_PER_MAX = 8 };

#endif
