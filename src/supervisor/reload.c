// SPDX-License-Identifier: ISC
/* A new configuration is checked first; if it is invalid, the old one stays in force. */
#include "config/text.h"
#include "log/event.h"
#include "os/process/process.h"
#include "supervisor/internal.h"
#include "supervisor/start/log_settings.h"
#include <errno.h>
#include <string.h>

/* Logs the problem, and records it for commands that wait for the result. */
static void refuse_reload(struct supervisor *supervisor, struct str problem)
{
	struct request_record *record = &supervisor->reload;

	record->is_refused = true;
	if (record->reason.length > 0)
		buffer_append_byte(&record->reason, '\n');
	buffer_append_str(&record->reason, problem);
}

static void refuse_problems(struct supervisor *supervisor, const struct config_problems *problems)
{
	struct buffer text = {0};
	struct str rest;
	struct str line;

	config_problems_print(problems, supervisor->file, &text);
	rest = buffer_view(&text);
	while (str_split(&rest, '\n', &line))
		if (line.length > 0) {
			log_event(EVENT_CONFIG_REFUSED, log_str(problem, line));
			refuse_reload(supervisor, line);
		}
	buffer_clear(&text);
}

static void refuse_fixed(struct supervisor *supervisor, const char *setting)
{
	struct buffer text = {0};

	log_event(EVENT_CONFIG_REFUSED, log_string(setting, setting),
		  log_string(problem, "can only be changed by a restart"));
	buffer_append_format(&text, "%s: %s can only be changed by a restart", supervisor->file,
			     setting);
	refuse_reload(supervisor, buffer_view(&text));
	buffer_clear(&text);
}

/* Those of the configuration in force, without those that were bound for the new one. */
static void keep_sockets(struct supervisor *supervisor)
{
	(void)!supervisor_bind_sockets(supervisor, supervisor->config, 0);
	supervisor_drop_sockets(supervisor);
}

static void refuse_sockets(struct supervisor *supervisor)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%s: a listening socket cannot be bound: " STR_FORMAT,
			     supervisor->file, STR_ARGUMENTS(buffer_view(&supervisor->unbound)));
	log_event(EVENT_CONFIG_REFUSED, log_str(problem, buffer_view(&text)));
	refuse_reload(supervisor, buffer_view(&text));
	keep_sockets(supervisor);
}

/* A setting that a running node cannot change: reported, not ignored. Whether services deliver as
 * other users is one. */
static const char *fixed_setting_changed(const struct config *old, const struct config *new)
{
	const char *setting = config_fixed_change(old, new);

	if (setting != NULL)
		return setting;
	if (os_process_may_change_user() &&
	    (config_has_mailbox_owners(old) != config_has_mailbox_owners(new) ||
	     config_has_owners(old, CONFIG_SERVICE_PIPE) !=
		     config_has_owners(new, CONFIG_SERVICE_PIPE)))
		return "user of services";
	return NULL;
}

static void take_over_reloaded_config(struct supervisor *supervisor, struct config *config,
				      struct buffer *text)
{
	struct buffer old_text = supervisor->text;
	struct config *old = supervisor->config;

	supervisor->config = config;
	log_settings_apply("stagepost", config);
	if (config_has_passwords(config))
		os_process_hide_memory();
	supervisor->text = *text;
	*text = old_text;
	supervisor_keep_good_config(supervisor);
	supervisor_use_limits(supervisor);
	(void)!supervisor_prepare_data(
		supervisor); /* it logs; the directory process reports it, too */
	for (size_t i = 0; i < supervisor->process_count; i++)
		supervisor_set_up(&supervisor->processes[i]);
	supervisor_choose_processes(supervisor);
	supervisor_drop_sockets(supervisor);
	config_free(old);
	log_event(EVENT_CONFIG_RELOADED, log_string(file, supervisor->file));
}

static bool can_use_certificates(struct supervisor *supervisor, const struct config *config)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};

	if (supervisor_can_use_certificates(supervisor, config, &reason))
		return true;
	log_event(EVENT_CONFIG_REFUSED, log_str(problem, buffer_view(&reason)));
	refuse_reload(supervisor, buffer_view(&reason));
	return false;
}

static void try_reload(struct supervisor *supervisor)
{
	struct config_problems problems = {0};
	struct config *config = NULL;
	struct buffer text = {0};
	const char *fixed;
	int error = config_read(supervisor->file, &text, &problems);

	if (error == 0)
		error = config_parse(supervisor->file, buffer_view(&text), &config, &problems);
	fixed = error == 0 ? fixed_setting_changed(supervisor->config, config) : NULL;
	if (error < 0) {
		refuse_problems(supervisor, &problems);
	} else if (fixed != NULL) {
		refuse_fixed(supervisor, fixed);
	} else if (!supervisor_can_work(config, buffer_view(&text), &supervisor->reload.reason,
					NULL)) {
		supervisor->reload.is_refused = true;
	} else if (!can_use_certificates(supervisor, config)) {
		; /* it is refused */
	} else if (supervisor_bind_sockets(supervisor, config, 0) < 0) {
		refuse_sockets(supervisor);
	} else if (supervisor_prepare_limits(supervisor, config) < 0) {
		refuse_reload(supervisor, STR("there is no memory to count sessions in"));
		keep_sockets(supervisor);
	} else {
		take_over_reloaded_config(supervisor, config, &text);
		config = NULL;
	}
	config_free(config);
	config_problems_clear(&problems);
	buffer_clear(&text);
}

static void write_reload_record(const struct supervisor *supervisor)
{
	int error =
		request_record_write(supervisor->config->run, REQUEST_RELOAD, &supervisor->reload);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string(run, supervisor->config->run),
			  log_string(reason, "what became of a reload cannot be written"),
			  log_error(error));
}

void supervisor_reload(void *context)
{
	struct supervisor *supervisor = context;
	struct request_record *record = &supervisor->reload;

	record->begun++;
	write_reload_record(supervisor);
	record->is_refused = false;
	buffer_clear(&record->reason);
	if (supervisor->upgrade.state == UPGRADE_NONE)
		try_reload(supervisor);
	else
		refuse_reload(supervisor,
			      STR("an upgrade is in progress: its configuration is in force "
				  "afterwards"));
	record->ended = record->begun;
	write_reload_record(supervisor);
}
