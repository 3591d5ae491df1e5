// SPDX-License-Identifier: ISC
#include "command/tls/print.h"
#include "base/text/json.h"
#include "base/timestamp.h"
#include "deliver/remote/route/peer.h"
#include "mail/text/text.h"
#include "tls/peer_chain.h"

static const char *const outcome_names[] = {
	[REMOTE_PROBE_SECURED] = "secured",
	[REMOTE_PROBE_PLAIN] = "plain",
	[REMOTE_PROBE_WAITS] = "waits",
};

static const char *const outcome_meanings[] = {
	[REMOTE_PROBE_SECURED] = "mail is sent by TLS",
	[REMOTE_PROBE_PLAIN] = "mail is sent in plain text",
	[REMOTE_PROBE_WAITS] = "mail waits",
};

/* A line "  NAME       TEXT"; strangers may have written TEXT. */
static void append_named_line(struct buffer *out, const char *name, struct str text)
{
	buffer_append_format(out, "  %-11s ", name);
	mail_text_append(out, text, MAIL_TEXT_8BIT);
	buffer_append_byte(out, '\n');
}

static void append_validity_time(struct buffer *out, int64_t time_us)
{
	char text[TIMESTAMP_SIZE];

	timestamp_format_seconds(time_us, text);
	buffer_append_string(out, text);
}

static void append_certificate(struct buffer *out, size_t number,
			       const struct tls_peer_certificate *certificate)
{
	struct buffer text = {0};

	append_named_line(out, number == 0 ? "certificate" : "signed by",
			  str_from(certificate->subject));
	append_named_line(out, "  issuer", str_from(certificate->issuer));
	append_validity_time(&text, certificate->not_before_us);
	buffer_append_string(&text, " to ");
	append_validity_time(&text, certificate->not_after_us);
	append_named_line(out, "  valid", buffer_view(&text));
	buffer_reset(&text);
	for (size_t i = 0; number == 0 && i < certificate->name_count; i++)
		buffer_append_format(&text, "%s%s", i > 0 ? ", " : "", certificate->names[i]);
	if (text.length > 0)
		append_named_line(out, "  names", buffer_view(&text));
	append_named_line(out, "  sha256", str_from(certificate->fingerprint));
	append_named_line(out, "  key", str_from(certificate->key));
	append_named_line(out, "  key sha256", str_from(certificate->key_fingerprint));
	buffer_clear(&text);
}

/* "3 1 1 8d4c...": as zone files have it (RFC 6698 section 2.2). */
static void append_tlsa(struct buffer *out, const struct tls_tlsa *record)
{
	buffer_append_format(out, "%u %u %u ", record->usage, record->selector, record->matching);
	for (size_t i = 0; i < record->data.length; i++)
		buffer_append_format(out, "%02x", (unsigned char)record->data.data[i]);
}

static void append_tls_policy(struct buffer *out, const struct remote_policy *policy)
{
	struct buffer text = {0};

	buffer_append_format(&text, "%s (%s)", remote_policy_level_name(policy->level),
			     policy->origin);
	append_named_line(out, "policy", buffer_view(&text));
	if (policy->dane != NULL)
		append_named_line(out, "dane", str_from(policy->dane));
	if (policy->sts != NULL)
		append_named_line(out, "mta-sts", str_from(policy->sts));
	for (size_t i = 0; i < policy->verify.record_count; i++) {
		buffer_reset(&text);
		append_tlsa(&text, &policy->verify.records[i]);
		append_named_line(out, "  tlsa", buffer_view(&text));
	}
	buffer_clear(&text);
}

static void append_tls(struct buffer *out, const struct ipc_job_tls *tls)
{
	struct buffer text = {0};

	buffer_append_format(&text, STR_FORMAT " " STR_FORMAT, STR_ARGUMENTS(tls->version),
			     STR_ARGUMENTS(tls->cipher));
	append_named_line(out, "tls", buffer_view(&text));
	append_named_line(out, "verified", tls->verified);
	buffer_clear(&text);
}

static void append_probe_outcome(struct buffer *out, const struct remote_probe_result *result)
{
	struct buffer text = {0};

	buffer_append_format(&text, "%s%s%s", outcome_meanings[result->outcome],
			     result->reason[0] != '\0' ? ": " : "", result->reason);
	append_named_line(out, "result", buffer_view(&text));
	buffer_clear(&text);
}

