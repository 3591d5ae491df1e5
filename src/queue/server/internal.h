// SPDX-License-Identifier: ISC
/*
 * queue/server/internal.h - what the files of the queue server share.
 */
#ifndef QUEUE_SERVER_INTERNAL_H
#define QUEUE_SERVER_INTERNAL_H

#include "base/table.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "queue/client/handed.h"
#include "queue/client/protocol.h"
#include "queue/client/submit.h"
#include "queue/group.h"
#include "queue/handed.h"
#include "queue/server/server.h"

struct server_client;

/* A node that hands packages over. */
struct server_node {
	char name[MAIL_NODE_MAX + 1];
	struct queue_handed_serial serial; /* the highest, of those that have greeted */
	struct server_client *client;      /* who has greeted with it; NULL: disconnected */
	bool is_waiting;                   /* GREETED is to be sent */
	bool is_greeted;                   /* it was sent, without an error */
	uint64_t durable;  /* what queue_intake_durable() must reach for that; 0: not begun */
	size_t committing; /* packages */
	UT_hash_handle hh; /* by name */
};

/* A message that a client has begun, or that is being committed; in the latter case the group's
 * thread writes it, and owns DATA. */
struct server_held {
	uint64_t number;
	struct queue_message *message; /* NULL once it is queued */
	struct server_client *client;
	struct buffer text; /* of the control file */
	struct buffer data; /* by value */
	size_t data_size;   /* length of DATA, once it is being committed */
	size_t group_size;  /* size of data and text, as counted in server->group_bytes */
	enum mail_stage stage;
	struct mail_id id;
	int64_t opened_us; /* monotonic */
	int result;
	bool may_use_reserve; /* it ends other messages */
	bool is_removed;      /* the manager found it in a scan and has finished with it already */
	bool is_removed_durably;  /* and waits until that is durable */
	struct server_node *node; /* that hands it over; NULL: none */
	UT_hash_handle hh;
};

struct server_client {
	struct queue_server *server;
	struct ipc_channel *channel;
	struct server_held *files; /* by number; without those being committed */
	size_t committing;
	size_t data_bytes; /* of messages that it has not committed yet */
	size_t text_bytes; /* the same */
	bool is_paused;    /* not read from while too much is being committed */
	uid_t user;
	bool is_user;          /* of the machine (user.c), not a process of the node */
	bool is_node;          /* it has shown the token of "noded" */
	struct buffer answers; /* COMMITTED entries, not sent yet */
	bool is_gone;          /* disconnected; freed when its last commit is done */
	struct server_client *next, *previous;
};

struct queue_server {
	struct os_loop *loop;
	struct queue_store *store;
	struct queue_intake *intake;
	struct ipc_listener *listener;
	struct ipc_listener *users; /* NULL: no user of the machine is served */
	struct os_timer *clean_timer;
	struct os_timer *missed_timer;
	struct os_timer *settle_timer;
	struct os_timer *again_timer;
	struct queue_group *group;
	struct server_client *clients;
	struct server_client *manager;  /* one of the clients, or NULL */
	struct server_client *managing; /* the one that waits for MANAGED, or NULL */
	struct server_held *committing; /* by number */
	size_t group_bytes;             /* of the data and texts of these */
	struct buffer notice;           /* QUEUED entries for the manager, not sent yet */
	struct buffer removed;          /* REMOVED entries for it */
	struct buffer moved;            /* (u64 of queue_intake_moved(), u64 number)...: REMOVED
					 * when they have settled */
	struct buffer reached; /* (u64 of queue_intake_await(), u64 of queue_intake_retired()
				* or 0, u64 number)...: REMOVED when that is durable */
	struct buffer ending;  /* REMOVE entries whose message is a package that is not
				* settled: retried after the next group */
	struct os_task removed_task;
	struct server_node *nodes; /* by name */
	struct buffer refused;     /* REMOVE entries that failed on disk, to be retried */
	uint64_t reserve;          /* bytes that new mail leaves free */
	struct queue_server_peers peers;
	struct os_timer *proof_timer;
	enum queue_sync sync; /* last logged */
	bool is_full;
	bool is_copied;       /* a file's inode differs from its name: nothing new is accepted */
	bool is_blind;        /* that was logged */
	bool is_doubtful;     /* a sync has failed, and none has succeeded since */
	bool is_cleaned;      /* pid and mess have been cleaned since the start */
	bool has_missed;      /* the manager must be told to scan */
	int64_t load_told_us; /* when the manager was last sent LOAD; monotonic */
	void (*stopped)(void *context);
	void *stopped_context;
};

/* request.c: requests of clients that add messages. False ends the connection. */
bool server_open(struct server_client *client, struct unpack *body);
bool server_open_reserve(struct server_client *client, struct unpack *body);
bool server_share(struct server_client *client, struct unpack *body);
bool server_data(struct server_client *client, struct unpack *body);
bool server_envelope(struct server_client *client, struct unpack *body);
bool server_commit(struct server_client *client, struct unpack *body);
bool server_commit_handed(struct server_client *client, struct unpack *body);
bool server_abandon(struct server_client *client, struct unpack *body);
bool server_release(struct server_client *client, struct unpack *body);
void server_held_abandon(struct server_client *client, struct server_held *held);

