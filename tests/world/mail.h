// SPDX-License-Identifier: ISC
/*
 * world/mail.h - who sends and who receives in a world, and the ledger of it.
 *
 * Each message has a number, which stands in its header and in its text. The ledger knows how far
 * each has come: offered, promised (the node has said 250), delivered (how often, where).
 */
#ifndef WORLD_MAIL_H
#define WORLD_MAIL_H

#include "kernel.h"
#include "login.h"
#include <string.h>

/* --- the ledger --- */

struct ledger_sums {
	uint64_t messages;  /* promised */
	uint64_t promised;  /* recipients of these; so are all that follow */
	uint64_t delivered; /* different ones */
	uint64_t lost;      /* promised, and not delivered */
	uint64_t changed;   /* messages: arrived in another form, or at somebody else's */
	uint64_t twice;     /* copies that are too many */
	uint64_t unexcused; /* of these, without an interruption while it was on its way */
};

void ledger_begin(void);
void ledger_end(void);
/* The number of a message that is offered now, and is for nobody yet. */
uint64_t ledger_new(void);
/* It is for RECIPIENT. No two of a message have the same local part. */
void ledger_add(uint64_t number, const char *recipient);
/* The node has answered 250 to it: all its recipients are promised. */
void ledger_promise(uint64_t number);
/* REPLY is no answer to what a client SAID. Counts as a change. */
void ledger_complain(const char *said, int reply);
/* The client closes the connection before the end of the text: nobody may get it. */
void ledger_cut(uint64_t number);
/* TEXT, with CR or without, came to PLACE: the number that it says. A report to the sender is the
 * delivery of each recipient that it names, whom the next hop refuses. */
uint64_t ledger_deliver(const char *place, const char *text, size_t size);
/* The same for somebody who has read the beginning only, and wants no more. */
void ledger_take(const char *place, const char *beginning);
/* A copy that had come to PLACE is there no more: a power cut has taken it. */
void ledger_take_back(uint64_t number, const char *place);
/* Something was killed: people hear of changes later. */
void ledger_excuse(void);
/* RECIPIENT may get message NUMBER twice. */
void ledger_excuse_recipient(uint64_t number, const char *recipient);
/* The same, because a node was given up that may have had it. */
void ledger_excuse_doubt(uint64_t number, const char *recipient);
/* Nodes have records of their own of what is filed once: what the damage of a disk repeats may be
 * filed at another one again. */
void ledger_file_apart(bool is_so);
/* A node has tried some of message NUMBER, and handed that over to another one: what it had begun
 * to file may be recorded there, for ever as begun. */
void ledger_note_move(uint64_t number);
bool ledger_has_moved(uint64_t number);
/* The report about it may come twice. */
void ledger_excuse_report(uint64_t number);
/* All may get it twice whose deliveries are not settled. */
void ledger_excuse_message(uint64_t number);
/* What became of RECIPIENT must be on the disk by now. */
void ledger_settle(uint64_t number, const char *recipient);
/* When the first copy came for RECIPIENT; -1: none has. */
int64_t ledger_first_us(uint64_t number, const char *recipient);
bool ledger_has(uint64_t number, const char *recipient);
/* The same, but a report that he gets nothing is nothing. */
bool ledger_has_text(uint64_t number, const char *recipient);
/* Whom it is for: the recipient INDEX; NULL: it has not so many. */
const char *ledger_recipient(uint64_t number, size_t index);
/* Something was killed at some time. */
bool ledger_is_disturbed(void);
/* Whether each that was promised is delivered. */
bool ledger_is_done(void);
void ledger_sum(struct ledger_sums *out);
/* A record says that message NUMBER is filed for RECIPIENT; false: it is not there, or that was
 * said before. */
bool ledger_record(uint64_t number, const char *recipient);
/* How many have a filed copy of which no record has said so. */
uint64_t ledger_unrecorded(void);
/* What is wrong, a line for each of the first. */
void ledger_tell(void);
/* Appends the text of message NUMBER, with CRLF and its last "." line, to *TEXT_OUT, which the
 * caller frees. */
size_t ledger_text(uint64_t number, char **text_out);

/* --- inhabitants --- */

#define CLIENT_SENDER "world@client.example" /* of all messages; reports go there */
/* Who is told of reports that are damaged. */
static inline bool mail_is_postmaster(const char *address)
{
	return strncmp(address, "postmaster@", strlen("postmaster@")) == 0;
}
#define MAIL_ONCE   "once."   /* so begin domains whose mail is filed once, whatever happens */
#define HOP_REFUSED "refused" /* so begin users whom the next hop never has */
#define HOP_LATER   "later"   /* for these it has time now and then only */
#define HOP_NEVER   "never"   /* the same, and then it refuses them */
#define HOP_LATEST  "latest"  /* and for these when it is good for ever, or after two days */

/* A client that gives COUNT messages to ADDRESS, port 25, some of them on one connection, each
 * again until it is promised, with pauses of PAUSE_US in the mean. */
struct client {
	uint32_t address;
	uint64_t count;
	int64_t pause_us;
	const char *const *domains; /* ends with NULL: of the recipients */
	unsigned users;             /* of each domain; 0: the usual number */
	bool is_lmtp;               /* on port 24: a verdict for each recipient */
	bool is_submitter;          /* on port 587: logs in */
	bool is_single;             /* each message is for one recipient */
	bool knows_lists;           /* of lists.h */
	bool is_great;              /* but the first one is for as many as there may be */
	int64_t connected_us;       /* the last time */
	struct login login;         /* of its session, if it logs in */
	bool is_done;
	/* Gives some of those that are LEFT on one connection: how many were promised. */
	uint64_t (*give)(struct client *client, uint64_t left);
};
void client_start(struct machine *machine, struct client *client);
/* main() of whoever gives mail. */
int client_run(int argc, char **argv);
/* CLIENT has heard that message NUMBER is queued, and in REPLY under which ID: that must be so. */
void client_note_promise(const struct client *client, const char *reply, uint64_t number);
/* The same by QMTP, port 209: some packages of a connection at once, or one after the other; some
 * connections end in the midst of one. */
void courier_start(struct machine *machine, struct client *client);

/* A server that takes mail on port 25 of MACHINE: sometimes it is slow, refuses for now, or closes
 * without a word; never after EARNEST_FROM_US. */
struct hop {
	int64_t earnest_from_us;
	bool is_provider; /* until then it says what large providers say (replies.h), too */
};
void hop_start(struct machine *machine, struct hop *hop);
/* The program "taker", which pipe services run with a recipient as its last argument: until
 * UNTIL_US it is slow, fails for now, dies, or does not read all. */
void taker_add_program(void);
void taker_be_odd(int64_t until_us);
/* What came to mailboxes below PATH (DOMAIN/USER/new/...) of MACHINE since the last call is entered
 * into the ledger. */
void mailboxes_read(struct machine *machine, const char *path);
/* After a power cut, and where the disk was broken: what is there no more is taken back. */
void mailboxes_check(struct machine *machine);
void mailboxes_end(void);

/* The names of messages in the queue of MACHINE, of packages that other nodes have not settled, and
 * of nodes that may have some of its own: none once all is done. */
uint64_t left_in_queue(struct machine *machine);
/* Says what the first of them are. */
void left_tell(struct machine *machine);

#endif
