// SPDX-License-Identifier: ISC
#include "mutants.h"
#include "queue/store.h"
#include <string.h>

#define FILES   (1 << QUEUE_SYNC_FILES)
#define WHOLE   (1 << QUEUE_SYNC_FILESYSTEM)
#define ORDERED (1 << QUEUE_SYNC_ORDERED)
#define ALL     (FILES | WHOLE | ORDERED)

const struct mutant mutants[] = {
	{"qmail's order: todo directory not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "todo", 0,
	 NULL, FILES | ORDERED},
	{"data not synced", MUTANT_SKIP, CALL_SYNC, "pid", 0, NULL, FILES},
	{"mess directory not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "mess", 0, NULL, FILES},
	{"info directory not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "info", 0, NULL, FILES},
	{"bytes of a group not synced", MUTANT_SKIP, CALL_SYNC_FILESYSTEM, "bytes", 0, NULL, WHOLE},
	{"names of a group not synced", MUTANT_SKIP, CALL_SYNC_FILESYSTEM, "names", 0, NULL, WHOLE},
	{"map not synced", MUTANT_SKIP, CALL_SYNC, "intd", 0, NULL, FILES},
	{"outcome not synced", MUTANT_SKIP, CALL_SYNC, "info", 0, NULL, ALL},
	{"bounce not synced", MUTANT_SKIP, CALL_SYNC, "bounce", 0, NULL, FILES | ORDERED},
	{"bounce and its name not synced", MUTANT_SKIP, CALL_SYNC_FILESYSTEM, "bounce", 0, NULL,
	 WHOLE},
	{"bounce directory not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "bounce", 0, NULL, FILES},
	{"format not synced", MUTANT_SKIP, CALL_SYNC, "format.new", 0, NULL, ALL},
	/* where order is kept the next sync of a group says what these two do */
	{"queue's directory not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, ".", 0, NULL,
	 FILES | WHOLE},
	{"queue's parent not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "..", 0, NULL,
	 FILES | WHOLE},
	{"todo's directories not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "todo", 0, NULL, WHOLE},
	{"mess's directories not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "mess", 0, NULL, WHOLE},
	{"data not cut", MUTANT_SKIP, CALL_TRUNCATE, "pid", 0, NULL, ALL},
	{"data synced after todo", MUTANT_DEFER, CALL_SYNC, "pid", CALL_RENAME, "todo", FILES},
	{"bytes synced after todo", MUTANT_DEFER, CALL_SYNC_FILESYSTEM, "bytes", CALL_RENAME,
	 "todo", WHOLE},
	{"bounce synced after outcome", MUTANT_DEFER, CALL_SYNC, "bounce", CALL_SYNC, "info",
	 FILES | ORDERED},
	{"bounce and its name synced after outcome", MUTANT_DEFER, CALL_SYNC_FILESYSTEM, "bounce",
	 CALL_SYNC, "info", WHOLE},
	{"bounce's name synced after outcome", MUTANT_DEFER, CALL_SYNC_DIRECTORY, "bounce",
	 CALL_SYNC, "info", FILES},
	{"map synced after todo went", MUTANT_DEFER, CALL_SYNC, "intd", CALL_UNLINK, "todo", FILES},
	{"info synced after todo went", MUTANT_DEFER, CALL_SYNC_DIRECTORY, "info", CALL_UNLINK,
	 "todo", FILES},
	{"names synced after todo went", MUTANT_DEFER, CALL_SYNC_FILESYSTEM, "names", CALL_UNLINK,
	 "todo", WHOLE},
	{"removal from todo synced after info went", MUTANT_DEFER, CALL_SYNC_DIRECTORY, "todo",
	 CALL_UNLINK, "info", FILES},
	{"cleaned bounce not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "bounce", 0, NULL, FILES,
	 true},
	{"no quarantine after todo", MUTANT_FORGET_REMOVALS, 0, "todo", 0, NULL, ALL},
	{"no quarantine after info", MUTANT_FORGET_REMOVALS, 0, "info", 0, NULL, ALL},
	{"no quarantine after bounce", MUTANT_FORGET_REMOVALS, 0, "bounce", 0, NULL, ALL},
	{"directory of a node not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "handed", 0, NULL,
	 FILES},
	{"no quarantine after handed", MUTANT_FORGET_REMOVALS, 0, "handed", 0, NULL, ALL},
	{"data not written out", MUTANT_SKIP, CALL_WRITE_OUT, "pid", 0, NULL, ORDERED},
	{"map not written out", MUTANT_SKIP, CALL_WRITE_OUT, "intd", 0, NULL, ORDERED},
	{"data written out after todo", MUTANT_DEFER, CALL_WRITE_OUT, "pid", CALL_RENAME, "todo",
	 ORDERED},
	{"new control file not synced", MUTANT_SKIP, CALL_SYNC, "intd", 0, NULL, WHOLE},
	{"new control file synced after info", MUTANT_DEFER, CALL_SYNC, "intd", CALL_RENAME, "info",
	 FILES | WHOLE},
	{"new control file written out after info", MUTANT_DEFER, CALL_WRITE_OUT, "intd",
	 CALL_RENAME, "info", ORDERED},
	{"name of a new control file not synced", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "info", 0, NULL,
	 ORDERED},
	{"first directory of todo synced, not the last", MUTANT_FIRST, CALL_SYNC_DIRECTORY, "todo",
	 CALL_RENAME, "todo", ORDERED},
	{"map written out after todo went", MUTANT_DEFER, CALL_WRITE_OUT, "intd", CALL_UNLINK,
	 "todo", ORDERED},
	/* elsewhere what has no mark is litter, and delivered to nobody either */
	{"end not marked", MUTANT_SKIP, CALL_MODIFY, "mess", 0, NULL, ORDERED},
	{"quarantine released without a sync", MUTANT_SKIP, CALL_SYNC_DIRECTORY, "pid", 0, NULL,
	 ORDERED},
};

const size_t mutant_count = sizeof mutants / sizeof mutants[0];

bool mutant_is_call(enum call call, const char *place, enum call wanted, const char *wanted_place)
{
	return call == wanted && (wanted_place == NULL || strcmp(place, wanted_place) == 0);
}
