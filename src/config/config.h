// SPDX-License-Identifier: ISC
/*
 * config/config.h - the settings of stagepost.conf as plain values.
 *
 * One table (config/schema/row.h) has every setting with its section, type,
 * default, range, unit and meaning; the parser, the error messages and the
 * reference manual derive from it. The values here have been checked and are
 * complete. A struct config is immutable and freed as a whole.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/arena.h"
#include "base/attributes.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "config/section/address.h"
#include "config/section/auth.h"
#include "config/section/class.h"
#include "config/section/directory.h"
#include "config/section/listen.h"
#include "config/section/node.h"
#include "config/section/process.h"
#include "config/section/record.h"
#include "config/section/send.h"
#include "config/section/service.h"
#include "config/section/tls.h"
#include "mail/envelope.h"
#include <netinet/in.h>
#include <sys/types.h>

/* The words of settings. */

enum config_nul { CONFIG_NUL_REJECT, CONFIG_NUL_REMOVE };

enum config_sync {
	CONFIG_SYNC_AUTO,
	CONFIG_SYNC_FILES,
	CONFIG_SYNC_FILESYSTEM,
	CONFIG_SYNC_ORDERED
};

enum config_bounce { CONFIG_BOUNCE_REPORT, CONFIG_BOUNCE_QSBMF };
enum config_reported { CONFIG_REPORTED_WRITTEN, CONFIG_REPORTED_MAPPED };
enum config_log_format { CONFIG_LOG_LOGFMT, CONFIG_LOG_JSON };
enum config_log_target { CONFIG_LOG_STDERR, CONFIG_LOG_SYSLOG };

enum { CONFIG_ADDRESSES_MAX = 256 }; /* in all listen sections and of the directory */

