// SPDX-License-Identifier: ISC
#include "supervisor/machine_check/unit.h"
#include "os/file/rights.h"
#include "os/process/output.h"
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

enum { UNIT_TEXT_MAX = 1 << 20 };

static const struct str unit_homes[] = {STR("/home"), STR("/root"), STR("/run/user")};
static const struct str unit_temporary[] = {STR("/tmp"), STR("/var/tmp")};
static const struct str unit_system[] = {STR("/usr"), STR("/boot"), STR("/efi"), STR("/etc")};
static const struct str unit_kernel[] = {STR("/dev"), STR("/proc"), STR("/sys")};

/* The value of "NAME=VALUE"; "": there is none. */
static struct str unit_property(const struct machine_unit *unit, struct str name)
{
	struct str rest = buffer_view(&unit->text);
	struct str line;

	while (str_split(&rest, '\n', &line))
		if (str_starts_with(line, name) && line.length > name.length &&
		    line.data[name.length] == '=')
			return str_skip(line, name.length + 1);
	return STR("");
}

static bool is_at_or_below(struct str path, struct str place)
{
	if (str_equal(place, STR("/")))
		return true;
	return str_starts_with(path, place) &&
	       (path.length == place.length || path.data[place.length] == '/');
}

static bool is_below_any(struct str path, const struct str *places, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_at_or_below(path, places[i]))
			return true;
	return false;
}

/* The length of the longest path in the list NAME that PATH is at or below; -1: none. */
static ptrdiff_t longest_in(const struct machine_unit *unit, struct str name, struct str path)
{
	struct str rest = unit_property(unit, name);
	ptrdiff_t longest = -1;
	struct str place;

	while (str_split(&rest, ' ', &place)) {
		while (place.length > 0 && (place.data[0] == '-' || place.data[0] == '+'))
			place = str_skip(place, 1); /* "if it is there", "below RootDirectory" */
		while (place.length > 1 && place.data[place.length - 1] == '/')
			place.length--;
		if (place.length > 0 && is_at_or_below(path, place) &&
		    (ptrdiff_t)place.length > longest)
			longest = (ptrdiff_t)place.length;
	}
	return longest;
}

/* --- reading it --- */

/* Whether ExecStart, as systemctl(1) shows it, serves FILE. */
static bool is_unit_serving_file(const struct machine_unit *unit, const char *file,
				 const char *usual)
{
	struct str start = unit_property(unit, STR("ExecStart"));
	bool names_file = false;
	struct str word;

	while (str_split(&start, ' ', &word)) {
		if (!str_equal(word, STR("-c")))
			continue;
		names_file = true;
		if (str_split(&start, ' ', &word) && str_equal(word, str_from(file)))
			return true;
	}
	return !names_file && strcmp(file, usual) == 0;
}

int machine_unit_take(struct str text, const char *file, const char *usual,
		      struct machine_unit *out)
{
	struct machine_unit unit = {{0}};

	buffer_append_str(&unit.text, text);
	if (str_equal(unit_property(&unit, STR("LoadState")), STR("loaded")) &&
	    is_unit_serving_file(&unit, file, usual)) {
		*out = unit;
		return 0;
	}
	machine_unit_clear(&unit);
	return -ENOENT;
}

int machine_unit_read(const char *file, const char *usual, struct machine_unit *out)
{
	static const char *const arguments[] = {
		"/usr/bin/systemctl", "show", MACHINE_UNIT,
		"--property=LoadState,ExecStart,User,Group,ReadWritePaths,ReadOnlyPaths,"
		"InaccessiblePaths,ProtectSystem,ProtectHome,PrivateTmp,AmbientCapabilities",
		NULL};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct os_file_info info;
	int error = os_file_info_behind("/run/systemd/system", &info); /* as sd_booted(3) */

	if (error == 0)
		error = os_process_output(arguments, UNIT_TEXT_MAX, &text);
	return error < 0 ? error : machine_unit_take(buffer_view(&text), file, usual, out);
}

void machine_unit_clear(struct machine_unit *unit)
{
	buffer_clear(&unit->text);
}

/* --- what it says --- */

struct str machine_unit_user(const struct machine_unit *unit)
{
	return unit_property(unit, STR("User"));
}

struct str machine_unit_group(const struct machine_unit *unit)
{
	return unit_property(unit, STR("Group"));
}

uint64_t machine_unit_capabilities(const struct machine_unit *unit)
{
	struct str rest = unit_property(unit, STR("AmbientCapabilities"));
	uint64_t capabilities = 0;
	struct str name;

	while (str_split(&rest, ' ', &name)) {
		if (str_equal(name, STR("cap_dac_override")))
			capabilities |= UINT64_C(1) << CAP_DAC_OVERRIDE;
		if (str_equal(name, STR("cap_dac_read_search")))
			capabilities |= UINT64_C(1) << CAP_DAC_READ_SEARCH;
	}
	return capabilities;
}

/* NULL: nothing hides it. */
static const char *what_hides(const struct machine_unit *unit, struct str path)
{
	struct str home = unit_property(unit, STR("ProtectHome"));

	if (is_below_any(path, unit_homes, COUNT_OF(unit_homes)) &&
	    (str_equal(home, STR("yes")) || str_equal(home, STR("tmpfs"))))
		return "ProtectHome hides it";
	if (is_below_any(path, unit_temporary, COUNT_OF(unit_temporary)) &&
	    str_equal(unit_property(unit, STR("PrivateTmp")), STR("yes")))
		return "PrivateTmp gives it another one";
	return longest_in(unit, STR("InaccessiblePaths"), path) >= 0 ? "InaccessiblePaths hides it"
								     : NULL;
}

/* What makes PATH read-only where no other line says more; NULL: nothing. */
static const char *what_protects(const struct machine_unit *unit, struct str path)
{
	struct str system = unit_property(unit, STR("ProtectSystem"));
	size_t count = str_equal(system, STR("full"))  ? COUNT_OF(unit_system)
		       : str_equal(system, STR("yes")) ? COUNT_OF(unit_system) - 1
						       : 0;

	if (is_below_any(path, unit_homes, COUNT_OF(unit_homes)) &&
	    str_equal(unit_property(unit, STR("ProtectHome")), STR("read-only")))
		return "with ProtectHome, ReadWritePaths must name it";
	if ((str_equal(system, STR("strict")) &&
	     !is_below_any(path, unit_kernel, COUNT_OF(unit_kernel))) ||
	    is_below_any(path, unit_system, count))
		return "with ProtectSystem, ReadWritePaths must name it";
	return NULL;
}

static bool refuse_for(const char *reason, struct buffer *why)
{
	buffer_append_string(why, reason);
	return false;
}

bool machine_unit_allows(const struct machine_unit *unit, struct str path, bool writes,
			 struct buffer *why)
{
	const char *reason = what_hides(unit, path);
	ptrdiff_t writable = longest_in(unit, STR("ReadWritePaths"), path);
	ptrdiff_t read_only = longest_in(unit, STR("ReadOnlyPaths"), path);

	if (reason != NULL)
		return refuse_for(reason, why);
	if (!writes || writable > read_only)
		return true;
	if (read_only >= 0)
		return refuse_for("ReadOnlyPaths names it", why);
	reason = what_protects(unit, path);
	return reason == NULL || refuse_for(reason, why);
}
