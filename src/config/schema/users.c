// SPDX-License-Identifier: ISC
/* The settings of the sections directory and auth: where users are found, and how they prove who
 * they are. */
#include "config/schema/row.h"
#include <string.h>

static const struct config_word users_words[] = {{"directory", CONFIG_AUTH_DIRECTORY},
						 {"dovecot", CONFIG_AUTH_DOVECOT},
						 {"ldap", CONFIG_AUTH_LDAP},
						 {NULL, 0}};
static const struct config_word users_backend_words[] = {{"sqlite", CONFIG_BACKEND_SQLITE},
							 {"postgresql", CONFIG_BACKEND_POSTGRESQL},
							 {"ldap", CONFIG_BACKEND_LDAP},
							 {"servers", CONFIG_BACKEND_SERVERS},
							 {NULL, 0}};

/* --- directory --- */

/* The files of TLS go together, and are required for listening or asking elsewhere. */
static void check_directory_file(const struct config_row_check *check, const char *value)
{
	const struct config_directory *directory = check->base;
	const char *const files[] = {directory->certificate, directory->key, directory->authority};
	bool is_needed = config_directory_has_tls(directory);
	bool is_any_set = false;

	for (size_t i = 0; i < COUNT_OF(files); i++)
		is_any_set |= files[i] != NULL && *files[i] != '\0';
	config_complain_if(check, (is_needed || is_any_set) && value != NULL && *value == '\0',
			   is_needed ? "must be set: machines show each other who they are"
				     : "must be set: certificate, key and authority go together",
			   "an absolute path");
}

static void check_directory_certificate(const struct config_row_check *check)
{
	const struct config_directory *directory = check->base;

	check_directory_file(check, directory->certificate);
}

static void check_directory_key(const struct config_row_check *check)
{
	const struct config_directory *directory = check->base;

	check_directory_file(check, directory->key);
}

static void check_directory_authority(const struct config_row_check *check)
{
	const struct config_directory *directory = check->base;

	check_directory_file(check, directory->authority);
}

static void check_directory_listen(const struct config_row_check *check)
{
	const struct config_directory *directory = check->base;
	bool is_unix = false;

	for (size_t i = 0; i < directory->listen_count; i++)
		is_unix |= directory->listens[i].port == 0;
	config_complain_if(check, is_unix, "a UNIX socket, which RUN/directory is already",
			   "IPV4:PORT, [IPV6]:PORT");
}

static void check_readers(const struct config_row_check *check)
{
	const struct config_directory *directory = check->base;

	if (directory->listen_count > 0) {
		config_complain_if(check, directory->reader_count + directory->changer_count == 0,
				   "must be set: nobody may ask at listen",
				   "names of certificates, in readers or changers");
		return;
	}
	config_complain_if(check, directory->reader_count > 0, "means nothing without listen",
			   "with listen");
}

static void check_changers(const struct config_row_check *check)
{
	const struct config_directory *directory = check->base;

	config_complain_if(check, directory->listen_count == 0 && directory->changer_count > 0,
			   "means nothing without listen", "with listen");
}

/* --- auth --- */

static void check_users(const struct config_row_check *check)
{
	const struct config_auth *auth = check->base;
	enum config_backend backend = check->config->directory.backend;

	if (auth->users == CONFIG_AUTH_DIRECTORY) {
		config_complain_if(check, backend == CONFIG_BACKEND_NONE,
				   "there is no section directory", "with a section directory");
		return;
	}
	config_complain_if(check, auth->users == CONFIG_AUTH_LDAP && backend != CONFIG_BACKEND_LDAP,
			   "the directory's backend is not ldap",
			   "with a section directory of backend ldap");
}

/* RFC 4422 section 3.1. */
static bool is_mechanism(const char *name)
{
	return *name != '\0' && strlen(name) <= 20 &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == strlen(name);
}

static void check_mechanisms(const struct config_row_check *check)
{
	const struct config_auth *auth = check->base;
	bool is_wrong = false;

	for (size_t i = 0; i < auth->mechanism_count; i++)
		is_wrong |= !is_mechanism(auth->mechanisms[i]);
	config_complain_if(check, is_wrong, "not the name of a mechanism",
			   "1 to 20 of A-Z, 0-9, '-', '_'");
}

