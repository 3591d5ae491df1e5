// SPDX-License-Identifier: ISC
#include "command/queue/filter.h"
#include "os/clock.h"
#include "os/file/file.h"
#include <stdio.h>
#include <string.h>

/* The latest birth of messages that are as old as TEXT says; TEXT may be NULL. */
static bool parse_birth(const char *text, int64_t *born_us_out)
{
	int64_t age_us;

	if (text == NULL)
		return true;
	if (!command_parse_time(text, &age_us))
		return false;
	*born_us_out = os_clock_wall_us() - age_us;
	return true;
}

bool queue_filter_is_given(const struct queue_filter *filter)
{
	return filter->sender != NULL || filter->recipient != NULL || filter->domain != NULL ||
	       filter->stage != NULL || filter->transport != NULL || filter->older != NULL ||
	       filter->younger != NULL || filter->reason != NULL || filter->trigger != NULL ||
	       filter->host != NULL || filter->user != NULL || filter->client != NULL ||
	       filter->held;
}

static struct str text_of_filter_option(const char *text)
{
	return text != NULL ? str_from(text) : STR("");
}

/* An empty word would match everything. */
static bool has_empty_word(const struct queue_filter *filter)
{
	const char *const words[] = {filter->sender, filter->recipient, filter->domain,
				     filter->stage,  filter->transport, filter->trigger,
				     filter->host,   filter->reason,    filter->user,
				     filter->client};

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (words[i] != NULL && words[i][0] == '\0')
			return true;
	return false;
}

static bool parse_trigger(struct queue_filter *filter, struct str *trigger_out,
			  const char **why_out)
{
	*trigger_out = text_of_filter_option(filter->trigger);
	if (filter->host != NULL) {
		int length = snprintf(filter->host_trigger, sizeof filter->host_trigger, "host.%s",
				      filter->host);

		*why_out = "--trigger and --host exclude each other";
		if (filter->trigger != NULL)
			return false;
		*why_out = "--host needs the name of a host";
		if (length >= (int)sizeof filter->host_trigger)
			return false;
		str_lower(filter->host_trigger, (size_t)length);
		*trigger_out = str_from(filter->host_trigger);
		return queue_trigger_name_is_valid(*trigger_out);
	}
	*why_out = "that is no name of a trigger; allowed: " QUEUE_TRIGGER_NAMES;
	return trigger_out->length == 0 || queue_trigger_name_is_valid(*trigger_out);
}

/* TEXT may be NULL. */
static bool parse_client(const char *text, struct config_network *client_out, const char **why_out)
{
	static char why[160];
	struct config scratch = {.arena = arena_new()}; /* of the complaint */
	const char *problem = NULL;

	if (text != NULL)
		problem = config_network_parse(&scratch, str_from(text), client_out);
	if (problem != NULL)
		snprintf(why, sizeof why,
			 "--client %.60s: %s; allowed: an address, or a network such as "
			 "192.0.2.0/24",
			 text, problem);
	arena_free(scratch.arena);
	*why_out = why;
	return problem == NULL;
}

bool queue_filter_parse(struct queue_filter *filter, struct listing_filter *parsed_out,
			const char **why_out)
{
	struct listing_filter parsed = {
		.sender = text_of_filter_option(filter->sender),
		.recipient = text_of_filter_option(filter->recipient),
		.domain = text_of_filter_option(filter->domain),
		.transport = text_of_filter_option(filter->transport),
		.reason = text_of_filter_option(filter->reason),
		.user = text_of_filter_option(filter->user),
		.has_client = filter->client != NULL,
		.is_held = filter->held,
	};

	*why_out = "a filter needs a word; for the null sender that is <>";
	if (has_empty_word(filter))
		return false;
	parsed.is_from_null = str_equal(parsed.sender, STR("<>"));
	*why_out = "--stage is submit or arrive";
	if (filter->stage != NULL && !mail_stage_parse(str_from(filter->stage), &parsed.stage))
		return false;
	parsed.has_stage = filter->stage != NULL;
	if (!parse_trigger(filter, &parsed.trigger, why_out))
		return false;
	if (!parse_client(filter->client, &parsed.client, why_out))
		return false;
	*why_out = "--older and --younger need a time like 30m, 12h or 5d";
	if (!parse_birth(filter->older, &parsed.born_before_us) ||
	    !parse_birth(filter->younger, &parsed.born_after_us))
		return false;
	*parsed_out = parsed;
	return true;
}

bool queue_filter_transport_exists(const struct listing_filter *filter, const struct config *config,
				   const struct queue_store *store)
{
	char path[QUEUE_SERVICE_MAX + 8];
	struct os_file_info info;

	if (filter->transport.length == 0 ||
	    config_transport_find(config, filter->transport) != NULL)
		return true;
	snprintf(path, sizeof path, "local/" STR_FORMAT, STR_ARGUMENTS(filter->transport));
	if (queue_service_is_valid(filter->transport) &&
	    os_file_info_at(queue_store_directory(store), path, &info) == 0)
		return true;
	fprintf(stderr, "stagepost: --transport: there is no transport " STR_FORMAT "\n",
		STR_ARGUMENTS(filter->transport));
	return false;
}
