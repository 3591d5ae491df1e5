// SPDX-License-Identifier: ISC
#include "keys/store.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "keys/certificate.h"
#include "keys/read.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/random.h"
#include <stdlib.h>
#include <string.h>

struct authority {
	char *path;
	struct keys_file file;
};

struct keys_store {
	struct keys_certificate *certificates; /* in the order of the configuration */
	size_t certificate_count;
	struct keys_retired retired;
	struct authority *authorities;
	size_t authority_count;
	struct tls_ticket_key tickets[TLS_TICKET_KEYS_MAX]; /* the latest first */
	size_t ticket_count;
	int64_t ticket_since_us; /* monotonic */
};

struct keys_store *keys_store_new(void)
{
	return memory_alloc_zero(1, sizeof(struct keys_store));
}

static void free_certificates(struct keys_certificate *certificates, size_t count)
{
	for (size_t i = 0; i < count; i++)
		keys_certificate_clear(&certificates[i]);
	free(certificates);
}

static void free_authorities(struct authority *authorities, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		keys_file_clear(&authorities[i].file);
		free(authorities[i].path);
	}
	free(authorities);
}

void keys_store_free(struct keys_store *store)
{
	if (store == NULL)
		return;
	free_certificates(store->certificates, store->certificate_count);
	keys_retired_clear(&store->retired);
	free_authorities(store->authorities, store->authority_count);
	explicit_bzero(store, sizeof *store);
	free(store);
}

/* --- certificates --- */

/* Takes the certificate called NAME out of those so far, or an empty one. */
static struct keys_certificate take_certificate(struct keys_store *store, const char *name)
{
	for (size_t i = 0; i < store->certificate_count; i++) {
		struct keys_certificate *old = &store->certificates[i];
		struct keys_certificate taken = *old;

		if (old->name == NULL || strcmp(old->name, name) != 0)
			continue;
		*old = (struct keys_certificate){0};
		return taken;
	}
	return (struct keys_certificate){.name = memory_copy_string(name)};
}

/* The keys of those that the configuration has no more. */
static void retire_left(struct keys_store *store)
{
	for (size_t i = 0; i < store->certificate_count; i++) {
		keys_retired_add(&store->retired, store->certificates[i].key);
		store->certificates[i].key = NULL;
	}
}

static bool refresh_certificates(struct keys_store *store, const struct config *config)
{
	size_t count = config_key_count(config);
	struct keys_certificate *certificates = memory_alloc_zero(count + 1, sizeof *certificates);
	bool has_changed = count != store->certificate_count;

	for (size_t i = 0; i < count; i++) {
		const struct config_certificate wanted = config_key_at(config, i);

		has_changed |= i >= store->certificate_count ||
			       store->certificates[i].name == NULL ||
			       strcmp(store->certificates[i].name, wanted.name) != 0;
		certificates[i] = take_certificate(store, wanted.name);
		has_changed |= keys_certificate_refresh(&certificates[i], &wanted, &store->retired);
	}
	retire_left(store);
	free_certificates(store->certificates, store->certificate_count);
	store->certificates = certificates;
	store->certificate_count = count;
	return has_changed;
}

const struct tls_private_key *keys_store_find(const struct keys_store *store, const void *id)
{
	for (size_t i = 0; i < store->certificate_count; i++) {
		const struct tls_private_key *key = store->certificates[i].key;

		if (key != NULL && memcmp(tls_private_key_id(key), id, TLS_KEY_ID_SIZE) == 0)
			return key;
	}
	return keys_retired_find(&store->retired, id);
}

/* --- authorities --- */

static bool has_authority(const struct authority *authorities, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(authorities[i].path, path) == 0)
			return true;
	return false;
}

static struct authority take_authority(struct keys_store *store, const char *path)
{
	for (size_t i = 0; i < store->authority_count; i++) {
		struct authority taken = store->authorities[i];

		if (strcmp(taken.path, path) != 0)
			continue;
		store->authorities[i] = (struct authority){.path = memory_copy_string("")};
		return taken;
	}
	return (struct authority){.path = memory_copy_string(path)};
}

static bool refresh_authority(struct keys_store *store, struct authority *authority)
{
	struct buffer reason = {0};
	size_t room = KEYS_AUTHORITIES_SIZE_MAX;
	int result;

	for (size_t i = 0; i < store->authority_count; i++)
		if (&store->authorities[i] != authority)
			room -= store->authorities[i].file.text.length;
	result = keys_file_refresh(&authority->file, authority->path, room, &reason);

	if (result < 0)
		log_event(EVENT_CERTIFICATE_ERROR, log_string(file, authority->path),
			  log_str(text, buffer_view(&reason)));
	buffer_clear(&reason);
	return result > 0;
}

