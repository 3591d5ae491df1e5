// SPDX-License-Identifier: ISC
#include "queue/control/trigger_name.h"
#include "base/attributes.h"
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

enum queue_trigger_kind queue_trigger_kind(struct str name)
{
	static const struct {
		struct str start;
		enum queue_trigger_kind kind;
	} rows[] = {
		{STR("host."), QUEUE_TRIGGER_HOST},   {STR("service."), QUEUE_TRIGGER_SERVICE},
		{STR("hold."), QUEUE_TRIGGER_HOLD},   {STR("pipe."), QUEUE_TRIGGER_PIPE},
		{STR("class."), QUEUE_TRIGGER_CLASS}, {STR("nodes."), QUEUE_TRIGGER_NODES},
		{STR("node."), QUEUE_TRIGGER_NODE},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (str_starts_with(name, rows[i].start))
			return rows[i].kind;
	return str_equal(name, STR("directory")) ? QUEUE_TRIGGER_DIRECTORY : QUEUE_TRIGGER_OTHER;
}

bool queue_trigger_name_is_ours(struct str name)
{
	return queue_trigger_kind(name) != QUEUE_TRIGGER_OTHER;
}
