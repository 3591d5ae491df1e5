// SPDX-License-Identifier: ISC
/* One request: finds the host's addresses, then lets the library transfer. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "dns/search.h"
#include "policy/https/internal.h"
#include "tls/client.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONNECT_SECONDS = 10,
	AUTHORITIES_SECONDS = 600,
	ADDRESSES_SECONDS = 120, /* longer than any request */
};

struct https_request {
	struct https *https;
	struct os_timer *timer; /* for all of it */
	struct dns_search *search;
	CURL *easy; /* NULL: its addresses are being looked up */
	struct curl_slist *addresses;
	struct curl_slist *headers;
	char *url;
	char *host;
	uint16_t port;
	bool is_post;
	struct buffer content;
	struct buffer body;
	size_t size_max;
	bool is_too_large;
	char reason[CURL_ERROR_SIZE];
	void (*done)(void *context, const struct https_answer *answer);
	void *context;
};

/* One of them may be a password. */
static void free_headers(struct curl_slist *headers)
{
	for (struct curl_slist *header = headers; header != NULL; header = header->next)
		explicit_bzero(header->data, strlen(header->data));
	curl_slist_free_all(headers);
}

static void free_https_request(struct https_request *request)
{
	if (request->easy != NULL) {
		(void)curl_multi_remove_handle(request->https->multi, request->easy);
		curl_easy_cleanup(request->easy);
	}
	curl_slist_free_all(request->addresses);
	free_headers(request->headers);
	dns_search_free(request->search);
	os_timer_free(request->timer);
	buffer_clear(&request->content);
	buffer_clear(&request->body);
	free(request->url);
	free(request->host);
	free(request);
}

static void fail_https_request(struct https_request *request, enum https_status status,
			       const char *reason)
{
	struct https_answer answer = {.status = status, .type = ""};
	void (*done)(void *context, const struct https_answer *answer) = request->done;
	void *context = request->context;
	char copy[CURL_ERROR_SIZE];

	strncpy(copy, reason, sizeof copy - 1);
	copy[sizeof copy - 1] = '\0';
	answer.reason = copy;
	free_https_request(request);
	done(context, &answer);
}

static void succeed_https_request(struct https_request *request)
{
	struct https_answer answer = {.status = HTTPS_OK, .reason = ""};
	void (*done)(void *context, const struct https_answer *answer) = request->done;
	void *context = request->context;
	struct buffer body = request->body;
	const char *type = NULL;
	long code = 0;
	char *copy;

	(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &code);
	(void)curl_easy_getinfo(request->easy, CURLINFO_CONTENT_TYPE, &type);
	copy = memory_copy_string(type != NULL ? type : "");
	request->body = (struct buffer){0};
	free_https_request(request);
	answer.code = (unsigned)code;
	answer.type = copy;
	answer.body = buffer_view(&body);
	done(context, &answer);
	free(copy);
	buffer_clear(&body);
}

void https_request_end(struct https_request *request, CURLcode result)
{
	const char *reason =
		request->reason[0] != '\0' ? request->reason : curl_easy_strerror(result);

	if (result == CURLE_OK)
		succeed_https_request(request);
	else if (request->is_too_large || result == CURLE_FILESIZE_EXCEEDED)
		fail_https_request(request, HTTPS_TOO_LARGE, "the answer is too large");
	else if (result == CURLE_PEER_FAILED_VERIFICATION)
		fail_https_request(request, HTTPS_UNTRUSTED, reason);
	else
		fail_https_request(request, HTTPS_FAILED, reason);
}

static void on_https_timeout(void *context)
{
	fail_https_request(context, HTTPS_FAILED, "timeout");
}

static size_t take_body(const char *data, size_t one, size_t length, void *context)
{
	struct https_request *request = context;

	(void)one;
	request->is_too_large = length > request->size_max - request->body.length;
	if (request->is_too_large)
		return 0;
	buffer_append(&request->body, data, length);
	return length;
}

static bool may_ask_https_server(const struct https_request *request,
				 const union os_socket_address *address)
{
	return request->https->allows_private || os_socket_address_is_public(address);
}

/* Whether no address of SERVERS may be asked; then the request has failed. */
static bool is_kept_away(struct https_request *request, const struct dns_servers *servers)
{
	char address[OS_SOCKET_TEXT_SIZE];
	char reason[CURL_ERROR_SIZE];

	for (size_t i = 0; i < servers->count; i++)
		if (may_ask_https_server(request, &servers->list[i].address))
			return false;
	os_socket_address_format_host(&servers->list[0].address, address);
	snprintf(reason, sizeof reason, "%s has no public address, but %s (see https_private)",
		 request->host, address);
	fail_https_request(request, HTTPS_FAILED, reason);
	return true;
}

/* The addresses that were found, so that the library looks up nothing. With "+" it forgets them
 * after ADDRESSES_SECONDS, and does not keep those of all hosts for ever. */
