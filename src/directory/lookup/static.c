// SPDX-License-Identifier: ISC
/* Answers out of the domains of the configuration alone. */
#include "directory/lookup/internal.h"
#include "mail/localpart.h"
#include "mail/unicode.h"

static void refuse(struct directory_result *result, const char *status, const char *text)
{
	result->answer = DIRECTORY_REFUSED;
	mail_verdict_set(&result->verdict, status, "%s", text);
}

static const struct config_domain *find_domain(const struct config *config, struct str name)
{
	for (size_t i = 0; i < config->domain_count; i++)
		if (str_equal_nocase(str_from(config->domains[i].name), name))
			return &config->domains[i];
	return NULL;
}

static bool lists(const struct config_domain *domain, struct str name)
{
	for (size_t i = 0; i < domain->address_count; i++)
		if (str_equal_nocase(str_from(domain->addresses[i]), name))
			return true;
	return false;
}

static bool is_postmaster(struct str user)
{
	return str_equal(user, STR("postmaster"));
}

static bool accepts(const struct config_domain *domain, const struct mail_localpart *local)
{
	struct str user = mail_localpart_user(local);

	return domain->address_count == 0 || lists(domain, mail_localpart_whole(local)) ||
	       lists(domain, user) || is_postmaster(user);
}

static void answer_target(struct directory_result *result, const struct config_domain *domain,
			  struct str address)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_LOCAL,
					  .service = str_from(domain->service->name),
					  .address = address};

	result->answer = DIRECTORY_FOUND;
	mail_verdict_set(&result->verdict, "2.1.5", "Recipient ok");
	directory_result_add(result, &target);
}

static void answer_domain(struct directory_result *result, const struct config_domain *domain,
			  const struct mail_localpart *local, struct str address)
{
	if (!accepts(domain, local))
		refuse(result, "5.1.1", "No such user here");
	else if (!mail_name_is_path_safe(mail_localpart_user(local)))
		/* said now, the client is told; said later, it would be a bounce */
		refuse(result, "5.1.3", "No mailbox can have such a name");
	else
		answer_target(result, domain, address);
}

/* The postmaster of this host, whose name is no domain of ours. */
static void answer_postmaster(struct directory_result *result, const struct config *config,
			      const struct mail_localpart *local)
{
	const struct config_domain *domain =
		find_domain(config, str_from(config_default_domain(config)));
	struct buffer address = {0};

	if (domain == NULL && config->domain_count > 0)
		domain = &config->domains[0];
	if (domain == NULL) {
		refuse(result, "5.1.1", "There is no postmaster: this host has no local domain");
		return;
	}
	buffer_append_str(&address, mail_localpart_whole(local));
	buffer_append_format(&address, "@%s", domain->name);
	answer_domain(result, domain, local, buffer_view(&address));
	buffer_clear(&address);
}

void directory_static_lookup(const struct config *config, struct str address,
			     struct directory_result *result)
{
	struct mail_parts parts = mail_parts_of(address);
	const struct config_domain *domain;
	struct mail_localpart local;
	struct mail_domain name;
	bool is_valid = mail_localpart_parse(parts.local, &local) == 0;

	mail_domain_form(parts.domain, &name);
	parts.domain = mail_domain_view(&name);
	domain = find_domain(config, parts.domain);
	if (!is_valid ||
	    (parts.domain.length == 0 && !is_postmaster(mail_localpart_user(&local)))) {
		refuse(result, "5.1.3", "The recipient is no address");
	} else if (domain != NULL) {
		answer_domain(result, domain, &local, address);
	} else if (is_postmaster(mail_localpart_user(&local)) &&
		   (parts.domain.length == 0 ||
		    str_equal_nocase(parts.domain, str_from(config->hostname)))) {
		answer_postmaster(result, config, &local);
	} else {
		result->answer = DIRECTORY_NOT_LOCAL;
		mail_verdict_set(&result->verdict, "2.1.5", "Recipient ok");
	}
}
