// SPDX-License-Identifier: ISC
#include "keys/client.h"
#include "base/panic.h"
#include "base/table.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "keys/protocol.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { REQUESTS_MAX = 5000 }; /* the answers of those that were cancelled also come */

/* A signature that was asked for. When nobody waits for it any more, SIGNING is NULL. */
struct request {
	struct keys *keys;
	struct tls_signing *signing;
	uint32_t tag;
	struct request *next, *previous;
	UT_hash_handle hh;
};

struct keys {
	struct os_loop *loop;
	struct ipc_client *client;
	struct tls_signer signer;
	void (*changed)(void *context);
	void *context;
	struct buffer coming; /* parts of the next set; secret, as it has the keys of tickets */
	struct buffer packed; /* the one in force */
	struct keys_set *set;
	struct request *asked;  /* by tag */
	struct request *failed; /* a list: cannot be asked; answered at the end of the turn */
	struct os_task fail;
	struct os_task wake;
	uint32_t next_tag;
};

static void answer_failed(void *context)
{
	struct keys *keys = context;

	while (keys->failed != NULL) {
		struct request *request = keys->failed;
		struct tls_signing *signing = request->signing;

		DL_DELETE2(keys->failed, request, previous, next);
		free(request);
		tls_signing_done(signing, STR(""));
	}
}

static void put_to_failed(struct keys *keys, struct request *request)
{
	request->tag = 0;
	DL_APPEND2(keys->failed, request, previous, next);
	os_loop_defer(keys->loop, &keys->fail);
}

static void ask_for_signature(struct request *request, const struct tls_signing_request *wanted)
{
	struct keys *keys = request->keys;
	struct buffer body = {0};

	if (++keys->next_tag == 0)
		keys->next_tag = 1;
	request->tag = keys->next_tag;
	HASH_ADD(hh, keys->asked, tag, sizeof request->tag, request);
	pack_str(&body, str_slice((const char *)wanted->key, sizeof wanted->key));
	pack_u32(&body, wanted->scheme);
	pack_u32(&body, wanted->hash);
	pack_str(&body, wanted->data);
	ipc_channel_send(ipc_client_channel(keys->client), KEYS_SIGN, request->tag,
			 buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void sign_with_keys_server(void *context, struct tls_signing *signing,
				  const struct tls_signing_request *wanted)
{
	struct keys *keys = context;
	struct request *request = memory_alloc_zero(1, sizeof *request);

	request->keys = keys;
	request->signing = signing;
	tls_signing_set_state(signing, request);
	if (ipc_client_channel(keys->client) == NULL || HASH_COUNT(keys->asked) >= REQUESTS_MAX)
		put_to_failed(keys, request);
	else
		ask_for_signature(request, wanted);
}

static void cancel_signing(void *context, struct tls_signing *signing)
{
	struct keys *keys = context;
	struct request *request = tls_signing_state(signing);

	request->signing = NULL;
	if (request->tag != 0)
		return; /* its answer comes yet */
	DL_DELETE2(keys->failed, request, previous, next);
	free(request);
}

static void go_on_with_signings(void *context)
{
	(void)context;
	tls_signing_go_on();
}

static void wake_signings(void *context)
{
	struct keys *keys = context;

	os_loop_defer(keys->loop, &keys->wake);
}

static void on_keys_connected(void *context)
{
	struct keys *keys = context;

	ipc_channel_set_secret(ipc_client_channel(keys->client));
	buffer_clear(&keys->coming);
}

/* Those who wait may ask again while they are told. */
static void on_keys_lost(void *context)
{
	struct keys *keys = context;
	struct request *request;
	struct request *next;

	HASH_ITER (hh, keys->asked, request, next) {
		HASH_DEL(keys->asked, request);
		if (request->signing != NULL)
			put_to_failed(keys, request);
		else
			free(request);
	}
	buffer_clear(&keys->coming);
}

static bool take_part_of_set(struct keys *keys, const struct ipc_message *message)
{
	if (keys->coming.length + message->body.length > KEYS_SET_SIZE_MAX)
		return false;
	buffer_append_str(&keys->coming, message->body);
	return true;
}

static void free_set(struct keys_set *set)
{
	if (set != NULL)
		explicit_bzero(set, sizeof *set);
	free(set);
}

/* Those who are told build what they need of it, and drop what they had of the one before. */
static bool take_set(struct keys *keys)
{
	struct keys_set *set = memory_alloc_zero(1, sizeof *set);
	struct buffer packed = keys->coming;

	keys->coming = (struct buffer){.is_secret = true};
	if (!keys_set_unpack(buffer_view(&packed), set)) {
		buffer_clear(&packed);
		free_set(set);
		return false;
	}
	buffer_clear(&keys->packed);
	free_set(keys->set);
	keys->packed = packed;
	keys->set = set;
	keys->changed(keys->context);
	return true;
}

static bool take_signature(struct keys *keys, const struct ipc_message *message)
{
	struct unpack unpack = {message->body, false};
	struct str signature = unpack_str(&unpack);
	struct tls_signing *signing;
	struct request *request;

	HASH_FIND(hh, keys->asked, &message->tag, sizeof message->tag, request);
	if (request == NULL || !unpack_is_whole(&unpack) || signature.length > TLS_SIGNATURE_MAX)
		return false;
	signing = request->signing;
	HASH_DEL(keys->asked, request);
	free(request);
	if (signing != NULL)
		tls_signing_done(signing, signature);
	return true;
}

static bool take_keys_message(struct keys *keys, const struct ipc_message *message)
{
	switch (message->type) {
	case KEYS_SET_PART:
		return take_part_of_set(keys, message);
	case KEYS_SET_END:
		return take_set(keys);
	case KEYS_SIGNED:
		return take_signature(keys, message);
	default:
		return false;
	}
}

static void on_keys_message(void *context, struct ipc_message *message)
{
	struct keys *keys = context;

	if (!take_keys_message(keys, message))
		ipc_channel_refuse(ipc_client_channel(keys->client), message->type);
}

struct keys *keys_new(struct os_loop *loop, const char *path, void (*changed)(void *context),
		      void *context)
{
	static const struct ipc_client_handler handler = {on_keys_connected, on_keys_message,
							  on_keys_lost};
	struct keys *keys = memory_alloc_zero(1, sizeof *keys);

	keys->loop = loop;
	keys->coming.is_secret = true; /* keys of session tickets */
	keys->packed.is_secret = true;
	keys->changed = changed;
	keys->context = context;
	keys->signer =
		(struct tls_signer){sign_with_keys_server, cancel_signing, wake_signings, keys};
	keys->fail = (struct os_task){.call = answer_failed, .context = keys};
	keys->wake = (struct os_task){.call = go_on_with_signings};
	keys->client = ipc_client_new(loop, path, &handler, keys);
	return keys;
}

void keys_free(struct keys *keys)
{
	struct request *request;
	struct request *next;

	if (keys == NULL)
		return;
	ipc_client_free(keys->client);
	os_task_cancel(keys->loop, &keys->fail);
	os_task_cancel(keys->loop, &keys->wake);
	HASH_ITER (hh, keys->asked, request, next) {
		HASH_DEL(keys->asked, request);
		free(request);
	}
	buffer_clear(&keys->coming);
	buffer_clear(&keys->packed);
	free_set(keys->set);
	free(keys);
}

const struct keys_set *keys_set(const struct keys *keys)
{
	return keys->set;
}

const struct tls_signer *keys_signer(const struct keys *keys)
{
	return &keys->signer;
}
