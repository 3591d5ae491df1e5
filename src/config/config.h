// SPDX-License-Identifier: ISC
/*
 * config/config.h - what stagepost.conf says, as plain values.
 *
 * One table (config/schema_row.h) names every setting with its section, type,
 * default, range, unit and meaning; the parser, the error messages and the
 * reference manual come from it. Values here have been checked and are
 * complete. A struct config is immutable and freed whole.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/arena.h"
#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/envelope.h"
#include <netinet/in.h>

enum config_protocol { CONFIG_SMTP, CONFIG_SUBMISSION, CONFIG_LMTP };

struct config_endpoint { /* "0.0.0.0:25", "[::]:25", "unix:/run/x" */
	const char *text;
	const char *host; /* address literal without brackets; or the path of a UNIX socket */
	uint16_t port;    /* 0: UNIX socket */
};

enum config_bare_newline { /* what becomes of messages with a CR or LF alone */
			   CONFIG_BARE_NEWLINE_AUTO, /* put right from users' programs, else
						      * refused */
			   CONFIG_BARE_NEWLINE_REJECT,
			   CONFIG_BARE_NEWLINE_NORMALIZE,
};

enum config_nul { CONFIG_NUL_REJECT, CONFIG_NUL_REMOVE };

struct config_listen {
	enum config_protocol protocol;
	struct config_endpoint *addresses;
	size_t address_count;
	enum mail_stage stage;
	bool proxy; /* connections begin with a PROXY header */
	enum config_bare_newline bare_newline;
};

enum config_service_kind { /* 0: none that is known */
			   CONFIG_SERVICE_MAILDIR = 1,
			   CONFIG_SERVICE_LMTP,
			   CONFIG_SERVICE_PIPE,
			   CONFIG_SERVICE_KINDS,
};

struct config_network { /* an IPv4 network is kept as ::ffff:0:0/96 mapped */
	struct in6_addr address;
	unsigned prefix; /* 0 to 128 */
};

/* Servers of one port that the directory may name: a network's, or by name. */
struct config_reach {
	const char *text;              /* as it was written */
	const char *name;              /* lower case; NULL: those of the network */
	bool is_below;                 /* not the name itself, but all below it */
	struct config_network network; /* where there is no name */
	uint16_t port;
};

/* The service that is always there: it sends on to the members of lists. */
#define CONFIG_LIST_SERVICE "list"

enum config_over_quota { CONFIG_OVER_QUOTA_DEFER, CONFIG_OVER_QUOTA_REFUSE };

struct config_service {
	const char *name; /* [a-z0-9_-]{1,32}, not "remote" or "list"; a directory name in the
			   * queue */
	enum config_service_kind kind;
	const char *path;  /* maildir: with %d (domain), %u (local part), %% */
	const char *quota; /* maildir: as of mail/quota.h; "": nothing is counted */
	enum config_over_quota over_quota;
	struct config_endpoint address; /* lmtp */
	struct config_reach *servers;   /* lmtp: those that the directory may name */
	size_t server_count;
	const char **command; /* pipe: the program's path, and arguments with
			       * %a %d %s %u %x %% */
	size_t command_count;
	const char *user;    /* maildir, pipe: as whom; "%u": the mailbox's own; "": not set */
	uint32_t timeout;    /* lmtp, pipe: seconds, for a reply; for a run */
	uint64_t output_max; /* pipe: bytes */
};

struct config_domain {
	const char *name; /* lower case */
	const struct config_service *service;
	const char **addresses; /* local parts, lower case, in order */
	size_t address_count;   /* 0: every local part */
};

/* One element of smtproutes: DOMAIN:RELAY[;PORT]. */
struct config_route {
	const char *domain; /* "example.net", ".example.edu" (subdomains), "" (everything else),
			     * "!" (the null sender, also given as "!@") */
	const char *relay;  /* host name, or address in brackets ("[192.0.2.1]", "[2001:db8::1]");
			     * "" means: by MX after all */
	uint16_t port;      /* 25 unless given */
};

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
	bool paused;                      /* keep its mail, try nothing */
};

struct config_process { /* process NAME { ... } */
	const char *name;
	const char *user; /* "": as setting user */
};

enum config_backend {
	CONFIG_BACKEND_NONE, /* there is no section directory */
	CONFIG_BACKEND_SQLITE,
	CONFIG_BACKEND_POSTGRESQL,
	CONFIG_BACKEND_LDAP,
	CONFIG_BACKEND_SERVERS, /* others are asked */
};

