// SPDX-License-Identifier: ISC
#include "keys/certificate.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/clock.h"
#include "tls/certificate.h"
#include "tls/identity.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *key_path(const struct config_certificate *wanted)
{
	return *wanted->key != '\0' ? wanted->key : wanted->chain;
}

static int read_configured_chain(const char *path, struct keys_certificate *out,
				 struct buffer *reason)
{
	int error = keys_read_certificates(path, TLS_KEY_FILE_SIZE_MAX, &out->chain, reason);

	if (error == 0 && out->chain.length > TLS_CHAIN_SIZE_MAX) {
		buffer_append_format(reason, "more than %d bytes of certificates",
				     TLS_CHAIN_SIZE_MAX);
		error = -EFBIG;
	}
	return error;
}

/* As those who get it will do: one that they cannot use would keep them from all others. */
static int try_chain(struct str chain, struct buffer *reason)
{
	static const struct tls_signer nobody;
	const struct tls_certificate one = {.chain = chain};
	const struct tls_identity_settings settings = {
		.certificates = &one, .certificate_count = 1, .signer = &nobody};
	struct tls_context *context;
	int error = tls_identity_open(&settings, &context, reason);

	if (error == 0)
		tls_context_free(context);
	return error;
}

/* A chain with gaps or out of date can be used: clients will say what they think of it. */
static int judge_certificate_chain(struct keys_certificate *out, struct buffer *reason)
{
	struct arena *arena = arena_new();
	struct tls_chain chain;
	int error = tls_chain_read(buffer_view(&out->chain), arena, &chain, reason);

	if (error == 0) {
		out->ends_us = chain.links[0].ends_us;
		if (memcmp(chain.key, tls_private_key_id(out->key), TLS_KEY_ID_SIZE) != 0) {
			buffer_append_string(reason,
					     "the private key does not match the certificate");
			error = -EINVAL;
		} else {
			error = try_chain(buffer_view(&out->chain), reason);
		}
	}
	arena_free(arena);
	return error;
}

int keys_certificate_read(const struct config_certificate *wanted, struct keys_certificate *out,
			  const char **file_out, struct buffer *reason)
{
	int error;

	*file_out = wanted->chain;
	error = read_configured_chain(wanted->chain, out, reason);
	if (error < 0)
		return error;
	*file_out = key_path(wanted);
	error = tls_private_key_open(key_path(wanted), &out->key, reason);
	if (error < 0) {
		keys_append_place(key_path(wanted), error, reason);
		return error;
	}
	*file_out = wanted->chain;
	return judge_certificate_chain(out, reason);
}

static void take_over_certificate(struct keys_certificate *certificate,
				  struct keys_certificate *fresh, struct keys_retired *retired)
{
	buffer_clear(&certificate->chain);
	keys_retired_add(retired, certificate->key);
	certificate->chain = fresh->chain;
	certificate->key = fresh->key;
	certificate->ends_us = fresh->ends_us;
	certificate->days_warned = 0;
	certificate->is_ended = false;
}

static void log_loaded(const struct keys_certificate *certificate)
{
	char until[TIMESTAMP_SIZE];

	timestamp_format_seconds(certificate->ends_us, until);
	log_event(EVENT_CERTIFICATE_LOADED, log_string(certificate, certificate->name),
		  log_string(until, until));
}

/* IS_SAME: as the last time, when the reason was logged. */
static bool read_certificate_again(struct keys_certificate *certificate,
				   const struct config_certificate *wanted,
				   struct keys_retired *retired, bool is_same)
{
	struct keys_certificate fresh = {0};
	struct buffer reason = {0};
	const char *file;
	int error = keys_certificate_read(wanted, &fresh, &file, &reason);

	buffer_clear(&certificate->problem);
	if (error == 0) {
		take_over_certificate(certificate, &fresh, retired);
		log_loaded(certificate);
	} else {
		buffer_append_format(&certificate->problem, "%s: ", file);
		buffer_append_str(&certificate->problem, buffer_view(&reason));
		if (!is_same || error != certificate->error)
			log_event(EVENT_CERTIFICATE_ERROR,
				  log_string(certificate, certificate->name),
				  log_string(file, file), log_str(text, buffer_view(&reason)));
		keys_certificate_clear(&fresh);
	}
	certificate->error = error;
	buffer_clear(&reason);
	return error == 0;
}

bool keys_certificate_refresh(struct keys_certificate *certificate,
			      const struct config_certificate *wanted, struct keys_retired *retired)
{
	struct keys_stamp chain = keys_stamp_of(wanted->chain);
	struct keys_stamp key = keys_stamp_of(key_path(wanted));
	const bool is_same = certificate->is_known &&
			     keys_stamp_is_same(&chain, &certificate->chain_stamp) &&
			     keys_stamp_is_same(&key, &certificate->key_stamp);

	if (is_same && !keys_error_passes(certificate->error))
		return false;
	certificate->is_known = true;
	certificate->chain_stamp = chain;
	certificate->key_stamp = key;
	return read_certificate_again(certificate, wanted, retired, is_same);
}

/* The most urgent of the warnings that are due with so much time left; 0: none. */
static unsigned days_to_warn(int64_t left_us)
{
	static const unsigned days[] = {1, 7, 30};

	for (size_t i = 0; i < COUNT_OF(days); i++)
		if (left_us <= days[i] * DAY_US)
			return days[i];
	return 0;
}

void keys_certificate_warn(struct keys_certificate *certificate)
{
	int64_t left_us = certificate->ends_us - os_clock_wall_us();
	unsigned days = days_to_warn(left_us);
	char until[TIMESTAMP_SIZE];

	if (certificate->key == NULL || days == 0 ||
	    (days == certificate->days_warned && (left_us > 0 || certificate->is_ended)))
		return;
	certificate->days_warned = days;
	certificate->is_ended = left_us <= 0;
	timestamp_format_seconds(certificate->ends_us, until);
	log_event_like(log_write, left_us > 0 ? EVENT_CERTIFICATE_ENDS : EVENT_CERTIFICATE_ENDED,
		       EVENT_CERTIFICATE_ENDS, log_string(certificate, certificate->name),
		       log_string(until, until));
}

void keys_certificate_clear(struct keys_certificate *certificate)
{
	buffer_clear(&certificate->chain);
	buffer_clear(&certificate->problem);
	tls_private_key_free(certificate->key);
	free(certificate->name);
	*certificate = (struct keys_certificate){0};
}