static size_t read_chain_of_server(const struct remote_probe_result *result, struct arena *arena,
				   const struct tls_peer_certificate **list_out)
{
	return result->connection != NULL ? tls_peer_chain_read(result->connection, arena, list_out)
					  : 0;
}

void command_tls_text(struct str destination, const struct remote_probe_result *result,
		      struct buffer *out)
{
	struct arena *arena = arena_new();
	const struct tls_peer_certificate *chain;
	size_t count = read_chain_of_server(result, arena, &chain);
	char peer[REMOTE_PEER_SIZE];

	(void)destination;
	remote_peer_format(result->server, peer);
	mail_text_append(out, str_from(peer), MAIL_TEXT_8BIT);
	buffer_append_byte(out, '\n');
	append_named_line(out, "route", str_from(result->route));
	if (*result->source != '\0')
		append_named_line(out, "source", str_from(result->source));
	append_tls_policy(out, result->policy);
	if (result->tls != NULL)
		append_tls(out, result->tls);
	for (size_t i = 0; i < count; i++)
		append_certificate(out, i, &chain[i]);
	append_probe_outcome(out, result);
	arena_free(arena);
}

static void json_certificate(struct buffer *out, const struct tls_peer_certificate *certificate)
{
	buffer_append_byte(out, '{');
	json_field_text(out, "subject", str_from(certificate->subject));
	json_field_text(out, "issuer", str_from(certificate->issuer));
	json_field_time(out, "not_before", certificate->not_before_us);
	json_field_time(out, "not_after", certificate->not_after_us);
	json_field(out, "names");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < certificate->name_count; i++) {
		if (i > 0)
			buffer_append_byte(out, ',');
		json_append_text(out, str_from(certificate->names[i]));
	}
	buffer_append_byte(out, ']');
	json_field_text(out, "sha256", str_from(certificate->fingerprint));
	json_field_text(out, "key", str_from(certificate->key));
	json_field_text(out, "key_sha256", str_from(certificate->key_fingerprint));
	buffer_append_byte(out, '}');
}

static void json_policy(struct buffer *out, const struct remote_policy *policy)
{
	json_field_text(out, "policy", str_from(remote_policy_level_name(policy->level)));
	json_field_text(out, "source", str_from(remote_policy_source_name(policy->source)));
	json_field_text(out, "origin", str_from(policy->origin));
	if (policy->sts != NULL)
		json_field_text(out, "mta_sts", str_from(policy->sts));
}

static void json_dane(struct buffer *out, const struct remote_policy *policy)
{
	if (policy->dane == NULL)
		return;
	json_field_text(out, "dane", str_from(policy->dane));
	json_field(out, "tlsa");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < policy->verify.record_count; i++) {
		struct buffer text = {0};

		if (i > 0)
			buffer_append_byte(out, ',');
		append_tlsa(&text, &policy->verify.records[i]);
		json_append_text(out, buffer_view(&text));
		buffer_clear(&text);
	}
	buffer_append_byte(out, ']');
}

static void json_tls(struct buffer *out, const struct ipc_job_tls *tls)
{
	json_field_text(out, "tls", tls->version);
	json_field_text(out, "cipher", tls->cipher);
	json_field_text(out, "verified", tls->verified);
}

void command_tls_json(struct str destination, const struct remote_probe_result *result,
		      struct buffer *out)
{
	struct arena *arena = arena_new();
	const struct tls_peer_certificate *chain;
	size_t count = read_chain_of_server(result, arena, &chain);
	char address[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format(&result->server->address, address);
	buffer_append_byte(out, '{');
	json_field_text(out, "destination", destination);
	json_field_text(out, "host", str_from(result->server->host));
	json_field_text(out, "address", str_from(address));
	json_field_text(out, "route", str_from(result->route));
	if (*result->source != '\0')
		json_field_text(out, "from", str_from(result->source));
	json_policy(out, result->policy);
	json_dane(out, result->policy);
	if (result->tls != NULL)
		json_tls(out, result->tls);
	json_field(out, "certificates");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			buffer_append_byte(out, ',');
		json_certificate(out, &chain[i]);
	}
	buffer_append_byte(out, ']');
	json_field_text(out, "result", str_from(outcome_names[result->outcome]));
	json_field_text(out, "reason", str_from(result->reason));
	buffer_append_string(out, "}\n");
	arena_free(arena);
}
