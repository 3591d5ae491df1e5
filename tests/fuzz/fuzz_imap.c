// SPDX-License-Identifier: ISC
/* tests/fuzz/fuzz_imap.c - what an IMAP server says to the store of copies: to an append, a search
 * and a removal, one after another, over a library that only passes bytes. */
#include "base/panic.h"
#include "filing/mailstore/imap/internal.h"
#include "input.h"
#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT "Message-ID: <1@x.test>\r\nFrom: lisa@example.com\r\n\r\nhello\r\n"

static struct str input;   /* what the server will say */
static size_t chunk;       /* so many bytes at once */
static struct buffer sent; /* by the store */

/* ---- libcurl, as far as it is used ---- */

#undef curl_easy_setopt
#undef curl_easy_getinfo

CURL *curl_easy_init(void)
{
	return &input;
}

void curl_easy_cleanup(CURL *easy)
{
	(void)easy;
}

CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
	(void)easy;
	(void)option;
	return CURLE_OK;
}

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
	(void)easy;
	(void)info;
	return CURLE_OK;
}

CURLcode curl_easy_perform(CURL *easy)
{
	(void)easy;
	return CURLE_COULDNT_CONNECT;
}

CURLcode curl_easy_send(CURL *easy, const void *data, size_t size, size_t *count_out)
{
	(void)easy;
	*count_out = size < chunk ? size : chunk;
	buffer_append(&sent, data, *count_out);
	return CURLE_OK;
}

CURLcode curl_easy_recv(CURL *easy, void *data, size_t size, size_t *count_out)
{
	size_t count = size < chunk ? size : chunk;

	(void)easy;
	count = count < input.length ? count : input.length;
	if (count > 0)
		memcpy(data, input.data, count);
	input = str_skip(input, count);
	*count_out = count;
	return CURLE_OK;
}

/* ---- */

/* A store with a connection that is kept, so that none is made. */
static struct imap_store *new_store(void)
{
	struct mailstore *store =
		mailstore_imap_new(&(struct mailstore_imap_settings){.host = "imap.test",
								     .address = "",
								     .authorities = "",
								     .login = "%a",
								     .password = "secret",
								     .prefix = "",
								     .timeout_s = 10});
	struct imap_store *imap = (struct imap_store *)store;
	struct imap_connection *connection = memory_alloc_zero(1, sizeof *connection);

	connection->easy = curl_easy_init();
	connection->socket = -1;
	connection->login = memory_copy_string("ann@a.test");
	connection->settings = &imap->settings;
	connection->separator = '/';
	connection->has_uidplus = true;
	imap->connections[0] = connection;
	return imap;
}

static void check_append(struct mailstore *store, const struct mailstore_location *location)
{
	struct mailstore_append append = {
		.location = *location,
		.content = {.bytes = STR(TEXT), .file = -1, .size = sizeof TEXT - 1},
		.recipient = STR(""),
	};
	ptrdiff_t end;

	mailstore_append(store, &append, 1, NULL);
	if (!mail_status_is_valid(str_from(append.verdict.status)))
		panic("no verdict");
	if (append.is_unknown && append.verdict.class == MAIL_OK)
		panic("it is stored and not known to be");
	if (append.copy[0] != '\0' && append.verdict.class != MAIL_OK)
		panic("a copy that is not stored");
	end = str_find(buffer_view(&sent), '\n');
	if (append.verdict.class == MAIL_OK &&
	    (end < 0 ||
	     memmem(buffer_data(&sent), sent.length, TEXT "\r\n", sizeof TEXT + 1) == NULL))
		panic("stored, and was not sent");
	if (memmem(buffer_data(&sent), sent.length, "secret", 6) != NULL)
		panic("a password in the dialogue");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char digest[DECODE_DIGEST_SIZE];
	struct mailstore_location location = {STR("ann@a.test"), STR("Lists/dev"),
					      STR("<1@x.test>"), digest};
	struct mailstore_found *found;
	struct imap_store *store;
	struct arena *arena;
	size_t count;

	if (size == 0)
		return 0;
	chunk = (size_t)data[0] + 1;
	input = str_slice((const char *)data + 1, size - 1);
	store = new_store();
	arena = arena_new();
	check_append(&store->store, &location);
	if (mailstore_find(&store->store, &location, arena, &found, &count) == 0 && count > 0)
		panic("found what has another digest");
	location.id = STR("<sha256-0@invalid>");
	if (mailstore_find(&store->store, &location, arena, &found, &count) == 0 && count > 0)
		panic("found what has another digest");
	if (mailstore_remove(&store->store, &location, "7:1") < 0 && store->store.error[0] == '\0')
		panic("an error without words");
	mailstore_free(&store->store);
	arena_free(arena);
	buffer_clear(&sent);
	return 0;
}
