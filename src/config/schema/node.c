// SPDX-License-Identifier: ISC
/* The settings of the sections node and stage: which machine this is, and what others do. */
#include "config/schema/row.h"

/* The files go together, and are required where mail goes to other nodes or comes from them. */
static void check_node_file(const struct config_row_check *check, const char *value)
{
	bool is_needed = config_has_nodes(check->config);

	config_complain_if(check, is_needed && value != NULL && *value == '\0',
			   "must be set: nodes show each other who they are", "an absolute path");
}

static void check_node_certificate(const struct config_row_check *check)
{
	check_node_file(check, ((const struct config_node *)check->base)->certificate);
}

static void check_node_key(const struct config_row_check *check)
{
	check_node_file(check, ((const struct config_node *)check->base)->key);
}

static void check_node_authority(const struct config_row_check *check)
{
	check_node_file(check, ((const struct config_node *)check->base)->authority);
}

static void check_node_listen(const struct config_row_check *check)
{
	const struct config_node *node = check->base;
	bool is_unix = false;

	for (size_t i = 0; i < node->listen_count; i++)
		is_unix |= node->listens[i].port == 0;
	config_complain_if(check, is_unix, "a UNIX socket, at which no other machine is",
			   "IPV4:PORT, [IPV6]:PORT");
}

const struct config_setting config_schema_node[] = {
	SETTING(NODE, "name", node_name, AT(config_node, name), INITIAL(""), OF_MACHINE,
		MEANING("The name of this node: its record in the directory's table node, and its "
			"certificate, have it. Empty: setting hostname.")),
	SETTING(NODE, "listen", endpoints, LIST(config_node, listens, listen_count), INITIAL(""),
		CHECK(check_node_listen), OF_MACHINE,
		MEANING("The addresses at which other nodes hand mail over, by TLS, with a "
			"certificate that has the name of a record of the table node. Without "
			"this setting none is taken from others.")),
	SETTING(NODE, "certificate", optional_path, AT(config_node, certificate), INITIAL(""),
		RANGE(0, 4000), CHECK(check_node_certificate), OF_MACHINE,
		MEANING("The file, in PEM form, of this node's certificate, followed by the "
			"intermediate certificates.")),
	SETTING(NODE, "key", optional_path, AT(config_node, key), INITIAL(""), RANGE(0, 4000),
		CHECK(check_node_key), OF_MACHINE,
		MEANING("The file of the certificate's private key.")),
	SETTING(NODE, "authority", optional_path, AT(config_node, authority), INITIAL(""),
		RANGE(0, 4000), CHECK(check_node_authority),
		MEANING("The file of the authorities that must have signed the certificates of "
			"other nodes.")),
	SETTING(NODE, "doubt", duration, AT(config_node, doubt_us), INITIAL("10m"),
		RANGE(1, 7 * 86400),
		MEANING("How long mail waits for a node that cannot be reached and may have it "
			"already. After that another node gets it, which is logged; recipients "
			"may get it twice then.")),

	SETTING(STAGE, "nodes", node_group, AT(config_stage, nodes), INITIAL(""),
		MEANING("The group of nodes that look up the recipients, to which mail is handed "
			"over; empty, or a group that this node is in: this one does.")),
};

const size_t config_schema_node_count = COUNT_OF(config_schema_node);
