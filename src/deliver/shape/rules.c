// SPDX-License-Identifier: ISC
#include "deliver/shape/rules.h"
#include <libpsl.h>
#include <string.h>

static bool is_subject_below_domain(struct str name, const char *domain)
{
	struct str end = str_from(domain);

	return name.length > end.length + 1 && name.data[name.length - end.length - 1] == '.' &&
	       str_equal(str_skip(name, name.length - end.length), end);
}

static bool matches_destination(const struct config_destination *destination,
				const struct shape_subject *subject)
{
	switch (destination->kind) {
	case CONFIG_DESTINATION_ALL:
		return true;
	case CONFIG_DESTINATION_DOMAIN:
		return str_equal(subject->domain, str_from(destination->name));
	case CONFIG_DESTINATION_BELOW:
		return is_subject_below_domain(subject->domain, destination->name);
	case CONFIG_DESTINATION_HOST:
		return str_equal(subject->host, str_from(destination->name));
	case CONFIG_DESTINATION_HOSTS:
		return is_subject_below_domain(subject->host, destination->name);
	}
	return false;
}

const struct config_destination *shape_rules_find(const struct config *config,
						  const struct shape_subject *subject)
{
	for (size_t i = 0; i < config->destination_count; i++)
		if (matches_destination(&config->destinations[i], subject))
			return &config->destinations[i];
	return NULL;
}

struct str shape_rules_owner(struct str name)
{
	char text[256];
	const char *registered = NULL;

	if (name.length < sizeof text) {
		memcpy(text, name.data, name.length);
		text[name.length] = '\0';
		registered = psl_registrable_domain(psl_builtin(), text);
	}
	return registered != NULL ? str_skip(name, (size_t)(registered - text)) : name;
}

struct str shape_rules_bearer(const struct config_destination *destination,
			      const struct shape_subject *subject)
{
	switch (destination->per) {
	case CONFIG_DESTINATION_PER_DOMAIN:
		return subject->domain;
	case CONFIG_DESTINATION_PER_HOST:
		return subject->host;
	case CONFIG_DESTINATION_PER_OWNER:
		return shape_rules_owner(subject->host);
	}
	return subject->domain;
}
