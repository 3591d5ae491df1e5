// SPDX-License-Identifier: ISC
/*
 * node/stream.h - the frames of stagepost-node/1, the protocol by which nodes hand mail over
 * (stagepost-node(7)).
 *
 * A frame is that of directory/wire/frame.h: a netstring of words, the first of which is the verb.
 * "take" is followed by two more netstrings: the control text of a package, and its data.
 *
 *   receiver, at once   hello 1 NAME status     it answers "status"; an older one says only NAME
 *   sender              hello 1 NAME EPOCH RUN CONNECTION
 *   receiver            old EPOCH RUN CONNECTION     refused: it has seen that, which is higher
 *                       kept PACKAGE NUMBERS ...     what is here, and not settled; may repeat;
 *                                                    NUMBERS: of deliveries, "3-5,9", or "-": all
 *                       ready                        what was not kept is not here
 *   sender              take PACKAGE, TEXT, DATA     only after ready
 *   receiver            took PACKAGE                 durable
 *                       later PACKAGE STATUS TEXT    it is not here: another time, or another node
 *   sender              settled PACKAGE ...          it has none of them any more, durably
 *                       drop PACKAGE ...             the same, and another node has it, too
 *                       ping                         answered by pong; not inside of a take
 *                       status [ID]                  only after ready, and after the last answer:
 *                                                    how is it; or what does it know of a message,
 *                                                    by its id at any node?
 *   receiver            status TEXT                  an object of JSON (node/status.h)
 *   both                bye TEXT                     why the connection is closed, for people
 *
 * PACKAGE: mail/package.h. Unknown verbs are skipped, and words that follow the known ones.
 */
#ifndef NODE_STREAM_H
#define NODE_STREAM_H

#include "base/attributes.h"
#include "base/buffer.h"
#include <stdint.h>

#define NODE_TLS_PROTOCOL "stagepost-node/1" /* ALPN */

enum {
	NODE_PROTOCOL = 1,
	NODE_TEXT_MAX = 1 << 20,      /* bytes of a package's control text */
	NODE_PACKAGES_IN_FLIGHT = 256, /* taken, and not answered */
	NODE_NAMES_MAX = 256,         /* packages in one frame */
	NODE_STATUS_MAX = 32 * 1024,  /* bytes of the answer to "status" */
};

struct node_stream_handler {
	/* A frame; *HAS_PAYLOAD_OUT: text and data follow. WORDS are valid during the call. False,
	 * here and below: the connection ends, and nothing more is read. */
	bool (*frame)(void *context, const struct str *words, size_t count, bool *has_payload_out);
	/* All of the text; SIZE bytes of data follow. */
	bool (*text)(void *context, struct str text, uint64_t size);
	/* A part of the data. */
	bool (*data)(void *context, struct str part);
	/* All of them have come. */
	bool (*end)(void *context);
};

enum node_stream_phase { NODE_STREAM_FRAME, NODE_STREAM_TEXT, NODE_STREAM_SIZE, NODE_STREAM_DATA };

/* What has been read so far; storage of the caller, zeroed at first. */
struct node_stream {
	struct buffer input;
	struct buffer text; /* until the size of the data is known */
	enum node_stream_phase phase;
	uint64_t left; /* bytes of data */
};

/* Reads BYTES: 0; -EINVAL: they are malformed; -ECANCELED: the handler has said false. */
MUST_CHECK int node_stream_read(struct node_stream *stream,
				const struct node_stream_handler *handler, void *context,
				struct str bytes);
void node_stream_clear(struct node_stream *stream);

/* Appends a netstring's length and colon to OUT; SIZE bytes and a comma are to follow. */
void node_stream_begin_netstring(struct buffer *out, uint64_t size);

#endif