struct config {
	struct arena *arena; /* owns everything here */
	const char *file;
	const char **included; /* the files that it includes, each once */
	size_t included_count;
	const char *hostname;
	const char *default_domain; /* empty: see config_default_domain() */
	const char *queue;          /* directory */
	const char *run;            /* directory of the sockets */
	const char *user;           /* "" : do not change the user */
	uint32_t uid_min;           /* users of the machine with these numbers have mail */
	uint32_t uid_max;
	const char *submit_group; /* "": users of the machine are not served */
	uint32_t split;           /* for a new queue */
	enum config_sync queue_sync;
	bool queue_unsafe;
	uint32_t spares;               /* finished files kept for reuse */
	enum config_nul nul;           /* in messages */
	bool allow_early_commands;     /* do not end sessions because of them */
	bool strict_addresses;         /* in MAIL, RCPT and greetings */
	uint64_t maxsize;              /* bytes of a message */
	uint32_t maxrecipients;        /* of an SMTP transaction */
	uint32_t maxhops;              /* Received header lines */
	struct hash_key site_key;      /* of marks against loops; zeros: none */
	uint32_t maxerrors;            /* rejected commands in a session */
	uint32_t maxcommands;          /* in a row that do not advance a transaction */
	uint32_t maxsessions;          /* of all smtpd workers together */
	uint32_t maxsessions_client;   /* of one address; 0: no limit */
	uint32_t maxunfinished_client; /* likewise, percent of what is free on the queue's disk */
	uint64_t queue_reserve;        /* bytes of it that new mail does not get */
	uint32_t smtpd_workers;
	uint32_t smtp_timeout;           /* seconds, server: for a command */
	uint32_t smtp_data_timeout;      /* seconds, server: for a part of a message */
	uint32_t smtp_min_rate;          /* bytes per second; 0: any */
	uint32_t remote_connect_timeout; /* seconds */
	uint32_t remote_timeout;         /* seconds, for a reply */
	bool convert_8bit;               /* for servers that do not offer 8BITMIME */
	uint32_t stop_timeout;    /* seconds, for deliveries that cannot be repeated safely */
	uint32_t upgrade_timeout; /* seconds, until a new version is ready */
	int64_t queuelifetime_us;
	int64_t future_release_max_us; /* 0: FUTURERELEASE is not offered */
	bool binarymime;
	int64_t deliver_by_min_us; /* 0: DELIVERBY is not offered */
	int64_t rescan_us;
	int64_t probe_delay_us;  /* for an unreachable host */
	uint64_t bouncemaxbytes; /* of a whole bounce; 0: no limit */
	enum config_bounce bounceformat;
	enum config_reported report_addresses;
	int64_t delaynotice_us;          /* 0: only on request (NOTIFY=DELAY) */
	const char *recipient_delimiter; /* each byte of it begins an extension; may be "" */
	const char *bouncefrom;          /* local part, default MAILER-DAEMON */
	const char *doublebounceto;      /* LOCAL@DOMAIN; "" drops double bounces */
	bool client_names;               /* look up clients' names in the DNS */
	const char *dns_server; /* "": the system's; otherwise ADDRESS@PORT for all queries */
	const char *log_level;
	enum config_log_format log_format;
	enum config_log_target log_target;
	struct config_listen *listens;
	size_t listen_count;
	struct config_service *services;
	size_t service_count;
	struct config_domain *domains; /* in the order of the file */
	size_t domain_count;
	const struct config_domain **domain_index; /* sorted by name */
	struct config_network *etrn_from;
	size_t etrn_from_count;
	const char **xforward_to; /* next hops: relays as in routes, without a port */
	size_t xforward_to_count;
	struct config_network *xclient_from;
	size_t xclient_from_count;
	struct config_network *xforward_from;
	size_t xforward_from_count;
	struct config_network *relay_from;
	size_t relay_from_count;
	struct config_network *own_addresses; /* besides those at which clients connect */
	size_t own_address_count;
	struct config_network *proxy_from;
	size_t proxy_from_count;
	uint32_t proxy_timeout; /* seconds, for the PROXY header */
	struct config_route *smtproutes;
	size_t smtproute_count;
	struct config_route *qmtproutes;
	size_t qmtproute_count;
	struct config_route *senderroutes; /* their "domain" is of the sender */
	size_t senderroute_count;
	struct config_route *fallback_relays; /* their "domain" is empty */
	size_t fallback_relay_count;
	enum config_remote_ip remote_ip;
	struct config_source *sources;
	size_t source_count;
	const char *source; /* of connections to other servers; "": none */
	struct config_source_use *sender_sources;
	size_t sender_source_count;
	struct config_source_use *domain_sources;
	size_t domain_source_count;
	const char *relay_passwords; /* file; "": none */
	bool login_without_tls;
	bool login_binding;
	enum config_login login_weakest;
	bool bdat;
	struct config_transport *transports; /* "remote", each service, "list"; never missing */
	size_t transport_count;
	struct config_process processes[CONFIG_PROCESSES]; /* those whose user can be set */
	struct config_node node;
	struct config_stage stages[MAIL_STAGE_COUNT];
	struct config_directory directory;
	struct config_auth auth;
	struct config_record record;
	struct config_certificate *certificates;
	size_t certificate_count;
	struct config_tls_policy *tls_policies;
	size_t tls_policy_count;
	struct config_class *classes; /* in the order of the file; none: nothing is limited */
	size_t class_count;
	uint32_t load_queue;              /* load average; 0: none */
	uint32_t load_refuse;             /* likewise */
	enum config_tls_level remote_tls; /* none, may, encrypt, verify */
	bool dane;
	const char *dns_trust_anchor; /* file; only read with dane */
	const char **dns_unsigned;    /* domains below which nothing is validated */
	size_t dns_unsigned_count;
	bool mta_sts;
	bool tls_reports;
	bool https_private;                      /* addresses are asked, too */
	const char *tls_report_from;             /* "": postmaster@HOSTNAME */
	const char *tls_authorities;             /* PEM file */
	struct config_destination *destinations; /* the first that matches counts */
	size_t destination_count;
	struct config_rule *rules; /* in the order of the file: the first that matches counts */
	size_t rule_count;
	struct config_rate *rates;
	size_t rate_count;       /* at most CONFIG_RATES_PER_MAX for each kind of subject */
	uint32_t rate_keys;      /* subjects of a kind that are kept in memory */
	const char *policy_path; /* directory of MTA-STS policies and TLS results */
	uint32_t tls_timeout;    /* seconds, for a handshake */
	struct config_tls_strength strength; /* of TLS, where no section says it */
};

