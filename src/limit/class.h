// SPDX-License-Identifier: ISC
/*
 * limit/class.h - in which session class a host is. Pure.
 *
 * The classes are those of the configuration, in its order; the first that has the host applies,
 * and the last, "*", has all. Names are compared without case; they must be confirmed: by forward
 * and reverse DNS for a client (dns/names/client.h), by the lookup of its address for a server.
 */
#ifndef LIMIT_CLASS_H
#define LIMIT_CLASS_H

#include "config/config.h"

struct limit_class {
	const char *mask; /* canonical: "*.example.net" */
	/* Of the mask, never 0: the same in all processes, also when they have different
	 * configurations for a moment. */
	uint64_t key;
	uint32_t queue;   /* from so many sessions on no outgoing one is begun */
	uint32_t refuse;  /* and clients are refused */
	bool counts_idle; /* idle outgoing connections, too */
};

enum { LIMIT_TRIGGER_SIZE = 202 };

/* The trigger for which mail waits that has no place in CLASS: "class.MASK", in the letters of
 * triggers (queue/trigger.h): "class.[any]" for "*", "class.[any].example.net" for
 * "*.example.net", "class.192.0.2.0_24" for "192.0.2.0/24"; for a mask that is too long, by its
 * key. */
void limit_class_trigger(const struct limit_class *class, char trigger[LIMIT_TRIGGER_SIZE]);

struct limit_classes;

/* The classes of CONFIG, which may be freed before them; NULL: it has none. */
struct limit_classes *limit_classes_new(const struct config *config);
/* NULL is allowed. */
void limit_classes_free(struct limit_classes *classes);

/* At most CONFIG_CLASSES_MAX; 0 for NULL. */
size_t limit_classes_count(const struct limit_classes *classes);
const struct limit_class *limit_classes_at(const struct limit_classes *classes, size_t index);

/* The class of the host called NAME ("": unknown) at ADDRESS (IPv4 mapped). */
size_t limit_classes_find(const struct limit_classes *classes, struct str name,
			  const struct in6_addr *address);
/* Whether that depends on the name, which is not known yet. */
bool limit_classes_need_name(const struct limit_classes *classes, const struct in6_addr *address);

#endif
