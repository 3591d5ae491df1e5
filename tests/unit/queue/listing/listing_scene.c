// SPDX-License-Identifier: ISC
#include "listing_scene.h"
#include "queue/trigger.h"
#include "test.h"
#include "unit/queue/queue_scene.h"
#include <stdio.h>

#define UNTIL "until=2100-01-01T00:00:00Z "
#define AT    "2026-11-20T08:33:11Z "

const struct listing_scene_message listing_scene_messages[LISTING_SCENE_MESSAGES] = {
	{"S@x.test",
	 "smtp 192.0.2.7:25 user=Ann",
	 {"a@a.test"},
	 MAIL_STAGE_ARRIVE,
	 NULL,
	 "a@a.test",
	 "",
	 "",
	 "",
	 "",
	 "192.0.2.7",
	 "ann",
	 -1,
	 0},
	{"",
	 "smtp [2001:db8::7]:25",
	 {"b@B.test"},
	 MAIL_STAGE_SUBMIT,
	 NULL,
	 "b@b.test",
	 "",
	 "",
	 "",
	 "",
	 "2001:db8::7",
	 "",
	 -1,
	 1},
	{"s@x.test",
	 "local uid=0 user=root",
	 {"a@a.test", "c@c.test"},
	 MAIL_STAGE_SUBMIT,
	 NULL,
	 "a@a.test c@c.test",
	 "",
	 "",
	 "",
	 "",
	 "",
	 "root",
	 0,
	 2},
	{"t@x.test",
	 "local uid=7",
	 {"a@a.test"},
	 MAIL_STAGE_ARRIVE,
	 "map: 1 remote <d@D.test>\nmapped: directory=1 count=1\n",
	 "a@a.test d@d.test",
	 "remote",
	 "",
	 "",
	 "",
	 "",
	 "",
	 7,
	 0},
	{"t@x.test",
	 "qmtp 192.0.2.8:25",
	 {"a@a.test", "c@c.test"},
	 MAIL_STAGE_ARRIVE,
	 "map: 1 remote 1 <a@a.test>\nmap: 2 local box 2 <c@c.test>\nmapped: directory=1 count=2\n"
	 "done: 1 " AT "2.0.0 kept\nwait: 2 " AT UNTIL "trigger=service.box 4.4.1 Not Reached\n",
	 "a@a.test c@c.test",
	 "box",
	 "service.box",
	 "not reached",
	 "4.4.1",
	 "192.0.2.8",
	 "",
	 -1,
	 0},
	{"t@x.test",
	 "list",
	 {"a@a.test"},
	 MAIL_STAGE_ARRIVE,
	 "map: 1 remote <a@a.test>\nmapped: directory=1 count=1\nwait: 1 " AT UNTIL
	 "4.7.1 greylisted\n",
	 "a@a.test",
	 "remote",
	 "",
	 "greylisted",
	 "4.7.1",
	 "",
	 "",
	 -1,
	 1},
	{"t@x.test",
	 "smtp 198.51.100.1:25 user=bob",
	 {"a@a.test"},
	 MAIL_STAGE_ARRIVE,
	 "map: 1 remote <a@a.test>\nmapped: directory=1 count=1\nfail: 1 " AT "5.1.1 greylisted\n",
	 "a@a.test",
	 "",
	 "",
	 "",
	 "",
	 "198.51.100.1",
	 "bob",
	 -1,
	 -1},
	{"s@x.test",
	 "smtp 192.0.2.9:25",
	 {"e@a.test", "f@f.test"},
	 MAIL_STAGE_ARRIVE,
	 "map: 1 local box server=srv.test:24 1 <e@a.test>\nmap: 2 remote 2 <f@f.test>\n"
	 "mapped: directory=1 count=2\nwait: 1 " AT UNTIL "trigger=service.box.srv.test 4.4.1 a b\n"
	 "wait: 2 " AT UNTIL "trigger=host.mx 4.4.1 port 12345 id 10.9.8.7 1:2345\n",
	 "e@a.test f@f.test",
	 "box remote",
	 "service.box.srv.test host.mx",
	 "a b|port 12345 id 10.9.8.7 1:2345",
	 "4.4.1",
	 "192.0.2.9",
	 "",
	 -1,
	 0},
	{"u@x.test",
	 "enqueue uid=7",
	 {"a@a.test"},
	 MAIL_STAGE_ARRIVE,
	 NULL,
	 "a@a.test",
	 "",
	 "",
	 "",
	 "",
	 "",
	 "",
	 -1,
	 0}, /* its protocol is another */
	{"s@x.test",
	 "smtp 192.0.2.10:25",
	 {"a@a.test"},
	 MAIL_STAGE_ARRIVE,
	 "map: 1 none <a@a.test>\nmapped: directory=1 count=1\n",
	 "a@a.test",
	 "",
	 "",
	 "",
	 "",
	 "192.0.2.10",
	 "",
	 -1,
	 0},
};

struct queue_store *listing_scene_store;
uint64_t listing_scene_numbers[LISTING_SCENE_MESSAGES];
static struct queue_intake *intake;

int64_t listing_scene_born(size_t i)
{
	return SECOND_US * (int64_t)(1000 + i);
}

static void put_message(size_t i)
{
	struct mail_envelope *envelope = queue_scene_envelope();
	char id[MAIL_ID_SIZE];
	char hold[MAIL_ID_SIZE + 8];

	envelope->id.born_us = listing_scene_born(i);
	envelope->stage = listing_scene_messages[i].stage;
	envelope->sender = str_from(listing_scene_messages[i].sender);
	envelope->received = str_from(listing_scene_messages[i].received);
	for (size_t r = 0; r < 2 && listing_scene_messages[i].recipients[r] != NULL; r++)
		mail_envelope_add(envelope, str_from(listing_scene_messages[i].recipients[r]));
	listing_scene_numbers[i] = queue_scene_enqueue(intake, envelope, "data\r\n");
	if (listing_scene_messages[i].control != NULL)
		queue_scene_preprocess(listing_scene_store, intake, listing_scene_numbers[i],
				       listing_scene_messages[i].control, "");
	if (listing_scene_messages[i].hold == 0)
		return;
	assert_int_equal(queue_trigger_set(listing_scene_store, STR("maint"), 1, STR("")), 0);
	mail_id_format((struct mail_id){listing_scene_numbers[i], listing_scene_born(i)}, id);
	snprintf(hold, sizeof hold, "hold.%s", id);
	assert_int_equal(queue_trigger_set_until(listing_scene_store, str_from(hold), 1,
						 STR("by hand"),
						 listing_scene_messages[i].hold == 2  ? STR("maint")
						 : listing_scene_messages[i].hold < 0 ? STR("gone")
										      : STR("")),
			 0);
}

int listing_scene_open(void **state)
{
	if (queue_scene_set_up(state) < 0)
		return -1;
	listing_scene_store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	intake = queue_scene_intake(listing_scene_store);
	for (size_t i = 0; i < LISTING_SCENE_MESSAGES; i++)
		put_message(i);
	return 0;
}

int listing_scene_close(void **state)
{
	queue_intake_close(intake);
	queue_store_close(listing_scene_store);
	return queue_scene_tear_down(state);
}