static void check_token_keys(const struct config_row_check *check)
{
	const struct config_auth *auth = check->base;
	bool is_wrong = false;

	for (size_t i = 0; i < auth->token_key_count; i++)
		is_wrong |= auth->token_keys[i][0] != '/';
	config_complain_if(check, is_wrong, "not an absolute path", "absolute paths");
}

static void check_token_issuer(const struct config_row_check *check)
{
	const struct config_auth *auth = check->base;

	config_complain_if(check, auth->token_key_count > 0 && *auth->token_issuer == '\0',
			   "must be set: any key could sign for any service",
			   "the claim iss of the tokens");
}

static void check_token_audience(const struct config_row_check *check)
{
	const struct config_auth *auth = check->base;

	config_complain_if(check, auth->token_key_count > 0 && *auth->token_audience == '\0',
			   "must be set: a token for another service would be accepted",
			   "the claim aud of the tokens");
}

static void check_token_claim(const struct config_row_check *check)
{
	const struct config_auth *auth = check->base;

	config_complain_if(check, *auth->token_claim == '\0', "must not be empty",
			   "a claim that names the user");
}

static void check_introspection_url(const struct config_row_check *check)
{
	const struct config_auth *auth = check->base;
	struct str host;
	struct str path;
	uint16_t port;

	config_complain_if(
		check,
		*auth->introspection_url != '\0' &&
			!config_url_split(str_from(auth->introspection_url), &host, &port, &path),
		"not such a URL", "https://HOST/PATH, https://HOST:PORT/PATH");
}

static void check_introspection_secret_file(const struct config_row_check *check)
{
	const struct config_auth *auth = check->base;

	config_complain_if(check,
			   *auth->introspection_user != '\0' &&
				   *auth->introspection_secret_file == '\0',
			   "must be set with introspection_user", "an absolute path");
}

