// SPDX-License-Identifier: ISC
#include "policy/https/https.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "policy/https/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

/* A socket of the library. */
struct https_watch {
	struct https *https;
	curl_socket_t socket;
	struct os_watch *watch;
	struct https_watch *next, *previous;
};

static void tell_curl_about_socket(struct https *https, curl_socket_t socket, int events)
{
	int running;

	(void)curl_multi_socket_action(https->multi, socket, events, &running);
	os_loop_defer(https->loop, &https->collect);
}

static void on_curl_socket(void *context, unsigned events)
{
	const struct https_watch *watch = context;

	tell_curl_about_socket(watch->https, watch->socket,
			       ((events & OS_WATCH_READ) != 0 ? CURL_CSELECT_IN : 0) |
				       ((events & OS_WATCH_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
}

static void on_curl_timer(void *context)
{
	tell_curl_about_socket(context, CURL_SOCKET_TIMEOUT, 0);
}

static void watch_free(struct https_watch *watch)
{
	os_watch_free(watch->watch);
	DL_DELETE2(watch->https->watches, watch, previous, next);
	free(watch);
}

static struct https_watch *new_socket_watch(struct https *https, curl_socket_t socket)
{
	struct https_watch *watch = memory_alloc_zero(1, sizeof *watch);

	watch->https = https;
	watch->socket = socket;
	watch->watch = os_watch_new(https->loop, socket, OS_WATCH_NONE, on_curl_socket, watch);
	DL_APPEND2(https->watches, watch, previous, next);
	(void)curl_multi_assign(https->multi, socket, watch);
	return watch;
}

static int want_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *assigned)
{
	struct https *https = context;
	struct https_watch *watch = assigned;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watch != NULL)
			watch_free(watch);
		return 0;
	}
	if (watch == NULL)
		watch = new_socket_watch(https, socket);
	os_watch_set(watch->watch, (what & CURL_POLL_IN ? OS_WATCH_READ : 0U) |
					   (what & CURL_POLL_OUT ? OS_WATCH_WRITE : 0U));
	return 0;
}

static int want_timer(CURLM *multi, long milliseconds, void *context)
{
	const struct https *https = context;

	(void)multi;
	if (milliseconds < 0)
		os_timer_stop(https->timer);
	else
		os_timer_start(https->timer, milliseconds * SECOND_US / 1000);
	return 0;
}

/* An end may begin or cancel other transfers, so the list is asked again after each. */
static void collect_ended_transfers(void *context)
{
	const struct https *https = context;
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(https->multi, &left)) != NULL) {
		CURLcode result = message->data.result;
		void *request = NULL;

		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
		https_request_end(request, result);
	}
}

int https_new(struct os_loop *loop, struct https **https_out)
{
	struct https *https;
	CURLM *multi;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	multi = curl_multi_init();
	if (multi == NULL)
		return -ENOMEM;
	https = memory_alloc_zero(1, sizeof *https);
	https->loop = loop;
	https->multi = multi;
	https->authorities = memory_copy_string("");
	https->collect.call = collect_ended_transfers;
	https->collect.context = https;
	https->timer = os_timer_new(loop, on_curl_timer, https);
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, https);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, want_timer);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, https);
	*https_out = https;
	return 0;
}

void https_configure(struct https *https, struct dns_resolver *resolver, const char *authorities,
		     bool allows_private)
{
	https->allows_private = allows_private;
	https->resolver = resolver;
	free(https->authorities);
	https->authorities = memory_copy_string(authorities);
}

void https_free(struct https *https)
{
	if (https == NULL)
		return;
	(void)curl_multi_cleanup(https->multi);
	while (https->watches != NULL)
		watch_free(https->watches);
	os_task_cancel(https->loop, &https->collect);
	os_timer_free(https->timer);
	free(https->authorities);
	free(https);
	curl_global_cleanup();
}
