// SPDX-License-Identifier: ISC
/* The client of "keys": what it leaves in memory of the secrets in a set, and whom it answers. The
 * connection and the loop are this test's. */
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "keys/client.h"
#include "keys/protocol.h"
#include "test.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { SECRET = 'S' };

static struct {
	const struct ipc_client_handler *handler;
	void *context;
	struct os_task *deferred[8];
	size_t deferred_count;
	bool is_secret; /* the connection */
	unsigned refused;
	unsigned sets;
	unsigned signings_resumed;
	bool is_watching; /* what is freed */
	unsigned freed;   /* large blocks */
	unsigned leaks;   /* of them that had a secret */
	struct keys *keys;
} world;

/* --- memory --- */

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
	static const char needle[] = {SECRET, SECRET, SECRET, SECRET,
				      SECRET, SECRET, SECRET, SECRET};

	if (world.is_watching && memory != NULL && malloc_usable_size(memory) > 200) {
		world.freed++;
		if (memmem(memory, malloc_usable_size(memory), needle, sizeof needle) != NULL)
			world.leaks++;
	}
	__real_free(memory);
}

/* --- the connection and the loop --- */

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context)
{
	(void)loop;
	(void)path;
	world.handler = handler;
	world.context = context;
	return NULL;
}

void ipc_client_free(struct ipc_client *client)
{
	(void)client;
}

struct ipc_channel *ipc_client_channel(struct ipc_client *client)
{
	(void)client;
	return NULL;
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	(void)channel;
	(void)type;
	(void)tag;
	(void)body;
	(void)descriptors;
	(void)descriptor_count;
}

void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type)
{
	(void)channel;
	(void)type;
	world.refused++;
}

void ipc_channel_set_secret(struct ipc_channel *channel)
{
	(void)channel;
	world.is_secret = true;
}

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	world.deferred[world.deferred_count++] = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	(void)task;
}

void tls_signing_go_on(void)
{
	world.signings_resumed++;
}

void tls_signing_done(struct tls_signing *signing, struct str signature)
{
	(void)signing;
	(void)signature;
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

/* --- the scene --- */

static void on_changed(void *context)
{
	(void)context;
	world.sets++;
}

static void give(uint16_t type, const char *data, size_t length)
{
	static char copy[IPC_BODY_MAX];
	struct ipc_message message = {.type = type, .body = str_slice(copy, length)};

	if (length > 0)
		memcpy(copy, data, length);
	assert_true(world.is_secret);
	world.handler->message(world.context, &message);
}

/* A set with CHAIN bytes of a certificate, in parts of PART bytes; without END it is not whole. */
static void give_set(size_t chain, size_t part, bool has_end)
{
	struct keys_set *set = calloc(1, sizeof *set);
	char *pem = calloc(chain + 1, 1);
	struct buffer packed = {0};

	memset(pem, 'c', chain);
	set->certificates[0] = (struct keys_text){STR("main"), str_slice(pem, chain)};
	set->certificate_count = 1;
	memset(&set->tickets[0], SECRET, sizeof set->tickets[0]);
	set->ticket_count = 1;
	keys_set_pack_texts(set, &packed);
	keys_set_pack_tickets(set, &packed);
	for (size_t done = 0; done < packed.length; done += part)
		give(KEYS_SET_PART, buffer_data(&packed) + done,
		     packed.length - done < part ? packed.length - done : part);
	if (has_end)
		give(KEYS_SET_END, "", 0);
	memset(set, 0, sizeof *set);
	memset(buffer_data(&packed), 0, packed.length);
	buffer_clear(&packed);
	free(pem);
	free(set);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	world.keys = keys_new(NULL, "keys", on_changed, NULL);
	world.handler->connected(world.context);
	world.is_watching = true;
	return 0;
}

static void end(void)
{
	keys_free(world.keys);
	world.is_watching = false;
	assert_int_not_equal(world.freed, 0);
	assert_int_equal(world.leaks, 0);
	assert_int_equal(world.refused, 0);
}

/* --- tests --- */

static void secrets_are_not_left_behind(void **state)
{
	(void)state;
	give_set(30000, 7, true); /* it grows while it has them, too */
	give_set(40000, 50000, true);
	assert_int_equal(world.sets, 2);
	assert_int_equal(keys_set(world.keys)->ticket_count, 1);
	end();
}

static void nor_of_a_set_that_is_not_whole(void **state)
{
	(void)state;
	give_set(3000, 1000, false);
	world.handler->lost(world.context);
	world.is_secret = false;
	world.handler->connected(world.context);
	give_set(3000, 1000, false);
	world.handler->connected(world.context);
	give_set(3000, 1000, true);
	give_set(300, 10, false);
	assert_int_equal(world.sets, 1);
	end();
}

static void nor_of_one_that_is_malformed(void **state)
{
	char text[256];

	(void)state;
	memset(text, SECRET, sizeof text);
	give(KEYS_SET_PART, text, sizeof text);
	give(KEYS_SET_END, "", 0);
	assert_int_equal(world.refused, 1);
	world.refused = 0;
	end();
}

static void those_whose_turn_it_is_are_woken_later(void **state)
{
	const struct tls_signer *signer = keys_signer(world.keys);

	(void)state;
	signer->wake(signer->context);
	assert_int_equal(world.signings_resumed, 0);
	assert_int_equal(world.deferred_count, 1);
	world.deferred[0]->call(world.deferred[0]->context);
	assert_int_equal(world.signings_resumed, 1);
	give_set(1000, 1000, true);
	end();
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(secrets_are_not_left_behind),
		TEST(nor_of_a_set_that_is_not_whole),
		TEST(nor_of_one_that_is_malformed),
		TEST(those_whose_turn_it_is_are_woken_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
