// SPDX-License-Identifier: ISC
/*
 * model/scene.h - the manager of the model, with nothing that happens by chance: a test says what
 * comes, what each helper says and how time passes.
 */
#ifndef MODEL_SCENE_H
#define MODEL_SCENE_H

#include "model.h"

extern struct manager *scene_manager;
/* What it was begun with; to be changed, and told by scene_configure(). */
extern struct config scene_config;

/* HAS_EXTRA: the service of that name is configured. */
void scene_begin(bool has_extra);
void scene_configure(void);
/* The manager stops, and everything is forgotten. */
void scene_end(void);
/* It stops, the wall clock is set by so much, and another one finds what it has left. */
void scene_restart(int64_t jump_us);
/* Begins to stop; whether it has. */
void scene_stop(void);
bool scene_has_stopped(void);

/* One to ADDRESS, mapped; and to several. */
struct model_message *scene_mail(const char *address);
struct model_message *scene_mail_to(const char *first, const char *second, const char *third);
/* scene_begin(true), and one to r@grey.example, which has deferred it. */
struct model_message *scene_begin_deferred(void);
/* The disk does what is to be done, and "queue"; no time passes. */
void scene_work(void);
/* Time passes, and whoever asks resolve then is answered. */
void scene_pass(int64_t us);
/* Its delivery is with a helper. */
bool scene_is_tried(const struct model_message *m, uint32_t delivery);
/* It is reported on, and that is recorded. */
void scene_say(struct model_message *m, uint32_t delivery, const char *status, const char *trigger);
/* In how long it is due; it sleeps. INT64_MAX: at no time. */
int64_t scene_due_in(const struct model_message *m);
/* It waits for something that is to happen. */
bool scene_waits(const struct model_message *m);
/* The order's answer. */
const char *scene_order(const char *word, const struct model_message *m);
const char *scene_order_until(const char *word, const struct model_message *m, const char *trigger);

#endif
