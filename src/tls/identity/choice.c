// SPDX-License-Identifier: ISC
/* Which certificates a client gets, by the name that it asks for. */
#include "base/panic.h"
#include "base/table.h"
#include "tls/connection.h"
#include "tls/identity/internal.h"
#include <stdlib.h>

enum { NAME_MAX_LENGTH = 255 };

struct tls_name { /* in lower case; or "*.NAME" */
	struct tls_offer offer;
	const struct tls_choice *choice;
	UT_hash_handle hh;
	size_t length;
	char text[];
};

struct tls_choice {
	struct tls_offer offer;
	SSL_CTX *openssl;
	UT_hash_handle hh;
};

static const struct tls_offer NOTHING = {{-1, -1, -1, -1}};

static struct tls_name *find_name(const struct tls_identity *identity, struct str name)
{
	struct tls_name *found;

	HASH_FIND(hh, identity->names, name.data, name.length, found);
	return found;
}

/* Of those with the same name and kind of key the first one is offered. */
static void add_to(struct tls_offer *offer, const struct tls_identity *identity, size_t index)
{
	int *place = &offer->by_kind[identity->certificates[index].kind];

	if (*place < 0)
		*place = (int)index;
}

static void add_name(struct tls_identity *identity, const char *text, size_t index)
{
	char lower[NAME_MAX_LENGTH];
	struct str name = {lower, strlen(text)};
	struct tls_name *found;

	if (name.length == 0 || name.length > NAME_MAX_LENGTH)
		return; /* nobody can ask for it */
	memcpy(lower, text, name.length);
	str_lower(lower, name.length);
	found = find_name(identity, name);
	if (found == NULL) {
		found = memory_alloc_zero(1, sizeof *found + name.length);
		found->offer = NOTHING;
		found->length = name.length;
		memcpy(found->text, lower, name.length);
		HASH_ADD(hh, identity->names, text, name.length, found);
	}
	add_to(&found->offer, identity, index);
}

static void add_names(struct tls_identity *identity, const struct tls_certificate *settings,
		      size_t index)
{
	struct arena *arena;
	const char *const *names = settings->names;
	size_t count = settings->name_count;

	arena = arena_new();
	if (count == 0)
		names = tls_names_read(identity->certificates[index].certificate, arena, &count);
	for (size_t i = 0; i < count; i++)
		add_name(identity, names[i], index);
	arena_free(arena);
}

static const struct tls_choice *choose_context(struct tls_identity *identity,
					       const struct tls_offer *offer)
{
	struct tls_choice *choice;

	HASH_FIND(hh, identity->choices, offer, sizeof *offer, choice);
	if (choice != NULL)
		return choice;
	choice = memory_alloc_zero(1, sizeof *choice);
	choice->offer = *offer;
	choice->openssl = tls_offer_new_context(identity, offer);
	HASH_ADD(hh, identity->choices, offer, sizeof choice->offer, choice);
	return choice;
}

/* Of each kind the first certificate that has every name of the first one. */
static struct tls_offer find_default(const struct tls_identity *identity)
{
	struct tls_offer shared = NOTHING;
	bool is_first = true;
	const struct tls_name *name;
	const struct tls_name *next;

	HASH_ITER (hh, identity->names, name, next) {
		if (name->offer.by_kind[identity->certificates[0].kind] != 0)
			continue;
		for (int kind = 1; kind <= TLS_KEY_KINDS; kind++)
			if (is_first)
				shared.by_kind[kind] = name->offer.by_kind[kind];
			else if (shared.by_kind[kind] != name->offer.by_kind[kind])
				shared.by_kind[kind] = -1;
		is_first = false;
	}
	add_to(&shared, identity, 0); /* it may have no name */
	return shared;
}

/* "a.example.org" by "*.example.org": the wildcard is one label, and a whole one. */
static const struct tls_name *find_wildcard(const struct tls_identity *identity, struct str name)
{
	ptrdiff_t dot = str_find(name, '.');
	char wildcard[NAME_MAX_LENGTH + 1];
	struct str rest;

	if (dot <= 0)
		return NULL;
	rest = str_skip(name, (size_t)dot);
	wildcard[0] = '*';
	memcpy(wildcard + 1, rest.data, rest.length);
	return find_name(identity, str_slice(wildcard, rest.length + 1));
}

static const struct tls_name *find_asked_name(const struct tls_identity *identity,
					      const char *asked)
{
	char lower[NAME_MAX_LENGTH];
	struct str name = {lower, strlen(asked)};
	const struct tls_name *found;

	if (name.length == 0 || name.length > NAME_MAX_LENGTH || asked[0] == '*')
		return NULL;
	memcpy(lower, asked, name.length);
	str_lower(lower, name.length);
	found = find_name(identity, name);
	return found != NULL ? found : find_wildcard(identity, name);
}

static int on_server_name(SSL *openssl, int *alert, void *context)
{
	const struct tls_identity *identity = context;
	const char *asked = SSL_get_servername(openssl, TLSEXT_NAMETYPE_host_name);
	const struct tls_name *found = asked != NULL ? find_asked_name(identity, asked) : NULL;

	(void)alert;
	if (found == NULL)
		return SSL_TLSEXT_ERR_NOACK;
	if (SSL_set_SSL_CTX(openssl, found->choice->openssl) == NULL)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	return SSL_TLSEXT_ERR_OK;
}

SSL_CTX *tls_choices_make(struct tls_identity *identity,
			  const struct tls_identity_settings *settings)
{
	struct tls_offer first;
	SSL_CTX *openssl;
	struct tls_name *name;
	struct tls_name *next;

	for (size_t i = 0; i < identity->count; i++)
		add_names(identity, &settings->certificates[i], i);
	HASH_ITER (hh, identity->names, name, next)
		name->choice = choose_context(identity, &name->offer);
	first = find_default(identity);
	/* it alone has the callback, so it is none of the others */
	openssl = tls_offer_new_context(identity, &first);
	(void)SSL_CTX_set_tlsext_servername_callback(openssl, on_server_name);
	(void)SSL_CTX_set_tlsext_servername_arg(openssl, identity);
	return openssl;
}

void tls_choices_free(struct tls_identity *identity)
{
	struct tls_name *name;
	struct tls_name *next_name;
	struct tls_choice *choice;
	struct tls_choice *next;

	HASH_ITER (hh, identity->names, name, next_name) {
		HASH_DEL(identity->names, name);
		free(name);
	}
	HASH_ITER (hh, identity->choices, choice, next) {
		HASH_DEL(identity->choices, choice);
		SSL_CTX_free(choice->openssl);
		free(choice);
	}
}