struct config_directory { /* directory { ... } */
	enum config_backend backend;
	const char *path;      /* sqlite, ldap: the database's file */
	const char **database; /* postgresql: connection strings of libpq */
	size_t database_count;
	const char **urls; /* ldap: "ldap://HOST" and the like */
	size_t url_count;
	const char *bind_dn;       /* ldap: "" is nobody */
	const char *base;          /* ldap: DN beneath which everything is */
	const char *password_file; /* ldap: "" without one */
	const char **map;          /* ldap: "FIELD=ATTRIBUTE"; see config/map.h */
	size_t map_count;
	const char **servers; /* servers: "HOST:PORT", "unix:/PATH" */
	size_t server_count;
	struct config_endpoint *listens; /* mutual TLS */
	size_t listen_count;
	struct config_endpoint *socketmaps;
	size_t socketmap_count;
	const char *certificate; /* files in PEM form; "" without one */
	const char *key;
	const char *authority;
	const char **readers; /* names of certificates */
	size_t reader_count;
	const char **changers;
	size_t changer_count;
	const char **aliases; /* files for newaliases */
	size_t alias_count;
	int64_t ttl_us;
	int64_t negative_ttl_us; /* of what does not exist */
};

enum { CONFIG_PROCESSES = 9 };

struct config {
	struct arena *arena; /* owns everything here */
	const char *file;
	const char *hostname;
	const char *default_domain; /* empty: see config_default_domain() */
	const char *queue;          /* directory */
	const char *run;            /* directory of the sockets */
	const char *user;           /* "" : do not change the user */
	uint32_t split;             /* for a new queue */
	enum config_sync queue_sync;
	bool queue_unsafe;
	uint32_t spares;             /* finished files kept for reuse */
	enum config_nul nul;         /* in messages */
	bool allow_early_commands;   /* do not end sessions for them */
	bool strict_addresses;       /* of the commands MAIL and RCPT, and greetings */
	uint64_t maxsize;            /* bytes of a message */
	uint32_t maxrecipients;      /* of one SMTP transaction */
	uint32_t maxhops;            /* Received header lines */
	uint32_t maxerrors;          /* refused commands in a session */
	uint32_t maxcommands;        /* that bring no message nearer, one after another */
	uint32_t maxsessions;        /* of all smtpd workers together */
	uint32_t maxsessions_client; /* of one address, in each worker; 0: no bound */
	uint32_t smtpd_workers;
	uint32_t smtp_timeout;           /* seconds, server: waiting for a command */
	uint32_t smtp_data_timeout;      /* the same: for a part of a message */
	uint32_t smtp_min_rate;          /* bytes per second; 0: any */
	uint32_t remote_connect_timeout; /* seconds */
	uint32_t remote_timeout;         /* seconds, waiting for a reply */
	bool convert_8bit;               /* for servers that do not offer 8BITMIME */
	uint32_t stop_timeout;           /* seconds, for deliveries that are being decided */
	int64_t queuelifetime_us;
	int64_t rescan_us;
	int64_t probe_delay_us;  /* of a host that could not be reached */
	uint64_t bouncemaxbytes; /* of a whole bounce; 0: no bound */
	enum config_bounce bounceformat;
	int64_t delaynotice_us;          /* 0: only for those who ask */
	const char *recipient_delimiter; /* bytes, each of which ends a user's name; may be "" */
	const char *bouncefrom;          /* local part, default MAILER-DAEMON */
	const char *doublebounceto;      /* LOCAL@DOMAIN; "" drops double bounces */
	bool client_names;               /* are asked of the DNS */
	const char *dns_server; /* "" : the system's; otherwise ADDRESS@PORT for all queries */
	const char *log_level;
	enum config_log_format log_format;
	enum config_log_target log_target;
	struct config_listen *listens;
	size_t listen_count;
	struct config_service *services;
	size_t service_count;
	struct config_domain *domains; /* as in the file */
	size_t domain_count;
	const struct config_domain **domain_index; /* the same, in order of their names */
	struct config_network *relay_from;
	size_t relay_from_count;
	struct config_network *own_addresses; /* besides those that clients reach */
	size_t own_address_count;
	struct config_network *proxy_from;
	size_t proxy_from_count;
	uint32_t proxy_timeout; /* seconds, for the PROXY header */
	struct config_route *smtproutes;
	size_t smtproute_count;
	struct config_transport *transports; /* "remote", each service, "list"; always all */
	size_t transport_count;
	struct config_process processes[CONFIG_PROCESSES]; /* those that can have a user */
	struct config_directory directory;
};

/* Where something stands in a configuration. */
struct config_place {
	struct str file; /* empty: the file itself, not one that it includes */
	unsigned line;   /* 0: nowhere */
};

/* One thing that is wrong with a configuration file. */
struct config_problem {
	const char *file;    /* "": not one that is included */
	unsigned line;       /* 0: the file as a whole */
	const char *setting; /* "listen smtp.address"; "" when it is not about one */
	const char *found;   /* the text that stands there; "" when there is none */
	const char *message; /* what is wrong */
	const char *allowed; /* what is allowed; "" when there is nothing to say */
	struct config_problem *next;
};

struct config_problems {
	struct config_problem *first; /* in order of lines */
	size_t count;
	struct arena *arena;
	const char *file; /* of those that are added, while files are read; may be NULL */
	const struct config_lines *lines; /* of the text that is parsed; may be NULL */
};

