// SPDX-License-Identifier: ISC
/*
 * deliver/remote/session/places.h - the places of sessions with servers in their classes of hosts
 * (limit/count.h).
 *
 * A session owns its place from its first packet to its end; every change of what is counted is a
 * change of the place's state:
 *
 *   state \ event   open            claim           rest             close        reload
 *   NONE            USED, or full   -               -                -            -
 *   USED            -               USED            RESTING          NONE         counted anew
 *   RESTING         -               USED, or full   -                NONE         counted anew
 *
 * RESTING, while the connection is idle, is counted only if the class has count = all. Sessions by
 * UNIX sockets have no class.
 */
#ifndef DELIVER_REMOTE_SESSION_PLACES_H
#define DELIVER_REMOTE_SESSION_PLACES_H

#include "dns/search.h"
#include "limit/count.h"

/* Those of a process. */
struct remote_places;

enum remote_place_state { REMOTE_PLACE_NONE, REMOTE_PLACE_USED, REMOTE_PLACE_RESTING };

/* Storage of the session, zeroed at first. */
struct remote_place {
	enum remote_place_state state;
	struct remote_places *places;
	char *host; /* by which its server was looked up */
	struct in6_addr address;
	size_t class;
	bool is_counted;
	struct remote_place *next, **previous;
};

struct remote_places *remote_places_new(void);
/* No place may be open. NULL is allowed. */
void remote_places_free(struct remote_places *places);
/* From now on the classes are those of CONFIG, and LIMITS (NULL: none is counted) has the counts
 * and is borrowed; standing sessions are counted anew. */
void remote_places_configure(struct remote_places *places, const struct config *config,
			     const struct limit_memory *limits);

/* The class of SERVER; NULL: there are none, or it is reached by a UNIX socket. */
const struct limit_class *remote_places_class(const struct remote_places *places,
					      const struct dns_server *server);

/* Takes a place in the class of SERVER. PLACES may be NULL: nothing is counted. False: it has none
 * for this message, which must wait behind others unless it HAS_TURN; and PLACE stays as it is. */
MUST_CHECK bool remote_place_open(struct remote_place *place, struct remote_places *places,
				  const struct dns_server *server, bool has_turn);
/* Its session is needed again, or rests. */
MUST_CHECK bool remote_place_claim(struct remote_place *place, bool has_turn);
void remote_place_rest(struct remote_place *place);
/* Does nothing if there is none. */
void remote_place_close(struct remote_place *place);
/* Whether others could have it if its session did not rest, but ended. */
bool remote_place_is_wanted(const struct remote_place *place);
/* Whether it rests, and is counted in CLASS. */
bool remote_place_is_spare(const struct remote_place *place, const struct limit_class *class);

#endif
