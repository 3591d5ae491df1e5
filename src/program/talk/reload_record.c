// SPDX-License-Identifier: ISC
#include "program/talk/reload_record.h"
#include "program/talk/run_file.h"
#include <errno.h>
#include <inttypes.h>

enum { RECORD_MAX = 1 << 20 };

void reload_record_clear(struct reload_record *record)
{
	buffer_clear(&record->reason);
	*record = (struct reload_record){0};
}

int reload_record_write(const char *run, const struct reload_record *record)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%" PRIu64 " %" PRIu64 " %s\n" STR_FORMAT, record->begun,
			     record->ended, record->is_refused ? "refused" : "done",
			     STR_ARGUMENTS(buffer_view(&record->reason)));
	return run_file_replace(run, RELOAD_RECORD_NAME, buffer_view(&text), false);
}

static int parse_record(struct str text, struct reload_record *record)
{
	struct str line;
	struct str begun;
	struct str ended;

	if (!str_split(&text, '\n', &line) || !str_split(&line, ' ', &begun) ||
	    !str_split(&line, ' ', &ended) || !str_to_u64(begun, &record->begun) ||
	    !str_to_u64(ended, &record->ended))
		return -EBADMSG;
	record->is_refused = str_equal(line, STR("refused"));
	if (!record->is_refused && !str_equal(line, STR("done")))
		return -EBADMSG;
	buffer_append_str(&record->reason, text);
	return 0;
}

int reload_record_read(const char *run, uid_t owner, struct reload_record *record)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int error = run_file_read(run, RELOAD_RECORD_NAME, owner, RECORD_MAX, &text);

	*record = (struct reload_record){0};
	if (error == -ENOENT)
		return 0;
	return error < 0 ? error : parse_record(buffer_view(&text), record);
}
