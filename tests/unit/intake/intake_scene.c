// SPDX-License-Identifier: ISC
#include "intake_scene.h"
#include "base/panic.h"
#include "config/config.h"
#include "fake_loop.h"
#include "intake/security/security.h"
#include "keys/client.h"
#include "log/event.h"
#include "test.h"
#include <errno.h>
#include <string.h>

struct intake_scene intake_scene;

void intake_scene_begin(void)
{
	memset(&intake_scene, 0, sizeof intake_scene);
}

/* Of those to choose from, the first is good. */
static uint32_t choose(uint32_t count)
{
	return intake_scene.is_friendly ? 0 : fake_random(count);
}

/* But for one time in so many. */
static bool mostly_good(uint32_t one_in)
{
	return intake_scene.is_friendly || fake_random(one_in) > 0;
}

/* Nobody has certificates here; there may be a process that is asked. */
struct keys *keys_new(struct os_loop *loop, const char *path, void (*changed)(void *context),
		      void *context)
{
	(void)loop;
	(void)path;
	(void)changed;
	(void)context;
	if (!intake_scene.has_keys)
		fail_msg("certificates are asked for");
	return (struct keys *)&intake_scene;
}

const struct keys_set *keys_set(const struct keys *keys)
{
	(void)keys;
	return NULL;
}

const struct tls_signer *keys_signer(const struct keys *keys)
{
	(void)keys;
	return NULL;
}

struct intake_security *intake_scene_plain(void)
{
	static const struct config_listen listen = {.tls = CONFIG_LISTEN_TLS_NONE,
						    .auth_without_tls = CONFIG_CLEAR_AUTH_YES};
	static struct intake_security *plain;

	if (plain == NULL)
		plain = intake_security_new(NULL, &listen);
	return plain;
}

void log_write(enum log_name name, const struct log_field *fields)
{
	intake_scene.refusals += name == EVENT_COMMAND_REFUSED;
	if (name == EVENT_LOG_WITHHELD)
		intake_scene.withheld = fields[1].number;
}

void log_write_rated(enum log_name name, const struct log_field *fields)
{
	log_write(name, fields);
}

const char *log_error_text(int negative_errno)
{
	(void)negative_errno;
	return "an error";
}

bool queue_client_release(struct queue_client *client, struct str domain)
{
	(void)client;
	(void)domain;
	return true;
}

static void answer_auth(void)
{
	struct auth_exchange *exchange = intake_scene.exchange;
	static const enum auth_outcome outcomes[] = {AUTH_ACCEPTED, AUTH_CHALLENGE, AUTH_REFUSED};
	struct auth_answer answer = {
		.outcome = outcomes[choose(COUNT_OF(outcomes))],
		.refusal = (enum auth_refusal)fake_random(AUTH_TOO_WEAK + 1),
		.message = intake_scene.has_last_word || !mostly_good(2) ? STR("r=1") : STR("")};

	if (answer.outcome != AUTH_CHALLENGE) {
		intake_scene.exchange = NULL;
		exchange->auth = NULL;
	}
	if (answer.outcome == AUTH_ACCEPTED) {
		answer.user = STR("lisa");
		answer.stamp = intake_scene.has_stamps ? STR("stamp") : STR("");
		intake_scene.users++;
	}
	exchange->answered(exchange->context, &answer);
}

static void answer_login(void)
{
	const enum auth_login_state states[] = {intake_scene.login_state, AUTH_LOGIN_ENDED,
						AUTH_LOGIN_UNKNOWN};

	intake_scene.told(intake_scene.told_context, states[choose(COUNT_OF(states))], true);
}

void intake_scene_end_login(void)
{
	intake_scene.told(intake_scene.told_context, AUTH_LOGIN_ENDED, false);
}

static void answer_senders(void)
{
	static const char *const statuses[] = {"2.1.0", "2.1.0", "5.7.1", "4.4.3"};
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, statuses[choose(COUNT_OF(statuses))], "so it is");
	intake_scene.senders_judged(intake_scene.senders_context, &verdict);
}

static void answer_post(void)
{
	static const char *const statuses[] = {"2.1.5", "5.7.2", "4.4.3"};
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, statuses[choose(COUNT_OF(statuses))], "so it is");
	intake_scene.judged(intake_scene.judged_context, &verdict, false);
}

