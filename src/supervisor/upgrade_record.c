// SPDX-License-Identifier: ISC
/* The record of upgrades, for the command that waits for one. */
#include "log/event.h"
#include "supervisor/internal.h"

static void write_upgrade_record(const struct supervisor *supervisor)
{
	int error = request_record_write(supervisor->config->run, REQUEST_UPGRADE,
					 &supervisor->upgrade.record);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string(run, supervisor->config->run),
			  log_string(reason, "what became of an upgrade cannot be written"),
			  log_error(error));
}

void supervisor_begin_upgrade(struct supervisor *supervisor)
{
	struct request_record *record = &supervisor->upgrade.record;

	record->begun++;
	record->is_refused = false;
	buffer_clear(&record->reason);
	write_upgrade_record(supervisor);
}

void supervisor_end_upgrade(struct supervisor *supervisor, bool is_refused)
{
	struct request_record *record = &supervisor->upgrade.record;

	record->ended = record->begun;
	record->is_refused = is_refused;
	write_upgrade_record(supervisor);
}

int supervisor_begin_upgrade_record(struct supervisor *supervisor)
{
	struct request_record *record = &supervisor->upgrade.record;

	if (request_record_read(supervisor->config->run, REQUEST_UPGRADE, supervisor->users.own,
				record) < 0)
		request_record_clear(record); /* somebody else's: it is replaced */
	record->ended = record->begun;
	if (supervisor->predecessor != NULL) /* it writes what becomes of this one */
		return 0;
	return request_record_write(supervisor->config->run, REQUEST_UPGRADE, record);
}

void supervisor_record_success(struct supervisor *supervisor)
{
	if (supervisor->is_our_turn && supervisor->was_ready && supervisor->predecessor == NULL &&
	    supervisor->upgrade.state == UPGRADE_NONE)
		supervisor_end_upgrade(supervisor, false);
}
