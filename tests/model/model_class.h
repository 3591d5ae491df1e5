// SPDX-License-Identifier: ISC
/*
 * model/model_class.h - the sessions of classes of hosts: processes that count them as the product
 * does, in memory that they share, and a plain reference for what the counters must say.
 *
 * "remote" takes a place for each job, and servers of clients take the same places. Any of them
 * is killed, cleared by the supervisor later, and begins again; each takes a new configuration over
 * when it likes, earlier or later than the manager.
 */
#ifndef MODEL_MODEL_CLASS_H
#define MODEL_MODEL_CLASS_H

#include "config/config.h"
#include "manager/manager.h"

void model_class_begin(void);
void model_class_end(void);

/* Chooses the classes of the next configurations, perhaps none; CONFIG has those chosen last. */
void model_class_choose(void);
void model_class_configure(struct config *config);
/* MANAGER was made, or configured: it counts who waits. */
void model_class_use(struct manager *manager);

/* A client comes or goes, or a process that counts is killed, begins again or is configured. */
void model_class_happens(void);
/* All clients go, everybody lives, and is configured as the manager. */
void model_class_calm(void);

/* After each event: the counters say what the reference says, and no more messages have a turn than
 * there are places. */
void model_class_check(struct manager *manager);
/* Nobody waits while there are places, for longer than it takes to look; time may pass. */
void model_class_check_waiting(struct manager *manager);
/* Nobody has a place or waits for one. */
void model_class_check_over(struct manager *manager);
/* All that can happen has happened; else the model has failed. */
void model_class_check_seen(void);

#endif