void intake_scene_answer(void)
{
	enum pending pending = intake_scene.pending;
	struct queue_client_message *message = intake_scene.message;
	bool is_good = mostly_good(8);

	intake_scene.pending = PENDING_NONE;
	switch (pending) {
	case PENDING_RECIPIENT:
		intake_scene.found(intake_scene.found_context, NULL);
		break;
	case PENDING_POST:
		answer_post();
		break;
	case PENDING_AUTH:
		answer_auth();
		break;
	case PENDING_LOGIN:
		answer_login();
		break;
	case PENDING_SENDERS:
		answer_senders();
		break;
	case PENDING_OPEN:
		message->state = is_good ? QUEUE_CLIENT_OPEN : QUEUE_CLIENT_IDLE;
		message->number = 4711;
		message->written = 0;
		message->file = -1;
		message->done(message->context, is_good ? 0 : -ENOSPC);
		break;
	case PENDING_SHARE:
		message->state = is_good ? QUEUE_CLIENT_OPEN : QUEUE_CLIENT_IDLE;
		message->file = is_good ? 7 : -1;
		message->done(message->context, is_good ? 0 : -ENOSPC);
		break;
	case PENDING_COMMIT:
		message->state = QUEUE_CLIENT_IDLE;
		message->done(message->context, is_good ? 0 : -EIO);
		break;
	case PENDING_NONE:
		fail_msg("an answer to nothing");
	}
}

static void ask(enum pending pending)
{
	assert_int_equal(intake_scene.pending, PENDING_NONE);
	intake_scene.pending = pending;
	if (intake_scene.answers == ANSWERS_AT_ONCE ||
	    (intake_scene.answers == ANSWERS_LATE && !fake_random(4)))
		intake_scene_answer();
}

/* Nobody waits for the answer to what ASKER has asked. */
static void forget_question(enum pending pending, const void *asker)
{
	if (intake_scene.pending == pending && intake_scene.asker == asker)
		intake_scene.pending = PENDING_NONE;
}

void directory_lookup(struct directory *directory, struct str address, directory_found *found,
		      void *context, struct directory_request *request)
{
	(void)directory;
	(void)address;
	intake_scene.asker = request;
	intake_scene.found = found;
	intake_scene.found_context = context;
	ask(PENDING_RECIPIENT);
}

void directory_request_cancel(struct directory_request *request)
{
	forget_question(PENDING_RECIPIENT, request);
}

const char *directory_judge_recipient(const struct directory_result *result, bool client_may_relay,
				      struct mail_verdict *verdict)
{
	static const char *const statuses[] = {"2.1.5", "2.1.5", "2.1.5", "5.1.1", "4.4.3"};

	(void)result;
	(void)client_may_relay;
	mail_verdict_set(verdict, statuses[choose(COUNT_OF(statuses))], "so it is");
	intake_scene.recipient = verdict->class;
	return NULL;
}

void directory_judge_sender(const struct directory_result *result, const struct config *config,
			    struct str sender, struct mail_verdict *verdict)
{
	(void)result;
	(void)config;
	(void)sender;
	(void)verdict;
}

bool directory_result_owners(const struct directory_result *result, const struct config *config,
			     struct str address, struct buffer *names)
{
	(void)result;
	(void)config;
	(void)address;
	(void)names;
	return false;
}

const struct directory_target *directory_result_closed_list(const struct directory_result *result)
{
	static const struct directory_target list = {.kind = DIRECTORY_TARGET_LIST,
						     .post = DIRECTORY_POST_MEMBERS};

	(void)result;
	return intake_scene.has_lists && fake_random(2) ? &list : NULL;
}

void directory_post_ask(struct directory *directory, const struct directory_target *list,
			struct str sender, directory_post_judged *judged, void *context,
			struct directory_post_request *request)
{
	(void)directory;
	(void)sender;
	intake_scene.asker = request;
	assert_int_equal(list->post, DIRECTORY_POST_MEMBERS);
	assert_int_equal(intake_scene.recipient, MAIL_OK);
	intake_scene.posts++;
	intake_scene.judged = judged;
	intake_scene.judged_context = context;
	ask(PENDING_POST);
}

void directory_post_cancel(struct directory_post_request *request)
{
	forget_question(PENDING_POST, request);
}

struct str auth_mechanisms(struct auth *auth, bool is_secured, bool has_binding,
			   bool has_certificate)
{
	(void)auth;
	assert_true(is_secured && !has_binding && !has_certificate);
	return mostly_good(50) ? STR("PLAIN LOGIN") : STR("");
}

/* The one before is over, or was cancelled. */
void auth_exchange_begin(struct auth *auth, const struct auth_peer *peer, struct str mechanism,
			 bool has_initial, struct str initial, struct auth_exchange *exchange)
{
	assert_null(intake_scene.exchange);
	assert_true(mechanism.length > 0 && (has_initial || initial.length == 0));
	assert_true(peer->is_secured);
	exchange->auth = auth;
	intake_scene.exchange = exchange;
	ask(PENDING_AUTH);
}

void auth_exchange_respond(struct auth_exchange *exchange, struct str response)
{
	(void)response;
	assert_ptr_equal(intake_scene.exchange, exchange);
	ask(PENDING_AUTH);
}

void auth_exchange_cancel(struct auth_exchange *exchange)
{
	if (exchange->auth == NULL)
		return;
	assert_ptr_equal(intake_scene.exchange, exchange);
	intake_scene.exchange = NULL;
	exchange->auth = NULL;
	if (intake_scene.pending == PENDING_AUTH)
		intake_scene.pending = PENDING_NONE;
}