const struct config_setting config_schema_users[] = {
	SETTING(DIRECTORY, "backend", word, AT(config_directory, backend), INITIAL("sqlite"),
		WORDS(users_backend_words),
		MEANING("The backend that has the data: an SQLite file on this machine, "
			"PostgreSQL, LDAP, or other Stagepost directory servers.")),
	SETTING(DIRECTORY, "path", path, AT(config_directory, path),
		INITIAL("/var/lib/stagepost/directory.db"), RANGE(1, 4000),
		KINDS(BACKEND(SQLITE) | BACKEND(LDAP)),
		MEANING("The database file; it is created if it does not exist, as are other "
			"files next to it. ldap: a copy of the LDAP content, from which a restart "
			"resumes.")),
	SETTING(DIRECTORY, "database", texts, LIST(config_directory, database, database_count),
		KINDS(BACKEND(POSTGRESQL)), SECRET,
		MEANING("Connection strings of libpq, one for each server: the first one that "
			"answers is used for reading, and the primary for changes.")),
	SETTING(DIRECTORY, "url", urls, LIST(config_directory, urls, url_count),
		KINDS(BACKEND(LDAP)), MEANING("The LDAP servers; the first that answers is used.")),
	SETTING(DIRECTORY, "bind_dn", text, AT(config_directory, bind_dn), INITIAL(""),
		KINDS(BACKEND(LDAP)),
		MEANING("The DN to bind as at the LDAP servers; empty: anonymous.")),
	SETTING(DIRECTORY, "base", text, AT(config_directory, base), KINDS(BACKEND(LDAP)),
		MEANING("The entry below which all entries are.")),
	SETTING(DIRECTORY, "password_file", optional_path, AT(config_directory, password_file),
		INITIAL(""), RANGE(0, 4000), KINDS(BACKEND(LDAP)),
		MEANING("The file whose first line is the password of bind_dn.")),
	SETTING(DIRECTORY, "map", mappings, LIST(config_directory, map, map_count), INITIAL(""),
		KINDS(BACKEND(LDAP)),
		MEANING("Which LDAP attributes are used for which fields, if the defaults do not "
			"fit; see stagepost-directory-ldap(7).")),
	SETTING(DIRECTORY, "servers", servers, LIST(config_directory, servers, server_count),
		KINDS(BACKEND(SERVERS)),
		MEANING("The directory servers that are asked; the first that answers is used. "
			"They and this machine authenticate each other by certificates.")),
	SETTING(DIRECTORY, "listen", endpoints, LIST(config_directory, listens, listen_count),
		INITIAL(""), CHECK(check_directory_listen),
		MEANING("The addresses at which other machines may ask, by TLS, with a "
			"certificate whose name is in readers or changers.")),
	SETTING(DIRECTORY, "socketmap", endpoints,
		LIST(config_directory, socketmaps, socketmap_count), INITIAL(""),
		MEANING("Where other mail systems may ask by the socketmap protocol. Everybody "
			"who can connect to this address may read.")),
	SETTING(DIRECTORY, "certificate", optional_path, AT(config_directory, certificate),
		INITIAL(""), RANGE(0, 4000), CHECK(check_directory_certificate),
		MEANING("The file, in PEM form, of this machine's certificate, followed by the "
			"intermediate certificates.")),
	SETTING(DIRECTORY, "key", optional_path, AT(config_directory, key), INITIAL(""),
		RANGE(0, 4000), CHECK(check_directory_key),
		MEANING("The file of the certificate's private key.")),
	SETTING(DIRECTORY, "authority", optional_path, AT(config_directory, authority), INITIAL(""),
		RANGE(0, 4000), CHECK(check_directory_authority),
		MEANING("The file of the authorities that must have signed the certificates of "
			"other machines.")),
	SETTING(DIRECTORY, "readers", names, LIST(config_directory, readers, reader_count),
		INITIAL(""), CHECK(check_readers),
		MEANING("The names of certificates (subjectAltName, or else common name) whose "
			"owners may read all but passwords.")),
	SETTING(DIRECTORY, "changers", names, LIST(config_directory, changers, changer_count),
		INITIAL(""), CHECK(check_changers),
		MEANING("The names of certificates whose owners may read everything, and change "
			"it.")),
	SETTING(DIRECTORY, "aliases", texts, LIST(config_directory, aliases, alias_count),
		INITIAL("/etc/aliases"),
		MEANING("The files that newaliases reads into the directory.")),
	SETTING(DIRECTORY, "ttl", duration, AT(config_directory, ttl_us), INITIAL("1h"),
		RANGE(0, 7 * 86400),
		MEANING("How long a client may use an answer while it cannot be notified "
			"that it has changed.")),
	SETTING(DIRECTORY, "negative_ttl", duration, AT(config_directory, negative_ttl_us),
		INITIAL("5m"), RANGE(0, 7 * 86400),
		MEANING("How long a client may use the answer that something does not exist.")),

	SETTING(AUTH, "users", word, AT(config_auth, users), INITIAL("directory"),
		WORDS(users_words), CHECK(check_users),
		MEANING("Where users and passwords are verified. directory: the hashes and SCRAM "
			"keys of its users. dovecot: the authentication service of Dovecot. ldap: "
			"the servers of the directory, whose backend must be ldap: they are asked "
			"to bind as the user, so that no hash leaves them; this needs mechanisms "
			"that send the password itself (PLAIN, LOGIN).")),
	SETTING(AUTH, "mechanisms", texts, LIST(config_auth, mechanisms, mechanism_count),
		COMPUTED("all that are possible"), CHECK(check_mechanisms),
		MEANING("The mechanisms of SASL that are offered, of EXTERNAL, "
			"SCRAM-SHA-256-PLUS, SCRAM-SHA-1-PLUS, SCRAM-SHA-256, SCRAM-SHA-1, "
			"OAUTHBEARER, XOAUTH2, PLAIN and LOGIN; with dovecot also others that it "
			"has. SCRAM needs users with SCRAM keys, or dovecot; OAUTHBEARER and "
			"XOAUTH2 token_keys, introspection_url, or dovecot; EXTERNAL "
			"a listen section with client_authority. A client that prefers SCRAM does "
			"not try another one when it fails: by default it is offered only while "
			"all "
			"active users of the directory who have a password have keys for it "
			"(auth_withheld). With dovecot, and with ldap, that is for these to know: "
			"Dovecot offers SCRAM only where its configuration says so, and ldap has "
			"no "
			"SCRAM.")),
	SETTING(AUTH, "socket", path, AT(config_auth, socket), INITIAL("/run/dovecot/auth-client"),
		RANGE(1, 107), KINDS(USERS(DOVECOT)),
		MEANING("Dovecot's socket for authentication clients.")),
	SETTING(AUTH, "threads", number, AT(config_auth, threads), INITIAL("4"), RANGE(2, 64),
		MEANING("How many passwords are checked at once. Half of the threads are reserved "
			"for clients from which a login succeeded within a day; clients that "
			"failed recently get at most a quarter. The other half runs only on idle "
			"processors (sched(7), SCHED_IDLE). One thread more serves unknown clients "
			"with a tenth of a processor, while few of them wait or the idle threads "
			"make no progress.")),
	SETTING(AUTH, "failure_limit", number, AT(config_auth, failure_limit), INITIAL("20"),
		RANGE(0, 1000000),
		MEANING("After so many failures a client is refused without a check, until none "
			"has come for failure_memory. A client is an address of IPv4, or a /64 of "
			"IPv6. Its network (/24 or /48) may have five times as many. 0: no limit. "
			"The answer to a failure is also delayed, by half a second to five "
			"seconds, the more failures there were before.")),
	SETTING(AUTH, "failure_exempt", networks,
		LIST(config_auth, failure_exempt, failure_exempt_count),
		INITIAL("127.0.0.0/8, ::1"),
		MEANING("Clients that serve many users, like a webmail on this machine that does "
			"not report its clients by XCLIENT: they are never locked out, otherwise "
			"one user could lock out all. The failures of a user still delay that "
			"user's logins there. Do not list a proxy that hides the addresses of "
			"strangers: use proxy_from for it, or XCLIENT.")),
	SETTING(AUTH, "failure_memory", duration, AT(config_auth, failure_memory_us),
		INITIAL("15m"), RANGE(1, 7 * 86400),
		MEANING("How long failures of a client, a network and a user are remembered after "
			"the last one. When a user succeeds, that user's failures from the client "
			"are forgotten.")),
	SETTING(AUTH, "token_keys", texts, LIST(config_auth, token_keys, token_key_count),
		INITIAL(""), CHECK(check_token_keys),
		MEANING("Files with public keys or certificates, in PEM form, of those who issue "
			"tokens (JWT, RFC 7519): RSA of at least 2048 bits, P-256, P-384 or "
			"Ed25519. Needs token_issuer and token_audience. Read at the start and "
			"at a reload.")),
	SETTING(AUTH, "token_issuer", text, AT(config_auth, token_issuer), INITIAL(""),
		CHECK(check_token_issuer), MEANING("The claim iss that a token must have.")),
	SETTING(AUTH, "token_audience", text, AT(config_auth, token_audience), INITIAL(""),
		CHECK(check_token_audience),
		MEANING("What the claim aud of a token must be, or have in its list.")),
	SETTING(AUTH, "token_claim", text, AT(config_auth, token_claim), INITIAL("email"),
		CHECK(check_token_claim), MEANING("The claim that names the user.")),
	SETTING(AUTH, "token_scope", text, AT(config_auth, token_scope), INITIAL(""),
		MEANING("A scope that a token must have; empty: none.")),
	SETTING(AUTH, "introspection_url", text, AT(config_auth, introspection_url), INITIAL(""),
		CHECK(check_introspection_url),
		MEANING("Where tokens that token_keys cannot verify are introspected (RFC 7662): "
			"https://HOST/PATH or https://HOST:PORT/PATH. Answers are used for at most "
			"a minute.")),
	SETTING(AUTH, "introspection_user", text, AT(config_auth, introspection_user), INITIAL(""),
		MEANING("The client identifier of this server there; empty: none.")),
	SETTING(AUTH, "introspection_secret_file", optional_path,
		AT(config_auth, introspection_secret_file), INITIAL(""), RANGE(0, 4000),
		CHECK(check_introspection_secret_file),
		MEANING("The file whose first line is the secret of introspection_user.")),
};

const size_t config_schema_users_count = COUNT_OF(config_schema_users);
