// SPDX-License-Identifier: ISC
#include "config_outcome.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 4 };

static char folder[] = "/tmp/stagepost-config-XXXXXX";

struct file {
	const char *name; /* NULL: no more */
	const char *text;
};

struct scene {
	struct file files[FILES]; /* the first is read */
	const char *outcome;      /* the problems; NULL: it is right. "@" is the folder. */
};

static void write_file(const struct file *file)
{
	FILE *out = fopen(file->name, "w");

	assert_non_null(out);
	assert_true(fputs(file->text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

/* TEXT with "@" for the folder. */
static struct buffer with_folder(const char *text)
{
	struct buffer out = {0};

	for (; *text != '\0'; text++)
		if (*text == '@')
			buffer_append_string(&out, folder);
		else
			buffer_append_byte(&out, *text);
	return out;
}

static void play(const struct scene *scene)
{
	struct config_problems problems = {0};
	struct config *config = NULL;
	struct buffer said = {0};
	struct buffer wanted = with_folder(scene->outcome != NULL ? scene->outcome : "");
	struct buffer main_file = with_folder("@/main.conf");

	buffer_append_byte(&main_file, '\0');
	for (size_t i = 0; i < FILES && scene->files[i].name != NULL; i++)
		write_file(&scene->files[i]);
	(void)!load_config(buffer_data(&main_file), &config, &problems);
	config_problems_print(&problems, buffer_data(&main_file), &said);
	if (!str_equal(buffer_view(&said), buffer_view(&wanted)))
		fail_msg("wanted " STR_FORMAT "found " STR_FORMAT,
			 STR_ARGUMENTS(buffer_view(&wanted)), STR_ARGUMENTS(buffer_view(&said)));
	assert_int_equal(config == NULL, scene->outcome != NULL);
	for (size_t i = 0; i < FILES && scene->files[i].name != NULL; i++)
		unlink(scene->files[i].name);
	config_free(config);
	config_problems_clear(&problems);
	buffer_clear(&said);
	buffer_clear(&wanted);
	buffer_clear(&main_file);
}

static const struct scene right[] = {
	{{{"main.conf", HOST "include \"box.conf\"\nsplit = 7\n"}, {"box.conf", BOX}}, NULL},
	{{{"main.conf", "include box.conf " HOST}, {"box.conf", "split = 7"}}, NULL},
	{{{"main.conf", "include box.conf"},
	  {"box.conf", "include deep.conf"},
	  {"deep.conf", HOST}},
	 NULL},
	{{{"main.conf", HOST "include \"a*.conf\"\n"}, {"a1.conf", BOX}, {"a2.conf", "split = 7"}},
	 NULL},
	{{{"main.conf", HOST "include \"none*.conf\"\n"}}, NULL},
	{{{"main.conf", HOST "# include nowhere\n/* include nowhere\n*/ // include nowhere\n"}},
	 NULL},
	{{{"main.conf", HOST "user = include group = x\n"}},
	 "@/main.conf:2: group: unknown setting; allowed: see stagepost.conf(5)\n"},
};

static const struct scene places[] = {
	{{{"main.conf", HOST "include box.conf\nsplit = 8\n"}, {"box.conf", "\n\nsplit = 7\n"}},
	 "@/main.conf:3: split: given twice: first in line 3 of @/box.conf\n"},
	{{{"main.conf", "\ninclude box.conf\nwrong = 8\n"}, {"box.conf", HOST "split = much"}},
	 "@/box.conf:2: split: not a number: found \"much\"; allowed: a number from 1 to 10000\n"
	 "@/main.conf:3: wrong: unknown setting; allowed: see stagepost.conf(5)\n"},
	{{{"main.conf", HOST "include a.conf include b.conf\n"}, {"a.conf", BOX}, {"b.conf", BOX}},
	 "@/b.conf:1: service box: given twice: first in line 1 of @/a.conf\n"},
	{{{"main.conf", "include a.conf\n"},
	  {"a.conf", "include b.conf\n\nwrong = 1"},
	  {"b.conf", HOST}},
	 "@/a.conf:3: wrong: unknown setting; allowed: see stagepost.conf(5)\n"},
};

static const struct scene wrong[] = {
	{{{"main.conf", HOST "include box.conf\n"}},
	 "@/main.conf:2: No such file or directory: found \"@/box.conf\"\n"},
	{{{"main.conf", HOST "include .\n"}}, "@/main.conf:2: Is a directory: found \"@/.\"\n"},
	{{{"main.conf", HOST "include \"none/*.conf\"\n"}},
	 "@/main.conf:2: No such file or directory: found \"\"none/*.conf\"\"\n"},
	{{{"main.conf", HOST "include \"\"\n"}},
	 "@/main.conf:2: a file is not named: found \"\"\"\"; allowed: a path, or a pattern\n"},
	{{{"main.conf", "\ninclude main.conf\n"}},
	 "@/main.conf:2: this file includes itself: found \"@/main.conf\"\n"},
	{{{"main.conf", "include a.conf\n"}, {"a.conf", "\n\ninclude main.conf"}},
	 "@/a.conf:3: this file includes itself: found \"@/main.conf\"\n"},
	{{{"main.conf", "directory {\n include a.conf\n}\n"}},
	 "@/main.conf:2: include inside of a section: found \"a.conf\"\n"},
	{{{"main.conf", "include a.conf\n}\n"}, {"a.conf", HOST "directory {\n\n"}},
	 "@/a.conf:2: what begins here has no end in this file; allowed: }\n"},
	{{{"main.conf", "include a.conf\n*/\n"}, {"a.conf", HOST "\n/* not closed"}},
	 "@/a.conf:3: the comment that begins here has no end; allowed: */\n"},
};

static void files_are_put_in_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(right); i++)
		play(&right[i]);
}

static void problems_name_the_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(places); i++)
		play(&places[i]);
}

