// SPDX-License-Identifier: ISC
/* Who is counted for, as a key of the tables. */
#include "limit/internal_rate.h"
#include "mail/address.h"
#include <string.h>

static uint64_t hash_text(struct hash_key key, struct str text)
{
	uint64_t hash = hash_keyed(key, text.data, text.length);

	return hash != 0 ? hash : 1;
}

static uint64_t hash_name(struct hash_key key, struct str name)
{
	char lower[MAIL_ADDRESS_MAX];
	size_t length = name.length < sizeof lower ? name.length : sizeof lower;

	memcpy(lower, name.data, length);
	str_lower(lower, length);
	return hash_text(key, str_slice(lower, length));
}

/* Clients with one address of an IPv6 network of 64 bits can use all of them. */
static uint64_t hash_network(struct hash_key key, const struct in6_addr *address)
{
	struct in6_addr network = *address;

	if (!IN6_IS_ADDR_V4MAPPED(address))
		memset(&network.s6_addr[8], 0, 8);
	return hash_text(key, (struct str){(const char *)network.s6_addr, sizeof network});
}

uint64_t limit_subject_key(const struct limit_subject *subject, enum config_rate_per per,
			   struct hash_key key)
{
	struct str name = STR("");

	switch (per) {
	case CONFIG_RATE_PER_ALL:
		return 1;
	case CONFIG_RATE_PER_ADDRESS:
		return subject->address != NULL ? hash_network(key, subject->address) : 0;
	case CONFIG_RATE_PER_CLASS:
		name = str_from(subject->class_mask != NULL ? subject->class_mask : "");
		break;
	case CONFIG_RATE_PER_USER:
		name = subject->user;
		break;
	case CONFIG_RATE_PER_SENDER_DOMAIN:
		name = subject->sender_domain;
		break;
	case CONFIG_RATE_PERS:
		break;
	}
	return name.length > 0 ? hash_name(key, name) : 0;
}

bool limit_subject_is_of(const struct limit_subject *subject, const char *class_mask)
{
	return *class_mask == '\0' ||
	       (subject->class_mask != NULL && strcmp(class_mask, subject->class_mask) == 0);
}
