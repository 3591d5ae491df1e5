// SPDX-License-Identifier: ISC
#include "store/ldap_patience.h"
#include "base/panic.h"
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct ldap_patience {
	pthread_t thread;
	pthread_mutex_t mutex; /* for what follows */
	pthread_cond_t changed;
	struct timespec until; /* monotonic */
	int socket;            /* -1: not connected yet */
	bool is_ended;
	bool is_over; /* the time */
};

/* Whose connections are watched. libldap keeps a callback as long as the connection is there, so
 * that this cannot be its argument. */
static _Thread_local struct ldap_patience *current;

/* The peer is told nothing: it does not listen. */
static void shut_down(int socket)
{
	(void)shutdown(socket, SHUT_RDWR);
}

static int on_connected(LDAP *ld, Sockbuf *stream, LDAPURLDesc *url, struct sockaddr *address,
			struct ldap_conncb *callback)
{
	int socket = -1;

	(void)ld;
	(void)url;
	(void)address;
	(void)callback;
	if (current == NULL || ber_sockbuf_ctrl(stream, LBER_SB_OPT_GET_FD, &socket) < 0)
		return 0;
	pthread_mutex_lock(&current->mutex);
	current->socket = socket;
	if (current->is_over)
		shut_down(socket);
	pthread_mutex_unlock(&current->mutex);
	return 0;
}

static void on_closed(LDAP *ld, Sockbuf *stream, struct ldap_conncb *callback)
{
	(void)ld;
	(void)stream;
	(void)callback;
	if (current == NULL)
		return;
	pthread_mutex_lock(&current->mutex);
	current->socket = -1; /* its number may be another's soon */
	pthread_mutex_unlock(&current->mutex);
}

static void *watch(void *context)
{
	struct ldap_patience *patience = context;
	int result = 0;

	pthread_mutex_lock(&patience->mutex);
	while (!patience->is_ended && result != ETIMEDOUT)
		result = pthread_cond_clockwait(&patience->changed, &patience->mutex,
						CLOCK_MONOTONIC, &patience->until);
	patience->is_over = !patience->is_ended;
	if (patience->is_over && patience->socket >= 0)
		shut_down(patience->socket);
	pthread_mutex_unlock(&patience->mutex);
	return NULL;
}

struct ldap_patience *ldap_patience_begin(LDAP *ld, int seconds)
{
	static struct ldap_conncb callback = {on_connected, on_closed, NULL};
	struct ldap_patience *patience = memory_alloc_zero(1, sizeof *patience);

	(void)clock_gettime(CLOCK_MONOTONIC, &patience->until);
	patience->until.tv_sec += seconds;
	patience->socket = -1;
	(void)pthread_mutex_init(&patience->mutex, NULL);
	(void)pthread_cond_init(&patience->changed, NULL);
	if (ldap_set_option(ld, LDAP_OPT_CONNECT_CB, &callback) != LDAP_OPT_SUCCESS ||
	    pthread_create(&patience->thread, NULL, watch, patience) != 0) {
		free(patience);
		return NULL;
	}
	current = patience;
	return patience;
}

void ldap_patience_end(struct ldap_patience *patience)
{
	if (patience == NULL)
		return;
	current = NULL;
	pthread_mutex_lock(&patience->mutex);
	patience->is_ended = true;
	pthread_cond_signal(&patience->changed);
	pthread_mutex_unlock(&patience->mutex);
	pthread_join(patience->thread, NULL);
	(void)pthread_cond_destroy(&patience->changed);
	(void)pthread_mutex_destroy(&patience->mutex);
	free(patience);
}
