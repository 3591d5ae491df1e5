// SPDX-License-Identifier: ISC
/*
 * config/section/send.h - sections transport, source and destination, routes and logins to relays:
 * how mail leaves.
 */
#ifndef CONFIG_SECTION_SEND_H
#define CONFIG_SECTION_SEND_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct config_transport { /* transport remote { ... }, transport NAME-OF-A-SERVICE { ... } */
	const char *name;
	uint32_t concurrency;             /* deliveries at once */
	uint32_t destination_concurrency; /* to one host or mailbox domain */
	bool paused;                      /* keep its mail, attempt no delivery */
	const char *nodes; /* remote: the group of nodes that send its mail; "": this one does */
};

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
	uint32_t session_messages; /* over one connection */
	int64_t interval_us;
	int64_t delay_us; /* between two messages of a session */
};
enum { CONFIG_DESTINATIONS_MAX = 1000 };

#endif
