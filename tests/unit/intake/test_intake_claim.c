// SPDX-License-Identifier: ISC
/* Clients that a trusted proxy names, each after each other one: what they may do, and what is
 * logged and answered. */
#include "session_scene.h"
#include <arpa/inet.h>
#include <stdio.h>

#define OF_CLIENT "client=192.0.2.7 client_port=4711 session=1:2"

static struct {
	unsigned forgotten, cancelled, released, bits;
	bool may_tls, is_counted, is_moved, is_released;
	struct smtp_peer peer;
	char peer_name[40], peer_address[40];
	struct mail_verdict verdict;
	unsigned answers;
} proxy;

void __wrap_intake_auth_forget(struct intake_session *forgotten);
void __wrap_intake_auth_forget(struct intake_session *forgotten)
{
	assert_ptr_equal(forgotten, &session);
	proxy.forgotten++;
}

void __wrap_names_request_cancel(struct names_request *request);
void __wrap_names_request_cancel(struct names_request *request)
{
	assert_ptr_equal(request, &session.name_request);
	proxy.cancelled++;
}

bool __wrap_intake_secure_is_possible(const struct intake_session *asked);
bool __wrap_intake_secure_is_possible(const struct intake_session *asked)
{
	(void)asked;
	return proxy.may_tls;
}

bool __wrap_intake_session_count(struct intake_session *counted);
bool __wrap_intake_session_count(struct intake_session *counted)
{
	assert_true(counted->is_claimed);
	return proxy.is_counted;
}

bool __wrap_intake_limit_move(struct intake_session *moved);
bool __wrap_intake_limit_move(struct intake_session *moved)
{
	assert_true(moved->is_claimed);
	return proxy.is_moved;
}

void __wrap_smtp_server_set_peer(struct smtp_server *server, struct smtp_peer peer);
void __wrap_smtp_server_set_peer(struct smtp_server *server, struct smtp_peer peer)
{
	(void)server;
	proxy.peer = peer;
	snprintf(proxy.peer_name, sizeof proxy.peer_name, "%s", peer.name);
	snprintf(proxy.peer_address, sizeof proxy.peer_address, "%s", peer.address);
}

void __wrap_smtp_server_answer(struct smtp_server *server, const struct mail_verdict *verdict);
void __wrap_smtp_server_answer(struct smtp_server *server, const struct mail_verdict *verdict)
{
	(void)server;
	proxy.verdict = *verdict;
	proxy.answers++;
}

bool __wrap_queue_client_release(struct queue_client *client, struct str domain);
bool __wrap_queue_client_release(struct queue_client *client, struct str domain)
{
	(void)client;
	assert_true(str_equal(domain, STR("node.test")));
	proxy.released++;
	return proxy.is_released;
}

/* The proxy may all, and the client what its bits say. */
static bool may(const struct in6_addr *address, unsigned bit)
{
	struct in6_addr client;

	assert_int_equal(inet_pton(AF_INET6, "::ffff:198.51.100.1", &client), 1);
	return memcmp(address, &client, sizeof client) != 0 || (proxy.bits >> bit & 1) != 0;
}

bool __wrap_config_may_relay(const struct config *asked, const struct in6_addr *address);
bool __wrap_config_may_relay(const struct config *asked, const struct in6_addr *address)
{
	assert_ptr_equal(asked, &config);
	return may(address, 0);
}

bool __wrap_config_may_etrn(const struct config *asked, const struct in6_addr *address);
bool __wrap_config_may_etrn(const struct config *asked, const struct in6_addr *address)
{
	assert_ptr_equal(asked, &config);
	return may(address, 1);
}

bool __wrap_config_may_xforward(const struct config *asked, const struct in6_addr *address);
bool __wrap_config_may_xforward(const struct config *asked, const struct in6_addr *address)
{
	assert_ptr_equal(asked, &config);
	return may(address, 2);
}

bool __wrap_config_may_xclient(const struct config *asked, const struct in6_addr *address);
bool __wrap_config_may_xclient(const struct config *asked, const struct in6_addr *address)
{
	assert_ptr_equal(asked, &config);
	return may(address, 3);
}

enum claimed { CLAIMED_ADDRESS, CLAIMED_UNKNOWN, CLAIMED_NOTHING };

static struct smtp_claim claim_of(enum claimed what, bool has_name)
{
	struct smtp_claim claim = {.port = 99, .is_unknown = what == CLAIMED_UNKNOWN};

	if (what == CLAIMED_ADDRESS) {
		strcpy(claim.address, "198.51.100.1");
		assert_int_equal(inet_pton(AF_INET6, "::ffff:198.51.100.1", &claim.mapped), 1);
	}
	strcpy(claim.name, has_name ? "client.test" : "");
	strcpy(claim.login, has_name ? "ann" : "");
	return claim;
}

