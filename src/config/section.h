// SPDX-License-Identifier: ISC
/*
 * config/section.h - what a section of stagepost.conf says, as plain values: a listener, a service,
 * a domain, a route, a certificate, the directory, and the words of settings.
 */
#ifndef CONFIG_SECTION_H
#define CONFIG_SECTION_H

#include "base/attributes.h"
#include "mail/envelope.h"
#include <netinet/in.h>

enum config_protocol {
	CONFIG_SMTP,
	CONFIG_SUBMISSION,
	CONFIG_LMTP,
	CONFIG_QMTP,
	CONFIG_QMQP,
	CONFIG_PROTOCOLS,
};

struct config_endpoint { /* "0.0.0.0:25", "[::]:25", "unix:/run/x" */
	const char *text;
	const char *host; /* literal address without brackets; or the path of a UNIX socket */
	uint16_t port;    /* 0: UNIX socket */
};

enum config_bare_newline { /* how messages with a bare CR or LF are treated */
			   CONFIG_BARE_NEWLINE_AUTO, /* corrected from users' programs, else
						      * rejected */
			   CONFIG_BARE_NEWLINE_REJECT,
			   CONFIG_BARE_NEWLINE_NORMALIZE,
};

enum config_listen_auth {
	CONFIG_LISTEN_AUTH_NO,
	CONFIG_LISTEN_AUTH_OFFERED,
	CONFIG_LISTEN_AUTH_REQUIRED, /* of clients that are not trusted */
};

enum config_clear_auth { /* AUTH without TLS */
			 CONFIG_CLEAR_AUTH_NO,
			 CONFIG_CLEAR_AUTH_LOCAL, /* by loopback or a UNIX socket */
			 CONFIG_CLEAR_AUTH_YES,
};

enum config_sender_login { /* what a user may name as the sender */
			   CONFIG_SENDER_LOGIN_OFF,
			   CONFIG_SENDER_LOGIN_ENVELOPE,
			   CONFIG_SENDER_LOGIN_STRICT, /* also From and Sender */
};

enum config_nul { CONFIG_NUL_REJECT, CONFIG_NUL_REMOVE };

enum config_listen_tls {
	CONFIG_LISTEN_TLS_NONE,
	CONFIG_LISTEN_TLS_STARTTLS, /* offered */
	CONFIG_LISTEN_TLS_REQUIRED, /* offered; no mail without it */
	CONFIG_LISTEN_TLS_IMPLICIT, /* before the greeting (RFC 8314) */
};

/* How strictly a connection to a server is protected, from least to most. */
enum config_tls_level {
	CONFIG_TLS_NONE,
	CONFIG_TLS_MAY,     /* TLS if it works, else plain text */
	CONFIG_TLS_ENCRYPT, /* TLS with any certificate */
	CONFIG_TLS_DANE,    /* by TLSA records where there are some, else "encrypt" with MX from
			     * insecure zones as "may" (RFC 7672 section 2.2) */
	CONFIG_TLS_DANE_ONLY,
	CONFIG_TLS_VERIFY,      /* a trusted authority, and a name of setting match, by default
				 * the MX host's */
	CONFIG_TLS_SECURE,      /* the same, by default the domain's, which no DNS can change */
	CONFIG_TLS_FINGERPRINT, /* one of setting fingerprints */
};

struct config_certificate { /* certificate NAME { ... } */
	const char *name;
	const char *chain;  /* PEM files */
	const char *key;    /* "": in the same file */
	const char **names; /* host names, "*.NAME"; none: those in the certificate */
	size_t name_count;
};

struct config_tls_policy {       /* tls "DESTINATION" { ... } */
	const char *destination; /* "example.net", ".example.edu", "[192.0.2.1]" */
	enum config_tls_level level;
	const char **matches; /* "NAME", ".NAME" for any name below, "nexthop", "hostname" */
	size_t match_count;
	const char **fingerprints; /* SHA-256 of certificate or public key, hexadecimal */
	size_t fingerprint_count;
	const char *authority;   /* PEM file; "": setting tls_authorities */
	const char *certificate; /* name of a section certificate to present; "": none */
};

