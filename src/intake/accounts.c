// SPDX-License-Identifier: ISC
/* Questions to the helper that looks accounts up: a few are with it, the others wait for these. */
#include "intake/accounts.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "os/process/account.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { WITH_HELPER_MAX = 32 };

static const int64_t PATIENCE_US = 10 * SECOND_US;

struct intake_account_question {
	struct intake_accounts *accounts;
	struct intake_account_request *request; /* NULL: nobody waits any more */
	int64_t until_us;
	struct intake_account_question *next, *previous;
	char name[];
};

struct intake_accounts {
	struct os_loop *loop;
	int socket;
	struct os_watch *watch;
	struct os_timer *timer; /* runs while somebody waits */
	struct intake_account_question *asked;
	size_t asked_count;
	struct intake_account_question *waiting;
};

static void answer_account(struct intake_account_question *question, enum intake_account account,
			   uid_t uid)
{
	struct intake_account_request *request = question->request;

	if (request == NULL)
		return;
	question->request = NULL;
	request->question = NULL;
	request->found(request->context, account, uid);
}

static void ask_account_helper(struct intake_accounts *accounts)
{
	while (accounts->waiting != NULL && accounts->asked_count < WITH_HELPER_MAX) {
		struct intake_account_question *question = accounts->waiting;
		int error = os_process_account_ask(accounts->socket, question->name);

		if (error == -EAGAIN && accounts->asked_count > 0)
			return; /* an answer makes room */
		if (error < 0)
			panic("the process that looks users up has ended");
		DL_DELETE2(accounts->waiting, question, previous, next);
		DL_APPEND2(accounts->asked, question, previous, next);
		accounts->asked_count++;
	}
}

static enum intake_account account_of_error(int error)
{
	if (error == 0)
		return INTAKE_ACCOUNT_FOUND;
	return error == -ENOENT ? INTAKE_ACCOUNT_NONE : INTAKE_ACCOUNT_UNKNOWN;
}

static void on_account_answer(void *context, unsigned events)
{
	struct intake_accounts *accounts = context;
	struct os_process_account account = {0};
	int error = 0;
	int result;

	(void)events;
	while ((result = os_process_account_answer(accounts->socket, &error, &account)) > 0) {
		struct intake_account_question *question = accounts->asked;

		if (question == NULL)
			panic("the process that looks users up answers what was not asked");
		DL_DELETE2(accounts->asked, question, previous, next);
		accounts->asked_count--;
		answer_account(question, account_of_error(error), account.user.uid);
		free(question);
	}
	if (result < 0)
		panic("the process that looks users up has ended");
	ask_account_helper(accounts);
}

static void expire_account_questions(struct intake_account_question *questions, int64_t now_us,
				     int64_t *next_us)
{
	struct intake_account_question *question;

	DL_FOREACH2 (questions, question, next) {
		if (question->request == NULL)
			continue;
		if (question->until_us > now_us) {
			if (*next_us == 0 || question->until_us < *next_us)
				*next_us = question->until_us;
			continue;
		}
		answer_account(question, INTAKE_ACCOUNT_UNKNOWN, 0);
	}
}

/* Names that nobody waits for any more are still asked for: the next client may want to know. */
static void on_accounts_timer(void *context)
{
	struct intake_accounts *accounts = context;
	int64_t now_us = os_clock_monotonic_us();
	int64_t next_us = 0;

	expire_account_questions(accounts->asked, now_us, &next_us);
	expire_account_questions(accounts->waiting, now_us, &next_us);
	if (next_us != 0)
		os_timer_start(accounts->timer, next_us - now_us);
}

struct intake_accounts *intake_accounts_new(struct os_loop *loop, int socket)
{
	struct intake_accounts *accounts = memory_alloc_zero(1, sizeof *accounts);

	accounts->loop = loop;
	accounts->socket = socket;
	accounts->watch = os_watch_new(loop, socket, OS_WATCH_READ, on_account_answer, accounts);
	accounts->timer = os_timer_new(loop, on_accounts_timer, accounts);
	return accounts;
}

static void drop_all(struct intake_account_question **list)
{
	while (*list != NULL) {
		struct intake_account_question *question = *list;

		DL_DELETE2(*list, question, previous, next);
		free(question);
	}
}

void intake_accounts_free(struct intake_accounts *accounts)
{
	if (accounts == NULL)
		return;
	drop_all(&accounts->asked);
	drop_all(&accounts->waiting);
	os_watch_free(accounts->watch);
	os_timer_free(accounts->timer);
	free(accounts);
}

void intake_accounts_find(struct intake_accounts *accounts, struct str name,
			  struct intake_account_request *request)
{
	struct intake_account_question *question;
	struct os_process_account account;

	if (name.length == 0 || name.length >= sizeof account.name) {
		request->found(request->context, INTAKE_ACCOUNT_NONE, 0);
		return;
	}
	question = memory_alloc_zero(1, sizeof *question + name.length + 1);
	memcpy(question->name, name.data, name.length);
	question->accounts = accounts;
	question->request = request;
	question->until_us = os_clock_monotonic_us() + PATIENCE_US;
	request->question = question;
	DL_APPEND2(accounts->waiting, question, previous, next);
	if (!os_timer_is_running(accounts->timer))
		os_timer_start(accounts->timer, PATIENCE_US);
	ask_account_helper(accounts);
}

void intake_accounts_cancel(struct intake_account_request *request)
{
	if (request->question == NULL)
		return;
	request->question->request = NULL;
	request->question = NULL;
}
