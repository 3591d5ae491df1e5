// SPDX-License-Identifier: ISC
#include "loop_signer.h"
#include "base/panic.h"
#include "test.h"
#include "tls/private_key.h"
#include "unit/tls/certificates.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { KEYS_MAX = 16, FILE_MAX = 65536 };

struct answer {
	struct loop_signer *signer;
	struct tls_signing *signing;
	struct os_task task;
	uint8_t signature[TLS_SIGNATURE_MAX];
	size_t length;
	struct answer *prev, *next;
};

struct loop_signer {
	struct tls_signer interface;
	struct os_loop *loop;
	struct os_task wake;
	struct tls_private_key *keys[KEYS_MAX];
	size_t key_count;
	struct answer *answers;
};

static void drop(struct answer *answer)
{
	os_task_cancel(answer->signer->loop, &answer->task);
	DL_DELETE(answer->signer->answers, answer);
	free(answer);
}

static void give(void *context)
{
	const struct answer answer = *(struct answer *)context;

	drop(context);
	tls_signing_done(answer.signing, str_slice((const char *)answer.signature, answer.length));
}

static void sign(void *context, struct tls_signing *signing,
		 const struct tls_signing_request *request)
{
	struct loop_signer *signer = context;
	struct answer *answer = memory_alloc_zero(1, sizeof *answer);

	answer->signer = signer;
	answer->signing = signing;
	answer->task = (struct os_task){.call = give, .context = answer};
	tls_signing_set_state(signing, answer);
	for (size_t i = 0; i < signer->key_count; i++)
		if (memcmp(tls_private_key_id(signer->keys[i]), request->key, TLS_KEY_ID_SIZE) == 0)
			assert_int_equal(tls_private_key_sign(signer->keys[i], request->scheme,
							      request->hash, request->data,
							      answer->signature, &answer->length),
					 0);
	assert_int_not_equal(answer->length, 0);
	DL_APPEND(signer->answers, answer);
	os_loop_defer(signer->loop, &answer->task);
}

static void cancel(void *context, struct tls_signing *signing)
{
	(void)context;
	drop(tls_signing_state(signing));
}

static void go_on(void *context)
{
	(void)context;
	tls_signing_go_on();
}

static void wake(void *context)
{
	struct loop_signer *signer = context;

	os_loop_defer(signer->loop, &signer->wake);
}

struct loop_signer *loop_signer_new(struct os_loop *loop)
{
	struct loop_signer *signer = memory_alloc_zero(1, sizeof *signer);

	signer->interface = (struct tls_signer){sign, cancel, wake, signer};
	signer->loop = loop;
	signer->wake = (struct os_task){.call = go_on};
	return signer;
}

void loop_signer_free(struct loop_signer *signer)
{
	if (signer == NULL)
		return;
	assert_null(signer->answers);
	os_task_cancel(signer->loop, &signer->wake);
	for (size_t i = 0; i < signer->key_count; i++)
		tls_private_key_free(signer->keys[i]);
	free(signer);
}

static void read_text(const char *path, char text[FILE_MAX])
{
	FILE *file = fopen(path, "r");
	size_t size;

	assert_non_null(file);
	size = fread(text, 1, FILE_MAX - 1, file);
	text[size] = '\0';
	fclose(file);
}

struct tls_context *loop_signer_context(struct loop_signer *signer, enum tls_side side,
					const char *directory, const char *name,
					const char *protocol)
{
	static char chain[FILE_MAX];
	static char authority[FILE_MAX];
	struct buffer reason = {0};
	struct tls_context *context;

	assert_true(signer->key_count < KEYS_MAX);
	assert_int_equal(tls_private_key_open(certificates_path(directory, name, "key"),
					      &signer->keys[signer->key_count++], &reason),
			 0);
	read_text(certificates_path(directory, name, "pem"), chain);
	read_text(certificates_path(directory, "authority", "pem"), authority);
	assert_int_equal(
		tls_mutual_open(side,
				&(struct tls_mutual_settings){str_from(chain), str_from(authority),
							      &signer->interface, protocol},
				&context, &reason),
		0);
	return context;
}