struct config_listen {
	enum config_protocol protocol;
	struct config_endpoint *addresses;
	size_t address_count;
	enum mail_stage stage;
	bool proxy;                     /* connections begin with a PROXY header */
	struct config_network *clients; /* qmqp: who may connect */
	size_t client_count;
	enum config_bare_newline bare_newline;
	enum config_listen_tls tls;
	bool client_certificates;     /* ask for them */
	const char *client_authority; /* PEM file; "": none */
	const char **client_names;    /* of certificates whose owners may relay */
	size_t client_name_count;
	const char **client_fingerprints; /* likewise, SHA-256 of certificate or public key */
	size_t client_fingerprint_count;
	enum config_listen_auth auth;
	enum config_clear_auth auth_without_tls;
	enum config_sender_login sender_login;
	bool received_user; /* show who has authenticated in Received */
	bool submission;    /* complete the header fields of users' programs */
	bool repair;        /* of their messages what other servers refuse */
};

enum config_service_kind { /* 0: unknown */
			   CONFIG_SERVICE_MAILDIR = 1,
			   CONFIG_SERVICE_LMTP,
			   CONFIG_SERVICE_PIPE,
			   CONFIG_SERVICE_MAILBOX,
			   CONFIG_SERVICE_IMAP,
			   CONFIG_SERVICE_KINDS,
};

struct config_network { /* IPv4 is mapped into ::ffff:0:0/96 */
	struct in6_addr address;
	unsigned prefix; /* 0 to 128 */
};

/* Servers on one port that the directory may name: those of a network, or by name. */
struct config_reach {
	const char *text;              /* as configured */
	const char *name;              /* lower case; NULL: servers of the network */
	bool is_below;                 /* all names below it, but not the name itself */
	struct config_network network; /* if there is no name */
	uint16_t port;
};

/* The service that always exists: it sends mail on to the members of lists. */
#define CONFIG_LIST_SERVICE "list"

enum config_over_quota { CONFIG_OVER_QUOTA_DEFER, CONFIG_OVER_QUOTA_REFUSE };

enum config_sent { CONFIG_SENT_NONE, CONFIG_SENT_LOCAL, CONFIG_SENT_ALL };

enum config_imap_security {
	CONFIG_IMAP_PLAIN,
	CONFIG_IMAP_STARTTLS,
	CONFIG_IMAP_IMPLICIT,
};

struct config_service {
	const char *name; /* [a-z0-9_-]{1,32}, not "remote" or "list"; also a directory in the
			   * queue */
	enum config_service_kind kind;
	const char *path;  /* maildir, mailbox: with %d (domain), %u (local part), %% */
	const char *quota; /* maildir: as in mail/quota.h; "": no quotas */
	enum config_over_quota over_quota;
	struct config_endpoint address; /* lmtp */
	bool xforward;                  /* lmtp */
	struct config_reach *servers;   /* lmtp: servers that the directory may name */
	size_t server_count;
	const char **command; /* pipe: the program's path, and arguments with
			       * %a %d %s %u %x %% */
	size_t command_count;
	const char *user; /* maildir, pipe: user to deliver as; "%u": the mailbox's; "": not set */
	uint32_t timeout; /* seconds; lmtp: for a reply; pipe: for a run */
	uint64_t output_max;       /* pipe: bytes */
	enum config_tls_level tls; /* lmtp */
	const char *authority;     /* lmtp: PEM file; "": setting tls_authorities */
	const char *certificate;   /* lmtp: section to present; "": none */
	/* mailbox, imap: */
	enum config_sent sent; /* whose sent mail is kept */
	const char *sent_folder;
	const char *folder;  /* of recipients: "INBOX" */
	bool detail_folders; /* "user+folder" goes to that folder */
	const char **flags;  /* of recipients' copies */
	size_t flag_count;
	enum config_imap_security security; /* imap, as the rest: */
	const char *login;                  /* with %a, %u, %d, %% */
	const char *password_file;
	const char *server_name; /* in its certificate; "": its address */
	const char *prefix;      /* of folders other than INBOX; "": none */
};

struct config_domain {
	const char *name; /* lower case */
	const struct config_service *service;
	const char **addresses; /* local parts, lower case, in order */
	size_t address_count;   /* 0: every local part exists */
};

