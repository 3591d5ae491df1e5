// SPDX-License-Identifier: ISC
/* auth-ldap - the same, where LDAP servers judge passwords: they are asked to bind as the user. */
#include "directory/store/ldap/bind.h"
#include "log/event.h"
#include "program/kind/auth.h"

static struct store_ldap_binder *ldap;

/* In a thread, which may not log: why no server answers is what "directory" logs, too. */
static enum sasl_finding check_ldap_password(void *context, struct str user, struct str password)
{
	struct buffer why CLEANUP(buffer_clear) = {0};

	(void)context;
	switch (store_ldap_bind(ldap, user, password, &why)) {
	case STORE_LDAP_RIGHT:
		return SASL_RIGHT;
	case STORE_LDAP_WRONG:
		return SASL_WRONG;
	default:
		return SASL_LATER;
	}
}

static int open_binder(const struct config *config, const struct auth_binder **binder_out)
{
	static const struct auth_binder binder = {check_ldap_password, NULL};
	const struct config_directory *directory = &config->directory;
	const struct store_ldap_settings settings = {.path = directory->path,
						     .urls = directory->urls,
						     .url_count = directory->url_count,
						     .base = directory->base,
						     .bind_dn = directory->bind_dn,
						     .password_file = directory->password_file,
						     .authority = directory->authority,
						     .map = directory->map,
						     .map_count = directory->map_count};
	struct buffer why CLEANUP(buffer_clear) = {0};
	int error = store_ldap_binder_new(&settings, &ldap, &why);

	if (error < 0) {
		log_event(EVENT_AUTH_ERROR, log_string(setting, "directory"),
			  log_str(text, buffer_view(&why)));
		return error;
	}
	*binder_out = &binder;
	return 0;
}

int main(int argc, char **argv)
{
	return auth_process_main(argc, argv, "auth-ldap", open_binder);
}
