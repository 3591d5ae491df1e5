// SPDX-License-Identifier: ISC
#include "deliver/remote/keys/keys.h"
#include "base/panic.h"
#include "keys/client.h"
#include "log/event.h"
#include <stdlib.h>
#include <string.h>

struct certificate {
	char *name;
	struct tls_client_certificate *opened; /* NULL: it cannot be used */
	struct certificate *next;
};

struct remote_keys {
	struct remote_certificates public;
	struct keys *keys;
	struct certificate *list; /* those of the set in force that were asked for */
};

static void on_client_keys_changed(void *context)
{
	struct remote_keys *own = context;
	struct certificate *one;

	while ((one = own->list) != NULL) {
		own->list = one->next;
		tls_client_certificate_free(one->opened);
		free(one->name);
		free(one);
	}
	remote_certificates_tell(&own->public);
}

static void open_certificate(struct remote_keys *own, struct certificate *one,
			     const struct keys_set *set)
{
	struct str chain =
		keys_set_find(set->certificates, set->certificate_count, str_from(one->name));
	struct buffer reason = {0};

	if (chain.length == 0)
		buffer_append_string(&reason, "it cannot be used now");
	else if (tls_client_certificate_open(chain, keys_signer(own->keys), &one->opened,
					     &reason) == 0)
		return;
	log_event_rated(EVENT_CERTIFICATE_ERROR, log_string(certificate, one->name),
			log_str(text, buffer_view(&reason)));
	buffer_clear(&reason);
}

static bool find_client_certificate(struct remote_certificates *certificates, const char *name,
				    const struct tls_client_certificate **certificate_out)
{
	struct remote_keys *own = CONTAINER_OF(certificates, struct remote_keys, public);
	const struct keys_set *set = keys_set(own->keys);
	struct certificate *one = own->list;

	if (set == NULL)
		return false;
	while (one != NULL && strcmp(one->name, name) != 0)
		one = one->next;
	if (one == NULL) {
		one = memory_alloc_zero(1, sizeof *one);
		one->name = memory_copy_string(name);
		one->next = own->list;
		own->list = one;
		open_certificate(own, one, set);
	}
	*certificate_out = one->opened;
	return true;
}

struct remote_certificates *remote_keys_new(struct os_loop *loop, const char *path)
{
	struct remote_keys *own = memory_alloc_zero(1, sizeof *own);

	own->public.find = find_client_certificate;
	own->keys = keys_new(loop, path, on_client_keys_changed, own);
	return &own->public;
}

struct logins {
	struct remote_logins public;
	struct keys_passwords *passwords;
};

static void ask_for_login_password(struct remote_logins *logins,
				   struct keys_password_question *question)
{
	keys_passwords_ask(CONTAINER_OF(logins, struct logins, public)->passwords, question);
}

struct remote_logins *remote_keys_logins(struct os_loop *loop, const char *path)
{
	struct logins *own = memory_alloc_zero(1, sizeof *own);

	own->public = (struct remote_logins){ask_for_login_password, keys_password_cancel};
	own->passwords = keys_passwords_new(loop, path);
	return &own->public;
}
