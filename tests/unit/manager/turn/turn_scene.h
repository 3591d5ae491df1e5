/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/manager/turn/turn_scene.h - transports (manager/turn/) whose time, memory and sleepers
 * are the test's: "remote" and the service "local".
 */
#ifndef TESTS_UNIT_TURN_SCENE_H
#define TESTS_UNIT_TURN_SCENE_H

#include "manager/turn/transport.h"

enum { SCENE_MS = 1000, SCENE_TRANSPORTS = 2 };

struct turn_scene {
	int64_t now_us;
	struct share share;
	struct config_transport configured[SCENE_TRANSPORTS];
	struct transports *transports;
	struct transport *remote;
	struct transport *local;
	struct sleepers sleepers;
	/* who was woken last because there is room, and how often somebody was */
	const struct waiters *roomy;
	size_t roomy_count;
	bool roomy_retries;
	unsigned roomy_calls;
	uint64_t last_sleeper;
};

/* "remote" with so many PLACES, of them so many for a destination; the service has 4. */
struct turn_scene *scene_new(uint32_t places, uint32_t destination_places);
/* After what the test changed in STAGES. */
void scene_configure(struct turn_scene *scene);
/* All rules of the transports hold then. */
void scene_free(struct turn_scene *scene);

/* Some message, told apart by WHICH: nobody looks into it. */
struct message *scene_message(unsigned which);
/* A job of WHICH from SENDER waits for DESTINATION; there must be room. */
struct job *scene_add(struct turn_scene *scene, const char *destination, const char *sender,
		      unsigned which);
struct job *scene_add_retry(struct turn_scene *scene, const char *destination, unsigned which);
/* DELIVERY finds no room with TRANSPORT: a sleeper waits for it then. */
struct waiters *scene_crowd_out(struct turn_scene *scene, struct transport *transport,
				const struct transport_delivery *delivery);
/* How many of WAITERS were woken last because there is room; asked once. */
size_t scene_take_woken(struct turn_scene *scene, const struct waiters *waiters);

/* The job whose turn it is, in flight; NULL: nobody's. */
struct job *scene_start(struct turn_scene *scene, struct transport *transport);
/* As many as may start, into JOBS; how many. */
size_t scene_start_all(struct turn_scene *scene, struct job **jobs, size_t size);
/* JOB was answered after so long, or (REACHED false) nobody was there. */
void scene_end(struct turn_scene *scene, struct job *job, int64_t after_us, bool reached);
/* One delivery to DESTINATION from its start to its end. */
void scene_deliver(struct turn_scene *scene, const char *destination, int64_t after_us,
		   bool reached);

#endif