struct auth_login {
	int unused;
};

struct auth_login *auth_login_new(struct auth *auth, struct str user, struct str stamp,
				  auth_login_notify *told, void *context)
{
	static struct auth_login login;

	(void)auth;
	assert_true(str_equal(user, STR("lisa")) && str_equal(stamp, STR("stamp")));
	assert_null(intake_scene.told);
	intake_scene.told = told;
	intake_scene.told_context = context;
	return &login;
}

void auth_login_ask(struct auth_login *login)
{
	if (login == NULL || intake_scene.told == NULL)
		panic("nobody waits for what becomes of a login");
	intake_scene.logins++;
	ask(PENDING_LOGIN);
}

void auth_login_free(struct auth_login *login)
{
	assert_int_equal(login != NULL, intake_scene.told != NULL);
	intake_scene.told = NULL;
	if (intake_scene.pending == PENDING_LOGIN)
		intake_scene.pending = PENDING_NONE;
}

uint32_t auth_exchange_leave(struct auth_exchange *exchange)
{
	auth_exchange_cancel(exchange);
	return 1;
}

void auth_settle(struct auth *auth, uint32_t tag, bool has_succeeded)
{
	(void)auth;
	(void)tag;
	(void)has_succeeded;
}

void directory_sender_ask(struct directory *directory, struct str user, const struct str *senders,
			  size_t count, directory_sender_judged *judged, void *context,
			  struct directory_sender_request *request)
{
	(void)directory;
	intake_scene.asker = request;
	assert_true(str_equal(user, STR("lisa")));
	assert_true(count > 0 && senders[0].length > 0);
	intake_scene.senders += count;
	intake_scene.senders_judged = judged;
	intake_scene.senders_context = context;
	ask(PENDING_SENDERS);
}

void directory_sender_cancel(struct directory_sender_request *request)
{
	forget_question(PENDING_SENDERS, request);
}

void queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	(void)client;
	assert_int_equal(message->state, QUEUE_CLIENT_IDLE);
	message->state = QUEUE_CLIENT_OPENING;
	intake_scene.asker = intake_scene.message = message;
	ask(PENDING_OPEN);
}

void names_ask(struct names *names, const struct in6_addr *address, struct names_request *request)
{
	(void)names;
	(void)address;
	assert_null(intake_scene.name);
	intake_scene.lookups++;
	intake_scene.name = request;
	if (intake_scene.answers == ANSWERS_AT_ONCE)
		intake_scene_say_name();
}

void intake_scene_say_name(void)
{
	struct names_request *request = intake_scene.name;

	intake_scene.name = NULL;
	request->done(request->context, fake_random(2) > 0 ? "mx.client.test" : "", false);
}

void names_request_cancel(struct names_request *request)
{
	if (intake_scene.name == request)
		intake_scene.name = NULL;
}

bool names_request_is_open(const struct names_request *request)
{
	return intake_scene.name == request;
}

bool names_are_slow(const struct names *names)
{
	(void)names;
	return intake_scene.has_slow_names;
}

bool queue_client_is_shared(const struct queue_client_message *message)
{
	return message->file >= 0;
}

void queue_client_share(struct queue_client_message *message)
{
	assert_int_equal(message->state, QUEUE_CLIENT_OPEN);
	assert_true(message->file < 0);
	message->state = QUEUE_CLIENT_SHARING;
	intake_scene.asker = intake_scene.message = message;
	ask(PENDING_SHARE);
}

uint64_t queue_client_unfinished(const struct queue_client_message *message)
{
	return message->state != QUEUE_CLIENT_IDLE ? message->written : 0;
}

bool queue_client_space(const struct queue_client_message *message, struct os_file_space *space_out)
{
	assert_true(message->file >= 0);
	*space_out = (struct os_file_space){.free_bytes = intake_scene.free_bytes};
	return true;
}

int queue_client_write(struct queue_client_message *message, struct str bytes)
{
	assert_int_equal(message->state, QUEUE_CLIENT_OPEN);
	message->written += bytes.length;
	return mostly_good(20) ? 0 : -EIO;
}

void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data)
{
	(void)envelope;
	(void)data;
	assert_int_equal(message->state, QUEUE_CLIENT_OPEN);
	message->state = QUEUE_CLIENT_COMMITTING;
	intake_scene.asker = intake_scene.message = message;
	ask(PENDING_COMMIT);
}

void queue_client_abandon(struct queue_client_message *message)
{
	message->state = QUEUE_CLIENT_IDLE;
	forget_question(PENDING_OPEN, message);
	forget_question(PENDING_SHARE, message);
	forget_question(PENDING_COMMIT, message);
}

void intake_scene_ended(void *context)
{
	(void)context;
	intake_scene.has_ended = true;
}