static void wrong_includes_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		play(&wrong[i]);
}

/* d1 includes d2, and so on. */
static void depth_is_bounded(void **state)
{
	struct scene scene = {{{"main.conf", "include d1"}},
			      "@/d8:1: files include files too deep: found \"d9\"; allowed: at "
			      "most 8 deep\n"};

	(void)state;
	for (unsigned i = 1; i <= 9; i++) {
		char name[8];
		char text[32];

		snprintf(name, sizeof name, "d%u", i);
		snprintf(text, sizeof text, "include d%u", i + 1);
		write_file(&(struct file){name, text});
	}
	play(&scene);
}

static void size_is_bounded(void **state)
{
	struct scene scene = {{{"main.conf", "include big\ninclude big"}},
			      "@/main.conf:2: the files are too large: found \"@/big\"; allowed: "
			      "at most 4 MiB together\n"};
	struct buffer text = {0};

	(void)state;
	for (size_t i = 0; i < 3 << 20; i++)
		buffer_append_byte(&text, '\n');
	buffer_append_byte(&text, '\0');
	write_file(&(struct file){"big", buffer_data(&text)});
	play(&scene);
	buffer_clear(&text);
}

static void number_is_bounded(void **state)
{
	struct scene scene = {{{"main.conf", NULL}, {"empty", ""}},
			      "@/main.conf:1001: too many files are included: found \"@/empty\"; "
			      "allowed: at most 1000\n"};
	struct buffer text = {0};

	(void)state;
	buffer_append_string(&text, "\n");
	for (unsigned i = 0; i < 1000; i++)
		buffer_append_string(&text, "include empty\n");
	buffer_append_byte(&text, '\0');
	scene.files[0].text = buffer_data(&text);
	play(&scene);
	buffer_clear(&text);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL ? -1 : chdir(folder);
}

static int drop_folder(void **state)
{
	char name[8];

	(void)state;
	for (unsigned i = 1; i <= 9; i++) {
		snprintf(name, sizeof name, "d%u", i);
		unlink(name);
	}
	unlink("big");
	return chdir("/") < 0 ? -1 : rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_put_in_place),
		cmocka_unit_test(problems_name_the_file),
		cmocka_unit_test(wrong_includes_are_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(size_is_bounded),
		cmocka_unit_test(number_is_bounded),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
