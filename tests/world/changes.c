// SPDX-License-Identifier: ISC
#include "changes.h"
#include "command.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Two directories may stand still between a command and the data, one after the other, each for up
 * to two minutes; then they find what it asked for. */
static const int64_t UNANSWERED_US = 300 * INT64_C(1000000);
static const int64_t LIVE_US = 1000000;                /* a change is known everywhere */
static const int64_t LATE_US = 180 * INT64_C(1000000); /* after something was done to a machine */

static int64_t late_us = LATE_US;

enum { NAME_SIZE = 128 };

/* What a record may have meant since FROM_US, until another change was confirmed that began after
 * LAST_US. */
struct change {
	unsigned meaning;
	int64_t from_us;      /* its command began */
	int64_t confirmed_us; /* INT64_MAX: it failed, or goes on still */
	int64_t last_us;      /* not made later than then; INT64_MAX: it goes on still */
	bool is_sql;
	bool has_failed;
	struct change *older;
};

/* The one that is being made. */
static struct {
	struct change *change;
	const struct machine *machine;
	char name[NAME_SIZE];
	void (*done)(bool is_good);
} now;

static int64_t struck_us;

void changes_begin(void)
{
	struck_us = -late_us;
}

void changes_are_late_by(int64_t us)
{
	late_us = us;
}

void changes_excuse(void)
{
	struck_us = kernel_now_us();
}

bool changes_are_known(int64_t confirmed_us, int64_t since_us)
{
	return confirmed_us + (struck_us + late_us > since_us ? late_us : LIVE_US) < since_us;
}

static struct change *change_new(struct changes *changes, unsigned meaning, bool is_sql)
{
	struct change *change = calloc(1, sizeof *change);

	if (change == NULL)
		err(1, "no memory");
	*change = (struct change){.meaning = meaning,
				  .from_us = kernel_now_us(),
				  .confirmed_us = INT64_MAX,
				  .last_us = INT64_MAX,
				  .is_sql = is_sql,
				  .older = changes->newest};
	changes->newest = change;
	return change;
}

/* SQLite ignores an error when it makes the name of its log durable: while the disk fails, what
 * somebody else than Stagepost writes can be lost. */
static bool is_sure(const struct change *change)
{
	return !change->is_sql || now.machine->disk_fails_until_us < change->from_us;
}

/* A command that nobody answered may be carried out yet, after others that came later. */
static bool is_answered(const struct change *change, int status, const char *output)
{
	return change->is_sql || (WIFEXITED(status) && strstr(output, "does not answer") == NULL);
}

static void ended(void *context, int status, const char *output)
{
	struct change *change = now.change;
	/* "del": there was no such record is as good */
	bool is_good = (status == 0 || (change->meaning == CHANGES_ABSENT && status == 1 << 8 &&
					!change->is_sql)) &&
		       is_sure(change);

	(void)context;
	world_log("people", "%s: status %d%s%.*s", now.name, status, *output != '\0' ? ", " : "",
		  (int)strcspn(output, "\n"), output);
	if (is_good)
		change->confirmed_us = kernel_now_us();
	change->last_us =
		kernel_now_us() + (is_answered(change, status, output) ? 0 : UNANSWERED_US);
	change->has_failed = !is_good;
	now.done(is_good);
}

void changes_make(struct changes *changes, unsigned meaning, const struct change_order *order,
		  void (*done)(bool is_good))
{
	now.change = change_new(changes, meaning, order->is_sql);
	now.machine = order->machine;
	now.done = done;
	snprintf(now.name, sizeof now.name, "%s", order->name);
	command_run(order->machine, order->is_sql ? "sql" : "stagepost", order->arguments, ended,
		    NULL);
}

bool changes_have_failed(const struct changes *changes, unsigned *meaning_out)
{
	if (changes->newest == NULL || !changes->newest->has_failed)
		return false;
	*meaning_out = changes->newest->meaning;
	return true;
}

/* Until a change is confirmed that rules it out: what may have been made after that one began
 * counts, too. */
bool changes_may_mean(const struct changes *changes, unsigned meanings, int64_t since_us)
{
	int64_t ruled_us = INT64_MIN; /* what was made until then counts no longer */

	for (const struct change *change = changes->newest; change != NULL;
	     change = change->older) {
		if ((meanings & 1u << change->meaning) != 0 && change->last_us > ruled_us)
			return true;
		if (ruled_us == INT64_MIN && change->confirmed_us != INT64_MAX &&
		    changes_are_known(change->confirmed_us, since_us))
			ruled_us = change->from_us;
	}
	return ruled_us == INT64_MIN && (meanings & 1u << CHANGES_ABSENT) != 0;
}

void changes_note(struct changes *changes, unsigned meaning)
{
	struct change *change = change_new(changes, meaning, false);

	change->confirmed_us = kernel_now_us();
	change->last_us = kernel_now_us();
}

void changes_clear(struct changes *changes)
{
	while (changes->newest != NULL) {
		struct change *change = changes->newest;

		changes->newest = change->older;
		free(change);
	}
}
