// SPDX-License-Identifier: ISC
/*
 * What the process "keys" makes of files of certificates as those of tls_internal.h are. A private
 * key is nothing: whoever has a certificate's file has it, and nobody asks for signatures.
 */
#include "base/panic.h"
#include "os/file/file.h"
#include "tls/certificate.h"
#include "tls/identity.h"
#include "tls/private_key.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tls_private_key {
	char nothing;
};

int tls_chain_read(struct str pem, struct arena *arena, struct tls_chain *chain_out,
		   struct buffer *reason)
{
	static struct tls_chain_link link;
	static const char *name;
	char text[256];
	char word[64];
	const char *found;

	snprintf(text, sizeof text, STR_FORMAT, STR_ARGUMENTS(pem));
	found = strstr(text, "certificate ");
	if (found == NULL || sscanf(found, "certificate %63s", word) != 1) {
		buffer_append_string(reason, "it holds no certificate");
		return -EINVAL;
	}
	name = arena_copy(arena, str_from(word));
	link = (struct tls_chain_link){name, name, 0, INT64_MAX};
	*chain_out = (struct tls_chain){
		.links = &link, .link_count = 1, .names = &name, .name_count = 1};
	return 0;
}

bool tls_chain_covers(const struct tls_chain *chain, struct str name)
{
	return str_equal_nocase(str_from(chain->names[0]), name);
}

int tls_identity_judge_authorities(struct str pem, struct buffer *reason)
{
	if (pem.length > 0)
		return 0;
	buffer_append_string(reason, "it holds no certificate");
	return -EINVAL;
}

int tls_private_key_open(const char *path, struct tls_private_key **key_out, struct buffer *reason)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);

	if (file < 0) {
		buffer_append_string(reason, strerror(-file));
		return file;
	}
	os_file_close(file);
	*key_out = memory_alloc_zero(1, sizeof **key_out);
	return 0;
}

void tls_private_key_free(struct tls_private_key *key)
{
	free(key);
}

const uint8_t *tls_private_key_id(const struct tls_private_key *key)
{
	static const uint8_t none[TLS_KEY_ID_SIZE];

	(void)key;
	return none;
}

int tls_private_key_sign(const struct tls_private_key *key, enum tls_scheme scheme,
			 enum tls_hash hash, struct str data,
			 uint8_t signature_out[TLS_SIGNATURE_MAX], size_t *length_out)
{
	(void)key;
	(void)scheme;
	(void)hash;
	(void)data;
	(void)signature_out;
	*length_out = 0;
	return -EINVAL;
}

/* --- nobody waits for a signature --- */

void tls_signing_done(struct tls_signing *signing, struct str signature)
{
	(void)signing;
	(void)signature;
}

void tls_signing_go_on(void)
{
}

void tls_signing_set_state(struct tls_signing *signing, void *state)
{
	(void)signing;
	(void)state;
}

void *tls_signing_state(const struct tls_signing *signing)
{
	(void)signing;
	return NULL;
}