/* One element of smtproutes, qmtproutes or senderroutes: DOMAIN:RELAY[;PORT][|USER[|PASSWORD]]. */
struct config_route {
	const char *domain; /* "example.net", ".example.edu" (subdomains), "" (all others),
			     * "!" (the null sender, also written "!@"); of senderroutes the
			     * first two, or "ann@example.net", in lower case */
	const char *relay;  /* host name, or address in brackets ("[192.0.2.1]", "[2001:db8::1]");
			     * "": by MX nevertheless; for "!" and in senderroutes: by the other
			     * routes */
	uint16_t port;      /* 25 by default, 209 in qmtproutes */
	const char *user;   /* to log in to the relay as; "" or NULL: without a login */
	/* "": in the file of relay_passwords; CONFIG_HIDDEN except in the supervisor, in "keys" and
	 * in commands */
	const char *password;
};
enum { CONFIG_USER_MAX = 255, CONFIG_PASSWORD_MAX = 1000 }; /* bytes */
#define CONFIG_HIDDEN "hidden"

enum config_sync {
	CONFIG_SYNC_AUTO,
	CONFIG_SYNC_FILES,
	CONFIG_SYNC_FILESYSTEM,
	CONFIG_SYNC_ORDERED
};

enum config_bounce { CONFIG_BOUNCE_REPORT, CONFIG_BOUNCE_QSBMF };
enum config_log_format { CONFIG_LOG_LOGFMT, CONFIG_LOG_JSON };
enum config_log_target { CONFIG_LOG_STDERR, CONFIG_LOG_SYSLOG };

struct config_transport { /* transport remote { ... }, transport NAME-OF-A-SERVICE { ... } */
	const char *name;
	uint32_t concurrency;             /* deliveries at once */
	uint32_t destination_concurrency; /* to one host or mailbox domain */
	bool paused;                      /* keep its mail, attempt no delivery */
};

struct config_process { /* process NAME { ... } */
	const char *name;
	const char *user; /* "": that of setting user */
};

enum config_class_kind {                      /* which hosts a mask has */
			 CONFIG_CLASS_ALL,    /* "*" */
			 CONFIG_CLASS_HOST,   /* by name */
			 CONFIG_CLASS_DOMAIN, /* "*.NAME": a name and all below it */
			 CONFIG_CLASS_NETWORK,
};

enum config_class_count {
	CONFIG_CLASS_COUNT_ACTIVE, /* sessions in use */
	CONFIG_CLASS_COUNT_OPEN,   /* idle connections, too */
};

enum { CONFIG_CLASSES_MAX = 128 };

enum config_login { /* mechanisms of logins to relays, from the weakest on */
		    CONFIG_LOGIN_LOGIN,
		    CONFIG_LOGIN_PLAIN,
		    CONFIG_LOGIN_SCRAM_SHA_1,
		    CONFIG_LOGIN_SCRAM_SHA_256,
		    CONFIG_LOGIN_SCRAM_SHA_1_PLUS,
		    CONFIG_LOGIN_SCRAM_SHA_256_PLUS,
};

enum config_remote_ip { /* which addresses of servers are tried, and in which order */
			CONFIG_IPV6_FIRST,
			CONFIG_IPV4_FIRST,
			CONFIG_IPV4, /* no others */
			CONFIG_IPV6,
};

enum { CONFIG_SOURCES_MAX = 256, CONFIG_SOURCE_ADDRESSES_MAX = 64 };

struct config_source { /* source NAME { ... } */
	const char *name;
	struct in6_addr *addresses; /* of this machine; IPv4 mapped */
	size_t address_count;
	const char *hostname; /* greets servers */
};

/* One element of sender_sources or domain_sources: KEY:SOURCE. */
struct config_source_use {
	const char *key;    /* as the domain of a route */
	const char *source; /* the section's name */
};

struct config_class {     /* class "MASK" { ... } */
	const char *mask; /* in canonical form */
	enum config_class_kind kind;
	const char *name; /* HOST: the name, DOMAIN: what follows "*."; else NULL */
	struct config_network network;
	uint32_t queue;  /* sessions, from which on mail waits */
	uint32_t refuse; /* and clients are refused */
	enum config_class_count count;
	const char *source; /* section of outgoing sessions; "": as setting source says */
};

