// SPDX-License-Identifier: ISC
/* A day's results as the JSON of RFC 8460 section 4.4. */
#include "base/text/json.h"
#include "base/timestamp.h"
#include "policy/tlsrpt/internal.h"
#include <string.h>
#include <utlist.h>

static void append_json_list(struct buffer *out, const char *name, struct str text, char between)
{
	const char *comma = "";
	struct str item;

	if (text.length == 0)
		return;
	json_field(out, name);
	buffer_append_byte(out, '[');
	while (text.length > 0 && str_split(&text, between, &item)) {
		buffer_append_string(out, comma);
		json_append_text(out, item);
		comma = ",";
	}
	buffer_append_byte(out, ']');
}

static void append_known(struct buffer *out, const char *name, const char *word)
{
	if (strcmp(word, "-") != 0 && *word != '\0')
		json_field_text(out, name, str_from(word));
}

static void append_failure_details(struct buffer *out, const struct tlsrpt_failure *failure)
{
	buffer_append_byte(out, '{');
	json_field_text(out, "result-type", str_from(tlsrpt_result_name(failure->result)));
	append_known(out, "sending-mta-ip", failure->own_address);
	append_known(out, "receiving-mx-hostname", failure->host);
	append_known(out, "receiving-mx-helo", failure->greeting);
	append_known(out, "receiving-ip", failure->server_address);
	json_field_number(out, "failed-session-count", failure->count);
	append_known(out, "failure-reason-code", failure->reason);
	buffer_append_byte(out, '}');
}

static void append_failures(struct buffer *out, const struct tlsrpt_applied *policy)
{
	const struct tlsrpt_failure *failure;

	if (policy->failures == NULL)
		return;
	json_field(out, "failure-details");
	buffer_append_byte(out, '[');
	LL_FOREACH(policy->failures, failure)
	{
		if (failure != policy->failures)
			buffer_append_byte(out, ',');
		append_failure_details(out, failure);
	}
	buffer_append_byte(out, ']');
}

static void append_policy_summary(struct buffer *out, const struct tlsrpt_applied *policy,
				  const char *domain)
{
	buffer_append_byte(out, '{');
	json_field(out, "policy");
	buffer_append_byte(out, '{');
	json_field_text(out, "policy-type", str_from(tlsrpt_policy_names[policy->kind]));
	append_json_list(out, "policy-string", str_from(policy->text), '\n');
	json_field_text(out, "policy-domain", str_from(domain));
	append_json_list(out, "mx-host", str_from(policy->hosts), ' ');
	buffer_append_byte(out, '}');
	json_field(out, "summary");
	buffer_append_byte(out, '{');
	json_field_number(out, "total-successful-session-count", policy->successes);
	json_field_number(out, "total-failure-session-count", tlsrpt_applied_failures(policy));
	buffer_append_byte(out, '}');
	append_failures(out, policy);
	buffer_append_byte(out, '}');
}

void tlsrpt_day_report(const struct tlsrpt_day *day, const struct tlsrpt_head *head,
		       struct buffer *out)
{
	const struct tlsrpt_applied *policy;

	buffer_append_byte(out, '{');
	json_field_text(out, "organization-name", str_from(head->organization));
	json_field(out, "date-range");
	buffer_append_byte(out, '{');
	json_field_time(out, "start-datetime", head->begin_us);
	json_field_time(out, "end-datetime", head->begin_us + DAY_US - SECOND_US);
	buffer_append_byte(out, '}');
	json_field_text(out, "contact-info", str_from(head->contact));
	json_field_text(out, "report-id", str_from(head->id));
	json_field(out, "policies");
	buffer_append_byte(out, '[');
	LL_FOREACH(day->policies, policy)
	{
		if (policy != day->policies)
			buffer_append_byte(out, ',');
		append_policy_summary(out, policy, head->domain);
	}
	buffer_append_string(out, "]}\n");
}