/* BITS: what the client's address may. */
static void check_claim(enum claimed what, bool has_name, unsigned bits)
{
	struct smtp_claim claim = claim_of(what, has_name);
	const char *address = what == CLAIMED_ADDRESS ? "198.51.100.1" : "192.0.2.7";
	/* who is not named is the proxy; who is unknown may nothing */
	unsigned rights = what == CLAIMED_ADDRESS ? bits : what == CLAIMED_UNKNOWN ? 0 : 7;
	char line[200];

	proxy.bits = bits;
	proxy.forgotten = proxy.cancelled = proxy.answers = 0;
	intake_claim_take(&session, &claim);
	assert_true(session.is_claimed);
	assert_int_equal(session.is_stranger, what == CLAIMED_UNKNOWN);
	assert_int_equal(session.port, 99);
	assert_string_equal(session.address, address);
	assert_int_equal(session.may_relay, rights & 1);
	assert_int_equal(proxy.peer.is_ours, rights & 1);
	assert_int_equal(proxy.peer.may_etrn, rights >> 1 & 1);
	assert_int_equal(proxy.peer.may_xforward, rights >> 2 & 1);
	assert_true(proxy.peer.may_xclient);
	assert_int_equal(proxy.peer.may_tls, proxy.may_tls);
	assert_ptr_equal(proxy.peer.context, &session);
	assert_int_equal(proxy.peer.port, 99);
	assert_string_equal(proxy.peer_name, has_name ? "client.test" : "");
	assert_string_equal(proxy.peer_address, address);
	assert_int_equal(session.name != NULL, has_name);
	assert_int_equal(proxy.forgotten + proxy.cancelled, 2);
	snprintf(line, sizeof line, "SESSION_CLAIMED client=%s client_port=99 session=1:2%s\n",
		 address, has_name ? " name=client.test user=ann" : "");
	check_log(line);
	assert_int_equal(proxy.answers, 1);
	assert_string_equal(proxy.verdict.status,
			    proxy.is_counted && proxy.is_moved ? "2.0.0" : "4.7.0");
	assert_string_equal(proxy.verdict.text, !proxy.is_counted ? intake_too_many
						: proxy.is_moved
							? "Ok"
							: "Too many sessions, try again later");
}

static void begin_proxy(void)
{
	begin_anew();
	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.7", &session.mapped), 1);
}

/* Each claim after each other one in a session. */
static void a_client_may_what_its_address_may(void **state)
{
	(void)state;
	memset(&proxy, 0, sizeof proxy);
	for (unsigned first = 0; first < 3; first++)
		for (unsigned n = 0; n < 3 * 2 * 8; n++) {
			enum claimed what = (enum claimed)(n / 16);

			free(session.name);
			begin_proxy();
			proxy.may_tls = n % 3 == 0;
			proxy.is_counted = n % 5 != 0;
			proxy.is_moved = n % 7 != 0;
			check_claim((enum claimed)first, n % 2 == 0, n % 8);
			if (what == CLAIMED_NOTHING && first == CLAIMED_ADDRESS)
				continue; /* it stays that of the one before */
			check_claim(what, n / 8 % 2 == 0, n % 8);
		}
}

static void a_connection_may_what_its_address_may(void **state)
{
	struct in6_addr client;

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "::ffff:198.51.100.1", &client), 1);
	for (unsigned n = 0; n < 64; n++) {
		struct smtp_peer peer = {.address = ""};
		bool has_address = (n & 48) == 0;

		begin_proxy();
		proxy.bits = n & 15;
		session.is_stranger = (n & 16) != 0;
		if ((n & 32) != 0)
			strcpy(session.address, OS_SOCKET_UNIX);
		intake_claim_grant(&session, &client, &peer);
		assert_int_equal(peer.may_xclient, has_address && (n & 8) != 0);
		assert_int_equal(peer.may_etrn, has_address && (n & 2) != 0);
		assert_int_equal(peer.may_xforward, has_address && (n & 4) != 0);
	}
}

static void mail_for_a_domain_is_asked_for(void **state)
{
	(void)state;
	world.head.user = "lisa";
	proxy.is_released = true;
	intake_claim_release(&session, STR("node.test"));
	assert_string_equal(proxy.verdict.status, "2.0.0");
	assert_string_equal(proxy.verdict.text, "Ok");
	check_log("MAIL_REQUESTED " OF_CLIENT " domain=node.test user=lisa\n");
	proxy.is_released = false;
	intake_claim_release(&session, STR("node.test"));
	assert_string_equal(proxy.verdict.status, "4.3.0");
	assert_string_equal(proxy.verdict.text, "The queue does not answer");
	check_log("");
	assert_int_equal(proxy.released, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_client_may_what_its_address_may),
		CASE(a_connection_may_what_its_address_may),
		CASE(mail_for_a_domain_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