enum config_backend {
	CONFIG_BACKEND_NONE, /* no section directory */
	CONFIG_BACKEND_SQLITE,
	CONFIG_BACKEND_POSTGRESQL,
	CONFIG_BACKEND_LDAP,
	CONFIG_BACKEND_SERVERS, /* other directory servers */
};

struct config_directory { /* directory { ... } */
	enum config_backend backend;
	const char *path;      /* sqlite, ldap: the database file */
	const char **database; /* postgresql: connection strings of libpq */
	size_t database_count;
	const char **urls; /* ldap: "ldap://HOST" and similar */
	size_t url_count;
	const char *bind_dn;       /* ldap: "": anonymous */
	const char *base;          /* ldap: DN of the subtree */
	const char *password_file; /* ldap: "": none */
	const char **map;          /* ldap: "FIELD=ATTRIBUTE"; see config/map.h */
	size_t map_count;
	const char **servers; /* servers: "HOST:PORT", "unix:/PATH" */
	size_t server_count;
	struct config_endpoint *listens; /* mutual TLS */
	size_t listen_count;
	struct config_endpoint *socketmaps;
	size_t socketmap_count;
	const char *certificate; /* PEM files; "": none */
	const char *key;
	const char *authority;
	const char **readers; /* names in certificates */
	size_t reader_count;
	const char **changers;
	size_t changer_count;
	const char **aliases; /* files for newaliases(1) */
	size_t alias_count;
	int64_t ttl_us;
	int64_t negative_ttl_us; /* of negative answers */
};

enum config_auth_users {                   /* who knows the passwords */
			 CONFIG_AUTH_NONE, /* nobody is authenticated */
			 CONFIG_AUTH_DIRECTORY,
			 CONFIG_AUTH_DOVECOT,
			 CONFIG_AUTH_LDAP,
};

struct config_auth { /* auth { ... } */
	enum config_auth_users users;
	const char **mechanisms; /* those that are offered; none: all that are possible */
	size_t mechanism_count;
	const char *socket;     /* dovecot: path */
	uint32_t threads;       /* for checks of passwords */
	uint32_t failure_limit; /* of a client; 0: none */
	struct config_network *failure_exempt;
	size_t failure_exempt_count;
	int64_t failure_memory_us;
	const char **token_keys; /* PEM files */
	size_t token_key_count;
	const char *token_issuer; /* "": any */
	const char *token_audience;
	const char *token_claim;               /* that names the user */
	const char *token_scope;               /* "": any */
	const char *introspection_url;         /* "": none */
	const char *introspection_user;        /* "": none */
	const char *introspection_secret_file; /* "": none */
};

enum config_record_backend {
	CONFIG_RECORD_NONE, /* nothing is recorded */
	CONFIG_RECORD_SQLITE,
	CONFIG_RECORD_POSTGRESQL,
	CONFIG_RECORD_MARIADB,
};

struct config_record { /* record { ... } */
	enum config_record_backend backend;
	const char *path;               /* sqlite: the database file */
	const char *database;           /* postgresql: connection string; mariadb: name */
	const char *servers;            /* mariadb, as the following: "HOST:PORT,..." or "" */
	const char *socket;             /* "": the library's */
	const char *user;               /* "": the process's */
	const char *password_file;      /* "": none */
	const char *authority;          /* "": no TLS */
	const char *client_certificate; /* "": none */
	const char *client_key;         /* of that */
	uint32_t connections;
	uint32_t lock_timeout; /* seconds */
	uint32_t timeout;      /* seconds, of each call */
	int64_t keep_us;       /* 0: for ever */
};

enum config_rule_automatic {
	CONFIG_RULE_ANY,
	CONFIG_RULE_AUTOMATIC, /* decode/identity.h */
	CONFIG_RULE_NOT_AUTOMATIC,
};

enum {
	CONFIG_RULES_MAX = 100,
	CONFIG_RULE_MASKS_MAX = 500, /* of all rules together: what a message can cost */
	CONFIG_RULE_FIELDS_MAX = 32, /* different names of header fields, likewise */
};

