// SPDX-License-Identifier: ISC
/*
 * world/endpoint.h - ends of connections: TCP, UNIX sockets, pipes.
 *
 * What is written lies at the other end as a row of segments, each with the time at which it
 * arrives. A stream may be read and written in parts; a packet is whole, and may carry
 * descriptions.
 */
#ifndef WORLD_ENDPOINT_H
#define WORLD_ENDPOINT_H

#include "description.h"
#include "os/socket/socket.h"

enum endpoint_kind {
	ENDPOINT_STREAM,   /* of bytes: TCP, UNIX, a pipe */
	ENDPOINT_PACKET,   /* SOCK_SEQPACKET */
	ENDPOINT_DATAGRAM, /* SOCK_DGRAM: many may send to one */
};

struct segment {
	struct segment *next;
	int64_t arrives_us;
	size_t size;
	size_t used; /* what was read of it */
	bool is_end; /* the peer will send nothing more */
	int error;   /* the peer is gone: -ECONNRESET */
	uid_t user;
	uint64_t asker; /* the endpoint that a datagram came from */
	size_t description_count;
	struct description *descriptions[OS_SOCKET_DESCRIPTORS];
	char data[];
};

struct endpoint {
	struct description description;
	enum endpoint_kind kind;
	bool is_tcp;
	bool is_connecting;
	bool can_read;         /* the end of a pipe that can be read */
	bool can_write;        /* has not shut it down */
	bool has_ended;        /* the peer's end was read */
	int error;             /* of the connection, once */
	struct endpoint *peer; /* NULL: gone */
	struct segment *first;
	struct segment **last;
	size_t queued;    /* bytes that lie here */
	size_t capacity;  /* that may */
	int64_t last_us;  /* when the last segment arrives */
	int64_t delay_us; /* of the way to here */
	uint64_t received;
	uid_t peer_user;
	union os_socket_address local;
	union os_socket_address remote;
	struct event *arrival;
	struct endpoint *next_asker;
	struct description *front; /* NULL: itself; what is watched for what comes here */
};

extern const struct description_kind endpoint_description;
extern const struct description_kind listener_description;

struct endpoint *endpoint_new(enum endpoint_kind kind, bool is_tcp);
/* DELAY_US: how long what is sent is on its way. */
void endpoint_join(struct endpoint *a, struct endpoint *b, int64_t delay_us);
/* The pair that a pipe is. */
void endpoint_make_pipe(struct endpoint *from, struct endpoint *to, size_t room);
/* ENDPOINT's peer hears that nothing more comes. */
void endpoint_send_end(struct endpoint *endpoint, int error);
ssize_t endpoint_send(struct endpoint *endpoint, const void *data, size_t size,
		      struct description **descriptions, size_t description_count);
/* ENDPOINT sends datagrams, and hears answers to them. */
void endpoint_become_asker(struct endpoint *endpoint);
/* An answer to a datagram: it is dropped when who asked is gone. */
void endpoint_answer(uint64_t asker, const void *data, size_t size);
/* The segment that can be taken now; NULL: none. */
struct segment *endpoint_arrived(const struct endpoint *endpoint);
/* Takes the first segment off; the caller frees it with segment_free(). */
struct segment *endpoint_take(struct endpoint *endpoint);
void segment_free(struct segment *segment);
ssize_t endpoint_read(struct endpoint *endpoint, void *data, size_t size);

/* --- those that listen (listen.c) --- */

enum { LISTENER_PATH_SIZE = 108 };

struct listener {
	struct description description;
	struct machine *machine;
	int kind; /* SOCK_... */
	union os_socket_address address;
	char path[LISTENER_PATH_SIZE]; /* "": TCP */
	size_t backlog;
	size_t waiting_count;
	struct endpoint **waiting;
	struct endpoint *datagrams; /* of SOCK_DGRAM: what is sent there */
	struct listener *next;
};

#endif
