// SPDX-License-Identifier: ISC
#include "supervisor/talk/request_record.h"
#include "os/file/file.h"
#include "supervisor/talk/run_file.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum { RECORD_MAX = 1 << 20 };

void request_record_clear(struct request_record *record)
{
	buffer_clear(&record->reason);
	*record = (struct request_record){0};
}

int request_record_write(const char *run, const char *kind, const struct request_record *record)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%" PRIu64 " %" PRIu64 " %s\n" STR_FORMAT, record->begun,
			     record->ended, record->is_refused ? "refused" : "done",
			     STR_ARGUMENTS(buffer_view(&record->reason)));
	return run_file_replace(run, kind, buffer_view(&text), false);
}

bool request_record_is_there(const char *run, const char *kind)
{
	char path[PATH_MAX];
	struct os_file_info info;

	return snprintf(path, sizeof path, "%s/%s", run, kind) < (int)sizeof path &&
	       os_file_info_at(OS_FILE_HERE, path, &info) == 0;
}

static int parse_request_record(struct str text, struct request_record *record)
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

int request_record_read(const char *run, const char *kind, uid_t owner,
			struct request_record *record)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int error = run_file_read(run, kind, owner, RECORD_MAX, &text);

	*record = (struct request_record){0};
	if (error == -ENOENT)
		return 0;
	return error < 0 ? error : parse_request_record(buffer_view(&text), record);
}
