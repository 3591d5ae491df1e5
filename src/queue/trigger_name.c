// SPDX-License-Identifier: ISC
/* Pure: who reads control files needs it without a disk. */
#include "queue/trigger.h"
#include <string.h>

bool queue_trigger_name_is_valid(struct str name)
{
	if (name.length == 0 || name.length > QUEUE_TRIGGER_MAX || name.data[0] == '.')
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
		    memchr("-_.:[]", c, 6) == NULL)
			return false;
	}
	return true;
}

bool queue_trigger_name_is_ours(struct str name)
{
	static const struct str starts[] = {STR("host."), STR("service."), STR("hold."),
					    STR("pipe.")};

	for (size_t i = 0; i < COUNT_OF(starts); i++)
		if (str_starts_with(name, starts[i]))
			return true;
	return str_equal(name, STR("directory"));
}
