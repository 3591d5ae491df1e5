// SPDX-License-Identifier: ISC
/* Whom a refusal concerns: the table of smtp/client/scope.h, and sessions that have served enough.
 */
#include "base/attributes.h"
#include "smtp/client/scope.h"
#include "smtp_client_script.h"
#include "test.h"

#define HELLO "S: 220 mx\nC: EHLO us.example\nS: 250-mx\nS: 250-SIZE 1000\nS: 250 PIPELINING\n"
#define BATCH "C: MAIL FROM:<s@s.example> SIZE=4\nC: RCPT TO:<a@d.example>\nC: DATA\n"
#define BATCH_AB                                                                                  \
	"C: MAIL FROM:<s@s.example> SIZE=4\nC: RCPT TO:<a@d.example>\nC: RCPT TO:<b@d.example>\n" \
	"C: DATA\n"
#define GIVEN    "S: 354 go\nD\nC: hi\nC: .\n"
#define TAKEN    HELLO BATCH "S: 250 ok\nS: 250 ok\n" GIVEN "S: 250 ok\nN\n"
#define TAKEN_AB HELLO BATCH_AB "S: 250 ok|250 ok|250 ok\n" GIVEN "S: 250 ok\nN\n"

/* o: opening, m: MAIL, r: RCPT, d: DATA, e: the end. What else: l: it is the last reply, f: x.5.3,
 * a: a recipient was accepted, =: all alike, t: a message was taken, o: others were told so, s:
 * only this sender was. */
static const struct {
	const char *places;
	const char *else_happened;
	enum smtp_client_scope scope;
} rows[] = {
	{"o", "", SMTP_CLIENT_OF_HOST},
	{"o", "lfa=to", SMTP_CLIENT_OF_HOST},
	{"m", "=", SMTP_CLIENT_OF_SENDER},
	{"m", "=l", SMTP_CLIENT_OF_HOST},
	{"m", "=o", SMTP_CLIENT_OF_HOST},
	{"m", "=ls", SMTP_CLIENT_OF_SENDER},
	{"m", "=lst", SMTP_CLIENT_OF_SESSION},
	{"m", "=lo", SMTP_CLIENT_OF_HOST},
	{"mrd", "=t", SMTP_CLIENT_OF_SESSION},
	{"mrd", "=tl", SMTP_CLIENT_OF_SESSION},
	{"mrd", "=to", SMTP_CLIENT_OF_SESSION},
	{"d", "=ta", SMTP_CLIENT_OF_SESSION},
	{"r", "=f", SMTP_CLIENT_OF_RECIPIENT},
	{"r", "=fa", SMTP_CLIENT_OF_TRANSACTION},
	{"r", "faot", SMTP_CLIENT_OF_TRANSACTION},
	{"r", "=ft", SMTP_CLIENT_OF_SESSION},
	{"r", "", SMTP_CLIENT_OF_RECIPIENT},
	{"r", "t", SMTP_CLIENT_OF_RECIPIENT},
	{"r", "=a", SMTP_CLIENT_OF_RECIPIENT},
	{"r", "=at", SMTP_CLIENT_OF_RECIPIENT},
	{"r", "=ato", SMTP_CLIENT_OF_RECIPIENT},
	{"r", "=l", SMTP_CLIENT_OF_RECIPIENT},
	{"r", "=o", SMTP_CLIENT_OF_HOST},
	{"r", "o", SMTP_CLIENT_OF_HOST},
	{"de", "=a", SMTP_CLIENT_OF_MESSAGE},
	{"de", "=al", SMTP_CLIENT_OF_MESSAGE},
	{"de", "=ao", SMTP_CLIENT_OF_HOST},
	{"e", "=at", SMTP_CLIENT_OF_MESSAGE},
	{"e", "=alt", SMTP_CLIENT_OF_MESSAGE},
	{"e", "=ato", SMTP_CLIENT_OF_HOST},
	{"e", "=alto", SMTP_CLIENT_OF_HOST},
};

static bool has(const char *letters, char letter)
{
	return strchr(letters, letter) != NULL;
}

static void the_table(void **state)
{
	static const char places[SMTP_CLIENT_PHASES] = "omrde";

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int place = 0; place < SMTP_CLIENT_PHASES; place++) {
			const char *also = rows[i].else_happened;
			const struct smtp_client_refusal refusal = {(enum smtp_client_phase)place,
								    has(also, 'l'),
								    has(also, 'f'),
								    has(also, 'a'),
								    has(also, '='),
								    has(also, 't'),
								    has(also, 'o'),
								    has(also, 's')};

			if (has(rows[i].places, places[place]) &&
			    smtp_client_scope_of(&refusal) != rows[i].scope)
				fail_msg("%c %s: %d", places[place], also,
					 (int)smtp_client_scope_of(&refusal));
		}
}