/* The text of FILE, with what it includes in the places of its statements "include"; lines of its
 * own say what is from where. Appended to *TEXT_OUT, at most 4 MiB. -errno when FILE cannot be
 * read, -EINVAL when an include is wrong: said in *PROBLEMS. */
MUST_CHECK int config_read(const char *file, struct buffer *text_out,
			   struct config_problems *problems);
/* Parses TEXT, the contents of the file named FILE. 0 and *CONFIG_OUT, which the
 * caller frees; or -EINVAL, and *PROBLEMS holds everything that is wrong, not
 * only the first. */
MUST_CHECK int config_parse(const char *file, struct str text, struct config **config_out,
			    struct config_problems *problems);
void config_free(struct config *config);
void config_problems_clear(struct config_problems *problems);

/* Where in TEXT, a configuration that config_parse() has accepted, the setting called NAME as
 * problems call it ("user", "service box.user") stands, or its section where it is left out; its
 * file is a view of TEXT. */
struct config_place config_setting_place(struct str text, const char *name);

/* "FILE:LINE: SETTING: MESSAGE: found FOUND; allowed: ALLOWED" for each, a line each. */
void config_problems_print(const struct config_problems *problems, const char *file,
			   struct buffer *out);

/* The transport called NAME, or NULL. */
const struct config_transport *config_transport_find(const struct config *config, struct str name);
const struct config_service *config_service_find(const struct config *config, struct str name);
/* Why mail for SERVICE may not be delivered to the server that the directory names, TEXT, as people
 * are told, behind the service's name; NULL: it may. It is of kind lmtp, and TEXT is in its one
 * form (mail/server.h) and among those of setting servers. */
const char *config_service_server_problem(const struct config_service *service, struct str text);
/* Whether a service names servers that have to be looked for in the DNS. */
bool config_has_server_names(const struct config *config);
/* As whom the process called NAME runs, "": the user is not changed. */
const char *config_process_user(const struct config *config, const char *name);
/* Whether a process may have another user than the queue. */
bool config_has_process_users(const struct config *config);
/* Whether a service of that KIND delivers as a user of its own. */
bool config_has_owners(const struct config *config, enum config_service_kind kind);
/* The directory that all mailboxes of SERVICE, a maildir, are beneath: its path up to
 * the last "/" before the first %, or before the end. */
struct str config_mailbox_base(const struct config_service *service);
/* In any case of letters. */
const struct config_domain *config_domain_find(const struct config *config, struct str name);
/* Of names without a domain: the setting; else the host name where that is a domain of ours or the
 * configuration has none, else its first domain. */
const char *config_default_domain(const struct config *config);
/* Of the names that users of this machine write without one: the setting, else the host name. */
const char *config_users_domain(const struct config *config);
/* Whether LOCAL, in any case of letters, exists at DOMAIN. */
bool config_domain_has(const struct config_domain *domain, struct str local);
/* Whether the address (IPv4 mapped into ::ffff:0:0/96) may relay. */
bool config_may_relay(const struct config *config, const struct in6_addr *address);
/* Whether NETWORK has ADDRESS (IPv4 mapped). */
bool config_network_has(const struct config_network *network, const struct in6_addr *address);
/* TEXT as a network, ADDRESS/PREFIX or ADDRESS: NULL, or what is wrong with it. */
const char *config_network_parse(const struct config *config, struct str text,
				 struct config_network *network_out);
/* Whether setting own_addresses has the address. */
bool config_is_own_address(const struct config *config, const struct in6_addr *address);
/* Whether a proxy at the address is believed whom it names as its client. */
bool config_is_proxy(const struct config *config, const struct in6_addr *address);

/* The whole configuration in force, defaults included, as a file that parses to
 * the same (stagepost config). */
void config_print(const struct config *config, struct buffer *out);
/* Of the same what the text says otherwise than the defaults, each setting with its place in a
 * comment; TEXT is what CONFIG was parsed from, FILE its name. */
void config_print_changed(const struct config *config, const char *file, struct str text,
			  struct buffer *out);

/* What there is to know of one setting. */
struct config_explanation {
	const char *name;
	struct buffer value;       /* as in a file, and with "{ }" for a list; empty: it has none */
	const char *initial;       /* the default, or in words where it comes from; NULL: none */
	struct config_place place; /* its file is a view of the text */
	struct buffer allowed;     /* in words */
	bool needs_restart;        /* for another value to count; else a reload */
	const char *meaning;
};

/* Explains the setting called NAME as problems call it. False: there is none; *WHY says what is
 * wrong with NAME. The caller clears *OUT, always. */
MUST_CHECK bool config_explain(const struct config *config, struct str text, const char *name,
			       struct config_explanation *out, struct buffer *why);
void config_explanation_clear(struct config_explanation *explanation);

/* What differs between the two and cannot change while a node runs: its name; NULL: nothing. */
const char *config_fixed_change(const struct config *old, const struct config *new);

/* The reference manual stagepost.conf(5), mdoc source, from the table. */
void config_print_manual(struct buffer *out);

#endif