static struct curl_slist *list_addresses(const struct https_request *request,
					 const struct dns_servers *servers)
{
	struct buffer text = {0};
	struct curl_slist *list;
	bool is_first = true;

	buffer_append_format(&text, "+%s:%u:", request->host, request->port);
	for (size_t i = 0; i < servers->count; i++) {
		char address[OS_SOCKET_TEXT_SIZE];
		const union os_socket_address *one = &servers->list[i].address;

		if (!may_ask_https_server(request, one))
			continue;
		os_socket_address_format_host(one, address);
		buffer_append_format(&text, one->any.sa_family == AF_INET6 ? "%s[%s]" : "%s%s",
				     is_first ? "" : ",", address);
		is_first = false;
	}
	buffer_append_byte(&text, '\0');
	list = curl_slist_append(NULL, buffer_data(&text));
	buffer_clear(&text);
	return list;
}

static void set_https_limits(const struct https_request *request)
{
	CURL *easy = request->easy;

	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
	(void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	(void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	(void)curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)request->size_max);
	(void)curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "stagepost");
}

/* The library itself takes a common name for a host's if there are no alternative names. */
static CURLcode expect_host(CURL *easy, void *openssl, void *context)
{
	const struct https_request *request = context;

	(void)easy;
	tls_client_expect_host(openssl, request->host);
	return CURLE_OK;
}

static void set_security(const struct https_request *request)
{
	CURL *easy = request->easy;

	(void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	(void)curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, expect_host);
	(void)curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, request);
	(void)curl_easy_setopt(easy, CURLOPT_CAINFO, request->https->authorities);
	(void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	/* requests share what was read of the file: parsed, it is large */
	(void)curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, (long)AUTHORITIES_SECONDS);
}

static void set_content(const struct https_request *request)
{
	CURL *easy = request->easy;

	(void)curl_easy_setopt(easy, CURLOPT_URL, request->url);
	(void)curl_easy_setopt(easy, CURLOPT_RESOLVE, request->addresses);
	(void)curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, (long)ADDRESSES_SECONDS);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->reason);
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
	if (!request->is_post)
		return;
	(void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			       (curl_off_t)request->content.length);
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, buffer_data(&request->content));
}

static void on_https_addresses(void *context, const struct dns_servers *servers)
{
	struct https_request *request = context;

	if (servers->count == 0) {
		fail_https_request(request, HTTPS_FAILED, servers->verdict.text);
		return;
	}
	if (is_kept_away(request, servers))
		return;
	request->addresses = list_addresses(request, servers);
	dns_search_free(request->search);
	request->search = NULL;
	request->easy = curl_easy_init();
	if (request->easy == NULL)
		panic("no memory for a transfer");
	set_https_limits(request);
	set_security(request);
	set_content(request);
	if (curl_multi_add_handle(request->https->multi, request->easy) != CURLM_OK)
		panic("a transfer cannot begin");
}

static char *make_url(const struct https_ask *ask)
{
	struct buffer url = {0};
	char *copy;

	buffer_append_format(&url, "https://%s:%u%s", ask->host, ask->port, ask->path);
	buffer_append_byte(&url, '\0');
	copy = memory_copy_string(buffer_data(&url));
	buffer_clear(&url);
	return copy;
}

/* VALUE: NULL: none. */
static struct curl_slist *add_header(struct curl_slist *headers, const char *name,
				     const char *value)
{
	struct buffer text CLEANUP(buffer_clear) = {.is_secret = true};

	if (value == NULL)
		return headers;
	buffer_append_format(&text, "%s: %s", name, value);
	buffer_append_byte(&text, '\0');
	return curl_slist_append(headers, buffer_data(&text));
}

static struct curl_slist *make_headers(const struct https_ask *ask)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:");

	headers = add_header(headers, "Content-Type", ask->content_type);
	return add_header(headers, "Authorization", ask->authorization);
}

struct https_request *https_ask(struct https *https, const struct https_ask *ask,
				void (*done)(void *context, const struct https_answer *answer),
				void *context)
{
	struct https_request *request = memory_alloc_zero(1, sizeof *request);

	request->https = https;
	request->done = done;
	request->context = context;
	request->url = make_url(ask);
	request->host = memory_copy_string(ask->host);
	request->port = ask->port;
	request->headers = make_headers(ask);
	request->size_max = ask->size_max;
	request->is_post = ask->content_type != NULL;
	request->content.is_secret = true;
	buffer_append_str(&request->content, ask->content);
	request->timer = os_timer_new(https->loop, on_https_timeout, request);
	os_timer_start(request->timer, ask->seconds * SECOND_US);
	request->search = dns_search_relay(https->resolver, ask->host, ask->port,
					   on_https_addresses, request);
	return request;
}

void https_cancel(struct https_request *request)
{
	if (request != NULL)
		free_https_request(request);
}
