// SPDX-License-Identifier: ISC
/*
 * Whether "keys" can use the certificates of a new configuration: a reload that would take TLS from
 * listeners is refused. Their files are read here as its user, and forgotten; who may become that
 * user learns nothing new by that.
 */
#include "keys/certificate.h"
#include "log/event.h"
#include "os/worker.h"
#include "supervisor/internal.h"
#include <string.h>

struct certificate_reading {
	const struct supervisor *supervisor;
	const struct config_certificate *wanted;
	int error;
	const char *file;
	struct buffer reason;
};

/* In a thread of its own, which ends with the user's rights. A supervisor of root's gives "keys"
 * the right to read all files. */
static void read_as_keys(void *context)
{
	struct certificate_reading *reading = context;
	const struct supervisor *supervisor = reading->supervisor;
	const struct os_process_user *user = &program_users_of(&supervisor->users, "keys")->user;
	struct keys_certificate read = {0};

	reading->file = reading->wanted->chain;
	if (user->change && supervisor->users.own != 0)
		reading->error = os_process_files_as(user);
	if (reading->error == 0)
		reading->error = keys_certificate_read(reading->wanted, &read, &reading->file,
						       &reading->reason);
	keys_certificate_clear(&read);
}

static bool can_use(const struct supervisor *supervisor, const struct config_certificate *wanted,
		    struct buffer *reason)
{
	struct certificate_reading reading = {.supervisor = supervisor, .wanted = wanted};
	struct os_worker *worker;

	reading.error = os_worker_new(read_as_keys, &reading, NULL, &worker);
	if (reading.error == 0) {
		os_worker_start(worker);
		os_worker_free(worker);
	}
	if (reading.error < 0) {
		if (reading.reason.length == 0)
			buffer_append_string(&reading.reason, strerror(-reading.error));
		buffer_append_format(reason, "certificate %s: %s: " STR_FORMAT, wanted->name,
				     reading.file, STR_ARGUMENTS(buffer_view(&reading.reason)));
	}
	buffer_clear(&reading.reason);
	return reading.error == 0;
}

static bool is_in_force(const struct config *config, const struct config_certificate *wanted)
{
	for (size_t i = 0; i < config->certificate_count; i++)
		if (strcmp(config->certificates[i].chain, wanted->chain) == 0 &&
		    strcmp(config->certificates[i].key, wanted->key) == 0)
			return true;
	return false;
}

bool supervisor_can_use_certificates(const struct supervisor *supervisor,
				     const struct config *config, struct buffer *reason)
{
	for (size_t i = 0; i < config->certificate_count; i++) {
		const struct config_certificate *wanted = &config->certificates[i];

		if (!is_in_force(supervisor->config, wanted) &&
		    !can_use(supervisor, wanted, reason))
			return false;
	}
	return true;
}