/* The words of settings of a section rate. */
const char *config_rate_count_word(enum config_rate_count count);
const char *config_rate_per_word(enum config_rate_per per);

/* NULL is allowed. */
void config_free(struct config *config);

/* The transport called NAME, or NULL. */
const struct config_transport *config_transport_find(const struct config *config, struct str name);
const struct config_service *config_service_find(const struct config *config, struct str name);
/* Why SERVICE may not deliver to TEXT, a server that the directory names; the text follows the
 * service's name. NULL: it may, as it is of kind lmtp, and TEXT is in canonical form
 * (mail/server.h) and in setting servers. */
const char *config_service_server_problem(const struct config_service *service, struct str text);
/* Whether a service has servers by name, which must be looked up in the DNS. */
bool config_has_server_names(const struct config *config);
/* The section called NAME, or NULL. */
const struct config_certificate *config_certificate_find(const struct config *config,
							 struct str name);
/* All certificates with private keys: those of the sections, and then the one by which the
 * directory speaks TLS with other machines, under a name that no section can have. */
#define CONFIG_DIRECTORY_CERTIFICATE "section directory"
/* The same for the certificate by which nodes show each other who they are. */
#define CONFIG_NODE_CERTIFICATE "section node"
size_t config_key_count(const struct config *config);
struct config_certificate config_key_at(const struct config *config, size_t index);
/* The files of authorities by which clients, and the directory's peers, are verified; an empty text
 * where there is none. */
size_t config_authority_count(const struct config *config);
const char *config_authority_at(const struct config *config, size_t index);
/* Whether the directory asks servers on other machines, and whether it needs its certificate. */
bool config_directory_dials(const struct config_directory *directory);
bool config_directory_has_tls(const struct config_directory *directory);
/* The name of this node: that of the section, or the host's. */
const char *config_node_name(const struct config *config);
/* The group of nodes that do what TRANSPORT, of config_transport_find(), does for mail that is
 * mapped here; "": this node does it itself. */
const char *config_transport_nodes(const struct config *config, const char *transport);
/* Whether mail is handed over to other nodes, unless this one is in their group; and whether it is
 * taken from others. */
bool config_hands_over(const struct config *config);
bool config_takes_over(const struct config *config);
/* Whether it does either: then it speaks with the others, if only to know how they are. */
bool config_has_nodes(const struct config *config);
/* The section that applies to DESTINATION, a domain in canonical form or a relay ("NAME",
 * "[ADDRESS]"), exactly or by its longest suffix; NULL: none. */
const struct config_tls_policy *config_tls_policy_find(const struct config *config,
						       struct str destination);
/* Whether a certificate may be presented to servers. */
bool config_has_tls_out_certificates(const struct config *config);
/* "smtp" */
const char *config_protocol_name(enum config_protocol protocol);
/* Whether LISTEN is one of the process qmtpd. */
bool config_is_qmtp(const struct config_listen *listen);
/* Whether any is. */
bool config_has_qmtp(const struct config *config);
/* Whether a client at ADDRESS may connect to LISTEN: with QMQP only those of its setting clients.
 */
bool config_admits(const struct config_listen *listen, const struct in6_addr *address);
/* The section called NAME, or NULL. */
const struct config_source *config_source_find(const struct config *config, struct str name);
/* All routes that can have a login: those of smtproutes, senderroutes and fallback_relays; NULL
 * after the last. */
const struct config_route *config_login_route(const struct config *config, size_t index);
/* Whether there is a login to a relay. */
bool config_has_logins(const struct config *config);
/* Whether passwords of relays are in the configuration itself. */
bool config_has_passwords(const struct config *config);
/* Appends TEXT, a configuration that config_parse() has accepted, with CONFIG_HIDDEN in place of
 * each of those passwords, and of the site's key unless KEEPS_KEY. */