/* There may be room for them now. */
static void retry_refused(struct keys_store *store)
{
	for (size_t i = 0; i < store->authority_count; i++) {
		struct authority *authority = &store->authorities[i];

		if (authority->file.text.length > 0)
			continue;
		authority->file.is_known = false;
		(void)refresh_authority(store, authority);
	}
}

static bool refresh_authorities(struct keys_store *store, const struct config *config)
{
	size_t most = config_authority_count(config);
	struct authority *authorities = memory_alloc_zero(most + 1, sizeof *authorities);
	bool has_changed = false;
	size_t count = 0;

	for (size_t i = 0; i < most && count < KEYS_AUTHORITIES_MAX; i++) {
		const char *path = config_authority_at(config, i);

		if (*path == '\0' || has_authority(authorities, count, path))
			continue;
		has_changed |= !has_authority(store->authorities, store->authority_count, path);
		authorities[count++] = take_authority(store, path);
	}
	has_changed |= count != store->authority_count;
	free_authorities(store->authorities, store->authority_count);
	store->authorities = authorities;
	store->authority_count = count;
	for (size_t i = 0; i < count; i++)
		has_changed |= refresh_authority(store, &authorities[i]);
	if (has_changed)
		retry_refused(store);
	return has_changed;
}

/* --- tickets --- */

static void fill_randomly(void *data, size_t size)
{
	for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
		uint64_t number = os_random_u64();
		size_t rest = size - done;

		memcpy((char *)data + done, &number, rest < sizeof number ? rest : sizeof number);
	}
}

static bool refresh_tickets(struct keys_store *store)
{
	int64_t now_us = os_clock_monotonic_us();

	if (store->ticket_count > 0 && now_us - store->ticket_since_us < KEYS_TICKET_US)
		return false;
	if (store->ticket_count < TLS_TICKET_KEYS_MAX)
		store->ticket_count++;
	memmove(&store->tickets[1], &store->tickets[0],
		(store->ticket_count - 1) * sizeof store->tickets[0]);
	fill_randomly(&store->tickets[0], sizeof store->tickets[0]);
	store->ticket_since_us = now_us;
	return true;
}

/* --- as a whole --- */

bool keys_store_refresh(struct keys_store *store, const struct config *config)
{
	bool has_changed = refresh_certificates(store, config);

	has_changed |= refresh_authorities(store, config);
	has_changed |= refresh_tickets(store);
	keys_retired_expire(&store->retired);
	for (size_t i = 0; i < store->certificate_count; i++)
		keys_certificate_warn(&store->certificates[i]);
	return has_changed;
}

bool keys_store_is_unsure(const struct keys_store *store)
{
	bool is_unsure = false;

	for (size_t i = 0; i < store->certificate_count; i++)
		is_unsure |= keys_error_passes(store->certificates[i].error);
	for (size_t i = 0; i < store->authority_count; i++)
		is_unsure |= keys_error_passes(store->authorities[i].file.error);
	return is_unsure;
}

void keys_store_append_problems(const struct keys_store *store, struct buffer *out)
{
	for (size_t i = 0; i < store->certificate_count; i++) {
		const struct keys_certificate *one = &store->certificates[i];

		if (one->error == 0)
			continue;
		buffer_append_format(out, "%scertificate %s: ", out->length > 0 ? "; " : "",
				     one->name);
		buffer_append_str(out, buffer_view(&one->problem));
	}
}

void keys_store_pack(const struct keys_store *store, struct keys_packed *out)
{
	struct keys_set *set = memory_alloc_zero(1, sizeof *set);

	for (size_t i = 0; i < store->certificate_count; i++) {
		const struct keys_certificate *one = &store->certificates[i];

		if (one->key != NULL && set->certificate_count < KEYS_CERTIFICATES_MAX)
			set->certificates[set->certificate_count++] =
				(struct keys_text){str_from(one->name), buffer_view(&one->chain)};
	}
	for (size_t i = 0; i < store->authority_count; i++)
		if (store->authorities[i].file.text.length > 0)
			set->authorities[set->authority_count++] =
				(struct keys_text){str_from(store->authorities[i].path),
						   buffer_view(&store->authorities[i].file.text)};
	memcpy(set->tickets, store->tickets, sizeof set->tickets);
	set->ticket_count = store->ticket_count;
	keys_set_pack_texts(set, &out->texts);
	keys_set_pack_tickets(set, &out->tickets);
	set->ticket_count = 0;
	keys_set_pack_tickets(set, &out->no_tickets);
	explicit_bzero(set, sizeof *set);
	free(set);
}

void keys_packed_clear(struct keys_packed *packed)
{
	buffer_clear(&packed->texts);
	buffer_clear(&packed->tickets);
	buffer_clear(&packed->no_tickets);
}
