// SPDX-License-Identifier: ISC
/* The settings of section tls: how mail for a destination is protected on its way to servers. */
#include "config/schema/row.h"
#include <string.h>

static const struct config_word tls_level_words[] = {
	{"none", CONFIG_TLS_NONE},
	{"may", CONFIG_TLS_MAY},
	{"encrypt", CONFIG_TLS_ENCRYPT},
	{"dane", CONFIG_TLS_DANE},
	{"dane-only", CONFIG_TLS_DANE_ONLY},
	{"verify", CONFIG_TLS_VERIFY},
	{"secure", CONFIG_TLS_SECURE},
	{"fingerprint", CONFIG_TLS_FINGERPRINT},
	{NULL, 0},
};

static bool is_verified(const struct config_tls_policy *policy)
{
	return policy->level == CONFIG_TLS_VERIFY || policy->level == CONFIG_TLS_SECURE;
}

static void check_level(const struct config_row_check *check)
{
	const struct config_tls_policy *policy = check->base;

	config_complain_if(check,
			   !check->config->dane && (policy->level == CONFIG_TLS_DANE ||
						    policy->level == CONFIG_TLS_DANE_ONLY),
			   "means nothing here", "dane and dane-only with setting dane = yes");
}

static void check_match(const struct config_row_check *check)
{
	const struct config_tls_policy *policy = check->base;

	config_complain_if(check, !is_verified(policy) && policy->match_count > 0,
			   "means nothing here", "with level = verify, secure");
}

static void check_policy_authority(const struct config_row_check *check)
{
	const struct config_tls_policy *policy = check->base;

	config_complain_if(check,
			   !is_verified(policy) && policy->authority != NULL &&
				   *policy->authority != '\0',
			   "means nothing here", "with level = verify, secure");
}

static void check_fingerprints(const struct config_row_check *check)
{
	const struct config_tls_policy *policy = check->base;

	if (policy->level != CONFIG_TLS_FINGERPRINT) {
		config_complain_if(check, policy->fingerprint_count > 0, "means nothing here",
				   "with level = fingerprint");
		return;
	}
	config_complain_if(check, policy->fingerprint_count == 0, "must be set",
			   "SHA-256 fingerprints");
}

static void check_presented_certificate(const struct config_row_check *check)
{
	const struct config_tls_policy *policy = check->base;

	if (policy->certificate == NULL || *policy->certificate == '\0')
		return;
	config_complain_if(check, policy->level == CONFIG_TLS_NONE, "means nothing here",
			   "with a level other than none");
	config_complain_if(
		check,
		config_certificate_find(check->config, str_from(policy->certificate)) == NULL,
		"there is no such section certificate", "the name of a section certificate");
}

/* Where plain text would do, every cipher is better. */
static void check_ciphers(const struct config_row_check *check)
{
	const struct config_tls_policy *policy = check->base;

	if (policy->strength.cipher_count == 0)
		return;
	config_complain_if(check, policy->level <= CONFIG_TLS_MAY, "means nothing here",
			   "with a level other than none, may");
	config_complain_if(check, policy->strength.min_version == CONFIG_TLS_1_3,
			   "means nothing here", "with TLS 1.2 as the oldest version");
}

const struct config_setting config_schema_tls[] = {
	SETTING(TLS, "level", word, AT(config_tls_policy, level), WORDS(tls_level_words),
		CHECK(check_level),
		MEANING("none, may, encrypt and verify: see remote_tls. dane: as TLSA records say "
			"where DNSSEC protects them, TLS with any certificate if they cannot be "
			"used, and else as may. dane-only: by TLSA records, else mail waits. "
			"verify: "
			"a certificate of a trusted authority for a name of match, by default the "
			"MX "
			"host's, which the DNS can change. secure: the same, by default that of "
			"the relay or else the domain, or a name below it. fingerprint: a "
			"certificate of "
			"fingerprints.")),
	SETTING(TLS, "match", tls_matches, LIST(config_tls_policy, matches, match_count),
		INITIAL(""), CHECK(check_match),
		MEANING("The names of which the server's certificate must have one, for verify "
			"and secure: a name, \".NAME\" for all names below it, \"nexthop\" for "
			"the relay of the route or else the destination's domain, \"hostname\" "
			"for the MX host. They must be in its subjectAltName; a common name does "
			"not count.")),
	SETTING(TLS, "fingerprints", fingerprints,
		LIST(config_tls_policy, fingerprints, fingerprint_count), INITIAL(""),
		CHECK(check_fingerprints),
		MEANING("SHA-256 of the server's certificate, or of its public key, in "
			"hexadecimal, with or without colons.")),
	SETTING(TLS, "authority", optional_path, AT(config_tls_policy, authority), INITIAL(""),
		RANGE(0, 4000), CHECK(check_policy_authority),
		MEANING("The file, in PEM form, of the authorities that are trusted for this "
			"destination; empty: tls_authorities.")),
	SETTING(TLS, "certificate", text, AT(config_tls_policy, certificate), INITIAL(""),
		CHECK(check_presented_certificate),
		MEANING("The section certificate that is presented to this destination's servers; "
			"empty: none.")),

	SETTING(TLS, "min_version", word, AT(config_tls_policy, strength.min_version),
		COMPUTED("that of setting tls_min_version"), WORDS(config_tls_version_words),
		MEANING("The oldest version of TLS that is accepted from this destination's "
			"servers. Means nothing where plain text would do.")),
	SETTING(TLS, "ciphers", ciphers,
		LIST(config_tls_policy, strength.ciphers, strength.cipher_count), INITIAL(""),
		CHECK(check_ciphers),
		MEANING("The ciphers of TLS 1.2 that are accepted from them, the best first; "
			"empty: "
			"those of setting tls_ciphers.")),
};

const size_t config_schema_tls_count = COUNT_OF(config_schema_tls);