/* What is said of a package before its text. */
struct server_package {
	struct str node;
	struct queue_handed_serial serial;
};

/* package.c: a package that is to be committed. */
/* 0: HELD, whose text is whole, becomes that package; -errno: what COMMIT_HANDED is answered. */
int server_package_begin(struct server_held *held, const struct server_package *package);
/* RESULT of writing and committing it; before that is answered. */
void server_package_end(struct server_held *held, int result);

/* nodes.c: nodes that hand packages over. */
bool server_greet(struct server_client *client, struct unpack *body);
bool server_settle(struct server_client *client, struct unpack *body);
bool server_drop(struct server_client *client, struct unpack *body);
void server_package_unpack(struct unpack *body, struct server_package *package_out);
/* The node whose packages are committed for CLIENT with that serial; NULL: none. */
struct server_node *server_node_find(const struct server_client *client,
				     const struct server_package *package);
/* After each group: answers those whose greeting is durable. */
void server_nodes_greet(struct queue_server *server);
void server_nodes_forget_client(struct server_client *client);
void server_nodes_free(struct queue_server *server);

/* limit.c: the limits of a client. */
/* Whether it may say what nodes hand over. */
bool server_may_hand_over(const struct server_client *client);
bool server_may_connect(const struct queue_server *server, uid_t user);
/* 0, or -EMFILE: CLIENT may not begin COUNT more messages. */
int server_check_open(const struct server_client *client, size_t count);
/* Whether its messages may use the reserve. */
bool server_may_use_reserve(const struct server_client *client);
/* Per message that CLIENT adds. */
uint32_t server_recipients_max(const struct server_client *client);
/* Limit on the texts of all messages that CLIENT has not committed, in bytes: that of one
 * message. */
size_t server_text_max(const struct server_client *client);

/* user.c: clients that are users of the machine. */
bool server_user_may_connect(const struct queue_server *server, uid_t user);
/* Whether they may send a message of this TYPE, of enum queue_protocol. */
bool server_user_may(unsigned type);
/* As server_check_open(). */
int server_user_check_open(const struct server_client *client, size_t count);
/* 0; -EPERM: it is not as a user's must be; -EFBIG; -ETIMEDOUT: it was begun too long ago. */
int server_user_check_envelope(const struct server_held *held,
			       const struct mail_envelope *envelope);
/* Whether the data begin as they must: 0 or -errno. May wait for the disk. */
int server_user_check_data(const struct server_held *held);

/* commit.c: groups being committed. */
extern const struct queue_group_handler server_group_handler;
/* Adds HELD to the next group. */
void server_commit_begin(struct server_client *client, struct server_held *held);
void server_commit_answer(struct server_client *client, uint64_t number, int result);
void server_commit_answers_send(struct server_client *client);
void server_held_free(struct server_held *held);
/* Only after it has disconnected and its last commit is done. */
void server_client_free(struct server_client *client);
/* Reports that the server has stopped, if it should stop and no group is in progress. */
void server_finish_stop(struct queue_server *server);

/* Data up to this size are kept until their message is reported to the manager, which then need
 * not read them. */
enum { SERVER_NOTICE_CONTENT_MAX = 16 * 1024 };

/* manager.c: what the manager is told, and what it asks for. */
bool server_manage(struct server_client *client, struct unpack *body);
bool server_cleaned(struct server_client *client, struct unpack *body);
bool server_remove(struct server_client *client, struct unpack *body);
/* The manager has asked for the removal of HELD before its commit was done. */
void server_remove_queued(struct queue_server *server, const struct server_held *held);
void server_remove_again(void *context);
void server_notice_add(struct queue_server *server, const struct server_held *held);
void server_notice_send(struct queue_server *server);
void server_notice_missed(void *context);
void server_removed_send(void *context);
void server_removed_settle(void *context);
/* After each group: what is durable by now, and what waited for that to go on. */
void server_removed_tell(struct queue_server *server);
/* A group is to come soon. */
void server_settle_soon(struct queue_server *server);
/* Files of ended messages, if there are any, do not wait for a message to come. */
void server_settle_held(struct queue_server *server);
/* After each group: answers what has settled. */
void server_tell_settled(struct queue_server *server);

/* As queue_store_look(), for a name in todo/: one that is not a message is logged and handled. */
int server_look_at(struct queue_server *server, enum mail_stage stage, uint64_t number);
bool server_found(struct server_client *client, struct unpack *body);

/* state.c: when nothing new is accepted, and how that ends. */
/* 0, or -errno when there is too little space for another message of the largest size. */
int server_check_room(struct queue_server *server);
/* 0, or -errno: no data files may be handed out; for messages that MAY_USE_RESERVE. */
int server_check_intake(struct queue_server *server, bool may_use_reserve);
/* 0, or -errno: what is to be written beside the GROUP_BYTES would leave too little. */
int server_check_commit(struct queue_server *server);
/* At the start: whether the queue's files have the numbers that their names say. */
void server_check_numbers(struct queue_server *server);
/* The file PATH has the inode number INODE, not NUMBER as its name says. */
void server_is_copied(struct queue_server *server, const char *path, uint64_t inode);
/* After each group. */
void server_check_syncs(struct queue_server *server);
/* Logs once that the system cannot tell whether lent files are still being written to. */
void server_check_sight(struct queue_server *server);
void server_prove(void *context);

#endif