void config_hide_secrets(struct str text, bool keeps_key, struct buffer *out);
/* Whether it has the site's key. */
bool config_has_site_key(const struct config *config);
/* Appends the setting site_key with KEY, for a configuration that has none. */
void config_append_site_key(struct hash_key key, struct buffer *out);
/* Whether any listen section offers AUTH. */
bool config_offers_auth(const struct config *config);
/* Whether any listen section has TLS, or needs a certificate. */
bool config_has_tls_in(const struct config *config);
/* Whether clients can say who they are: there is a section auth, or a listener for users and a
 * directory that has users. */
bool config_has_auth(const struct config *config);
/* Whether auth's process needs the network: to introspect tokens, or to bind at LDAP servers. */
bool config_has_introspection(const struct config *config);
bool config_has_ldap_bind(const struct config *config);
/* The parts of "https://HOST[:PORT]/PATH". False: it is no such URL. HOST_OUT: a view. */
MUST_CHECK bool config_url_split(struct str url, struct str *host_out, uint16_t *port_out,
				 struct str *path_out);
/* The user to run the process called NAME as; "": the present one. */
const char *config_process_user(const struct config *config, const char *name);
/* Whether a process may have a user other than the queue's. */
bool config_has_process_users(const struct config *config);
/* Whether a service of that KIND delivers as a user of its own. */
bool config_has_owners(const struct config *config, enum config_service_kind kind);
/* Whether the process "local" delivers for SERVICE: kinds maildir and mbox. */
bool config_service_is_local(const struct config_service *service);
bool config_has_local_service(const struct config *config);
/* Whether one of those delivers as a user of its own. */
bool config_has_mailbox_owners(const struct config *config);
/* Whether the user of this machine whose number is UID can have mail, by a service with user =
 * "%u". */
bool config_has_mail_user(const struct config *config, uid_t uid);
/* Whether SERVICE records what it files, and files it once: kinds mailbox and imap. */
bool config_service_records(const struct config_service *service);
bool config_has_recording_service(const struct config *config);
/* A file, and the setting that names it. */
struct config_file {
	const char *setting; /* NULL: there are no more */
	const char *path;    /* "": it is not set */
};
/* The Ith file that connecting to a record in MariaDB needs. */
struct config_file config_record_file(const struct config_record *record, size_t i);
/* The file of the authorities of SERVICE, of kind imap. */
const char *config_imap_authority(const struct config *config,
				  const struct config_service *service);
/* Whether there is a record: some service needs it, or there is a section. */
bool config_has_record(const struct config *config);
/* The directory below which all mailboxes of SERVICE, which has a path, are: its path up to
 * the last "/" before the first %, or before the end. */
struct str config_mailbox_base(const struct config_service *service);
/* Ignores case. */
const struct config_domain *config_domain_find(const struct config *config, struct str name);
/* The domain of addresses without one: the setting; else the host name if it is a domain of ours or
 * the configuration has no domains; else its first domain. */
const char *config_default_domain(const struct config *config);
/* The domain of addresses without one that local users enter: the setting, else the host name. */
const char *config_users_domain(const struct config *config);
/* Whether LOCAL, ignoring case, exists in DOMAIN. */
bool config_domain_has(const struct config_domain *domain, struct str local);
/* Whether the address (IPv4 mapped into ::ffff:0:0/96) may relay. */
bool config_may_etrn(const struct config *config, const struct in6_addr *address);
bool config_may_xclient(const struct config *config, const struct in6_addr *address);
bool config_may_xforward(const struct config *config, const struct in6_addr *address);
bool config_may_relay(const struct config *config, const struct in6_addr *address);
/* Whether NETWORK contains ADDRESS (IPv4 mapped). */
bool config_network_has(const struct config_network *network, const struct in6_addr *address);
/* In the form of a file: "192.0.2.0/24". */
void config_network_print(const struct config_network *network, struct buffer *out);
/* Parses TEXT, ADDRESS/PREFIX or ADDRESS: NULL, or what is wrong with it. */
const char *config_network_parse(const struct config *config, struct str text,
				 struct config_network *network_out);
/* Whether setting own_addresses contains the address. */
bool config_is_own_address(const struct config *config, const struct in6_addr *address);
/* Whether the address is that of a trusted proxy. */
bool config_is_proxy(const struct config *config, const struct in6_addr *address);

#endif
