// SPDX-License-Identifier: ISC
#include "login/exchange.h"
#include "base/panic.h"
#include <gsasl.h>
#include <stdlib.h>

struct login_library {
	Gsasl *context;
};

struct login_exchange {
	Gsasl_session *session;
	bool is_scram;
	bool is_complete;
};

/* Best first. */
static const struct mechanism {
	const char *name;
	bool is_scram;
	bool begins;
} mechanisms[] = {
	{"SCRAM-SHA-256", true, true},
	{"SCRAM-SHA-1", true, true},
	{"PLAIN", false, true},
	{"LOGIN", false, false},
};

struct login_library *login_library_open(void)
{
	Gsasl *context;
	struct login_library *library;

	if (gsasl_init(&context) != GSASL_OK)
		return NULL;
	library = memory_alloc_zero(1, sizeof *library);
	library->context = context;
	return library;
}

void login_library_close(struct login_library *library)
{
	if (library == NULL)
		return;
	gsasl_done(library->context);
	free(library);
}

static bool is_offered(struct str offered, const char *name)
{
	struct str word;

	while (str_split(&offered, ' ', &word))
		if (str_equal_nocase(word, str_from(name)))
			return true;
	return false;
}

static const struct mechanism *find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(mechanisms); i++)
		if (strcmp(mechanisms[i].name, name) == 0)
			return &mechanisms[i];
	panic("unknown mechanism %s", name);
}

const char *login_choose(struct str offered)
{
	for (size_t i = 0; i < COUNT_OF(mechanisms); i++)
		if (is_offered(offered, mechanisms[i].name))
			return mechanisms[i].name;
	return NULL;
}

bool login_begins(const char *mechanism)
{
	return find(mechanism)->begins;
}

struct login_exchange *login_exchange_new(const struct login_library *library,
					  const char *mechanism, const char *user,
					  const char *password)
{
	struct login_exchange *exchange = memory_alloc_zero(1, sizeof *exchange);

	exchange->is_scram = find(mechanism)->is_scram;
	if (gsasl_client_start(library->context, mechanism, &exchange->session) != GSASL_OK ||
	    gsasl_property_set(exchange->session, GSASL_AUTHID, user) != GSASL_OK ||
	    gsasl_property_set(exchange->session, GSASL_PASSWORD, password) != GSASL_OK)
		panic("no session of %s", mechanism);
	return exchange;
}

void login_exchange_free(struct login_exchange *exchange)
{
	if (exchange == NULL)
		return;
	gsasl_finish(exchange->session);
	free(exchange);
}

/* The server's first message of SCRAM is "r=NONCE,s=SALT,i=ROUNDS": its rounds are our work. */
static bool asks_too_much(struct str challenge)
{
	struct str field;
	uint64_t rounds;

	while (str_split(&challenge, ',', &field))
		if (str_starts_with(field, STR("i=")) &&
		    (!str_to_u64(str_skip(field, 2), &rounds) || rounds > LOGIN_ROUNDS_MAX))
			return true;
	return false;
}

static const char *take_step(struct login_exchange *exchange, struct str challenge,
			     struct buffer *response)
{
	struct buffer copy = {.is_secret = true}; /* the library reads it as a string, too */
	char *message = NULL;
	size_t length = 0;
	int result;

	buffer_append_str(&copy, challenge);
	buffer_append_byte(&copy, '\0');
	result = gsasl_step(exchange->session, buffer_data(&copy), challenge.length, &message,
			    &length);
	buffer_clear(&copy);
	if (message != NULL) {
		buffer_append(response, message, length);
		explicit_bzero(message, length);
		gsasl_free(message);
	}
	if (result != GSASL_OK && result != GSASL_NEEDS_MORE)
		return gsasl_strerror(result);
	exchange->is_complete = result == GSASL_OK;
	return NULL;
}

const char *login_exchange_step(struct login_exchange *exchange, struct str challenge,
				struct buffer *response)
{
	if (exchange->is_complete)
		return "it goes on after the end";
	if (str_find(challenge, '\0') >= 0)
		return "a NUL in a challenge";
	if (exchange->is_scram && asks_too_much(challenge))
		return "it demands too many rounds of hashing";
	return take_step(exchange, challenge, response);
}

bool login_exchange_is_complete(const struct login_exchange *exchange)
{
	return exchange->is_complete;
}