struct config_header_test {
	const char *name; /* of a field, in lower case */
	const char *mask; /* of its value (base/mask.h); "*": the field is there */
};

struct config_rule { /* rule NAME { ... } */
	const char *name;
	const char *service; /* "": all that record */
	/* All that are set must hold; of a list, one is enough. */
	struct config_header_test *headers;
	size_t header_count;
	const char **senders; /* masks of an address, or of its domain; "<>": the null sender */
	size_t sender_count;
	const char **recipients; /* likewise, without the detail */
	size_t recipient_count;
	const char **details; /* masks */
	size_t detail_count;
	uint64_t larger;  /* than so many bytes; 0: any */
	uint64_t smaller; /* likewise */
	enum config_rule_automatic automatic;
	/* What is done: */
	const char *folder; /* with %x, %%; "": as without the rule */
	const char **flags; /* "none" alone: without; none: as without the rule */
	size_t flag_count;
	bool sent; /* the sender's copy is kept, if it would be without the rule */
};

enum config_rate_count { /* what is counted */
			 CONFIG_RATE_CONNECTIONS,
			 CONFIG_RATE_MESSAGES,
			 CONFIG_RATE_RECIPIENTS,
			 CONFIG_RATE_BYTES,
			 CONFIG_RATE_REFUSALS, /* of commands */
			 CONFIG_RATE_FAILED_LOGINS,
			 CONFIG_RATE_COUNTS,
};
enum config_rate_per {                          /* for each of which it is counted */
		       CONFIG_RATE_PER_ADDRESS, /* or IPv6 network of 64 bits */
		       CONFIG_RATE_PER_USER,
		       CONFIG_RATE_PER_SENDER_DOMAIN,
		       CONFIG_RATE_PER_CLASS,
		       CONFIG_RATE_PER_ALL, /* all together */
		       CONFIG_RATE_PERS,
};
enum config_rate_answer { CONFIG_RATE_SLOW, CONFIG_RATE_DEFER, CONFIG_RATE_CLOSE };
enum config_rate_full { CONFIG_RATE_FULL_ALLOW, CONFIG_RATE_FULL_REFUSE };

struct config_rate { /* rate NAME { ... } */
	const char *name;
	enum config_rate_count count;
	enum config_rate_per per;
	const char *class_mask; /* only for clients of that section class; "": for all */
	uint64_t limit;         /* at least 1 */
	int64_t interval_us;
	enum config_rate_answer answer;
	enum config_rate_full full; /* for a new subject, when rate_keys others are in use */
};
enum { CONFIG_RATES_MAX = 40, CONFIG_RATES_PER_MAX = 8 };

enum config_destination_kind {                            /* which mail a mask is for */
			       CONFIG_DESTINATION_ALL,    /* "*" */
			       CONFIG_DESTINATION_DOMAIN, /* for a domain: "NAME" */
			       CONFIG_DESTINATION_BELOW,  /* for those below it: ".NAME" */
			       CONFIG_DESTINATION_HOST,   /* by a server: "mx:NAME" */
			       CONFIG_DESTINATION_HOSTS,  /* by those below it: "mx:*.NAME" */
};
enum config_destination_per { /* for each of which the numbers are */
			      CONFIG_DESTINATION_PER_DOMAIN,
			      CONFIG_DESTINATION_PER_HOST,
			      CONFIG_DESTINATION_PER_OWNER, /* of hosts: their registered domain */
};

struct config_destination { /* destination "MASK" { ... } */
	const char *mask;   /* in canonical form */
	enum config_destination_kind kind;
	const char *name; /* without what tells the kind; ALL: "" */
	enum config_destination_per per;
	uint32_t concurrency; /* connections at once; 0, as of the following: any number */
	uint32_t sessions;    /* begun in an interval */
	uint32_t messages;
	uint32_t recipients;
	int64_t interval_us;
	int64_t delay_us; /* between two messages of a session */
};
enum { CONFIG_DESTINATIONS_MAX = 1000 };

enum { CONFIG_PROCESSES = 15 };

#endif