static const struct smtp_client_script scripts[] = {
	{"MAIL is refused once a message was taken", "a", "hi\r\n",
	 TAKEN BATCH "S: 452 4.4.5 enough|503 what|503 what\n", "wait 4.4.5", SMTP_CLIENT_READY,
	 .again = "n"},
	{"whatever the code", "a", "hi\r\n", TAKEN BATCH "S: 550 5.7.1 no|503 what|503 what\n",
	 "fail 5.7.1", SMTP_CLIENT_READY, .again = "n"},
	{"out of order", "a", "hi\r\n", TAKEN BATCH "S: 503 5.5.1 no|503 what|503 what\n",
	 "fail 5.5.1", SMTP_CLIENT_READY, .again = "n"},
	{"without status", "a", "hi\r\n", TAKEN BATCH "S: 554 no|503 what|503 what\n", "fail 5.0.0",
	 SMTP_CLIENT_READY, .again = "n"},
	{"on a fresh connection it is the answer", "a", "hi\r\n",
	 HELLO BATCH "S: 452 4.4.5 enough|503 what|503 what\n", "wait 4.4.5", SMTP_CLIENT_READY,
	 .again = "e"},
	{"so is a refusal for good", "a", "hi\r\n",
	 HELLO BATCH "S: 550 5.7.1 no|503 what|503 what\n", "fail 5.7.1", SMTP_CLIENT_READY,
	 .again = "l"},
	{"a refused message does not count", "a", "hi\r\n",
	 HELLO BATCH "S: 250 ok\nS: 250 ok\n" GIVEN "S: 554 no\nN\n" BATCH
		     "S: 452 4.4.5 enough|503 what|503 what\n",
	 "wait 4.4.5", SMTP_CLIENT_READY, .again = "e"},
	{"at DATA", "a", "hi\r\n", TAKEN BATCH "S: 250 ok|250 ok|452 4.4.5 enough\n", "wait 4.4.5",
	 SMTP_CLIENT_READY, .again = "n"},
	{"at DATA, of the accepted ones", "ab", "hi\r\n",
	 TAKEN_AB "C: MAIL FROM:<s@s.example> SIZE=4\nC: RCPT TO:<a@d.example>\n"
		  "C: RCPT TO:<b@d.example>\nC: DATA\n"
		  "S: 250 ok|550 5.1.1 who|250 ok|554 5.5.1 enough\n",
	 "fail 5.1.1 fail 5.5.1", SMTP_CLIENT_READY, .again = "ln"},
	{"every recipient, alike", "ab", "hi\r\n",
	 TAKEN_AB BATCH_AB "S: 250 ok|452 4.5.3 many|452 4.5.3 messages|503 none\n",
	 "wait 4.5.3 wait 4.5.3", SMTP_CLIENT_READY, .again = "nn"},
	{"not alike", "ab", "hi\r\n",
	 TAKEN_AB BATCH_AB "S: 250 ok|452 4.5.3 many|450 4.7.1 you|503 none\n",
	 "wait 4.5.3 wait 4.7.1", SMTP_CLIENT_READY, .again = "ee"},
	{"not all", "ab", "hi\r\n",
	 TAKEN_AB BATCH_AB "S: 250 ok|450 4.7.1 you|250 ok\n" GIVEN "S: 250 ok\n",
	 "wait 4.7.1 ok 2.0.0", SMTP_CLIENT_READY, .again = "el"},
	{"of an address", "a", "hi\r\n", TAKEN BATCH "S: 250 ok|550 5.1.1 who|503 none\n",
	 "fail 5.1.1", SMTP_CLIENT_READY, .again = "l"},
	{"of a mailbox", "a", "hi\r\n", TAKEN BATCH "S: 250 ok|452 4.2.2 full|503 none\n",
	 "wait 4.2.2", SMTP_CLIENT_READY, .again = "e"},
	{"greylisting", "a", "hi\r\n", TAKEN BATCH "S: 250 ok|451 4.7.1 Greylisted|503 none\n",
	 "wait 4.7.1", SMTP_CLIENT_READY, .again = "e"},
	{"after the data it is about the message", "a", "hi\r\n",
	 TAKEN BATCH "S: 250 ok|250 ok\n" GIVEN "S: 452 4.4.5 enough\n", "wait 4.4.5",
	 SMTP_CLIENT_READY, .again = "e"},
	{"the session ends after MAIL", "a", "hi\r\n", TAKEN BATCH "S: 250 ok|421 4.4.5 enough\n",
	 "wait 4.4.5", SMTP_CLIENT_CLOSED, .is_stale = true, .is_unserved = true},
	{"it is lost after RCPT", "a", "hi\r\n", TAKEN BATCH "S: 250 ok|250 ok\nX\n", "wait 4.4.2",
	 SMTP_CLIENT_CLOSED, .is_stale = true, .is_unserved = true},
	{"it ends when one is decided", "ab", "hi\r\n",
	 TAKEN_AB BATCH_AB "S: 250 ok|550 5.1.1 who|421 4.4.5 enough\n", "fail 5.1.1 wait 4.4.5",
	 SMTP_CLIENT_CLOSED, .again = "ln"},
	{"it takes too long", "ab", "hi\r\n", TAKEN_AB BATCH_AB "S: 250 ok|550 5.1.1 who\nT\n",
	 "fail 5.1.1 wait 4.4.2", SMTP_CLIENT_CLOSED, .again = "le"},
	{"too many for good, after an accepted one", "ab", "hi\r\n",
	 HELLO BATCH_AB "S: 250 ok|250 ok|552 5.5.3 many\n" GIVEN "S: 250 ok\n",
	 "ok 2.0.0 wait 4.5.3", SMTP_CLIENT_READY, .again = "lh"},
	{"with another code", "ab", "hi\r\n",
	 HELLO BATCH_AB "S: 250 ok|250 ok|550 5.5.3 many\n" GIVEN "S: 250 ok\n",
	 "ok 2.0.0 wait 4.5.3", SMTP_CLIENT_READY, .again = "lh"},
	{"and another", "ab", "hi\r\n",
	 HELLO BATCH_AB "S: 250 ok|250 ok|554 5.5.3 many\n" GIVEN "S: 250 ok\n",
	 "ok 2.0.0 wait 4.5.3", SMTP_CLIENT_READY, .again = "lh"},
	{"without an accepted one it is an answer", "a", "hi\r\n",
	 HELLO BATCH "S: 250 ok|550 5.5.3 many|503 none\n", "fail 5.5.3", SMTP_CLIENT_READY,
	 .again = "l"},
};

static void sessions(void **state)
{
	(void)state;
	smtp_client_scripts_run(scripts, COUNT_OF(scripts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table),
		cmocka_unit_test(sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
