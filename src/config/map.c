// SPDX-License-Identifier: ISC
#include "config/map.h"

/* The defaults are attributes of inetOrgPerson (RFC 2798), posixAccount (RFC 2307) and
 * inetLocalMailRecipient (draft-lachman-laser-ldap-mail-routing-02), and others that are common in
 * LDAP directories of mail servers. */
const struct config_map_field_info config_map_fields[CONFIG_MAP_FIELDS] = {
	/* clang-format off */
	[CONFIG_MAP_ADDRESS_KEY] = {"address.key", "mail",
		"the address of a mailbox; further values are aliases of the first"},
	[CONFIG_MAP_ADDRESS_ALIAS] = {"address.alias", "mailAlternateAddress mailLocalAddress",
		"further addresses of the same mailbox, from all of these attributes"},
	[CONFIG_MAP_ADDRESS_TARGET] = {"address.target", "mailForwardingAddress mailRoutingAddress",
		"where its mail is sent instead; its own address: into the mailbox, too"},
	[CONFIG_MAP_ADDRESS_USER] = {"address.user", "uid", "the user whose mailbox it is"},
	[CONFIG_MAP_ADDRESS_MAILBOX] = {"address.mailbox", "",
		"the address that is passed to the service, if it is a different one"},
	[CONFIG_MAP_ADDRESS_SERVICE] = {"address.service", "",
		"the service that delivers; takes precedence over the user's server"},
	[CONFIG_MAP_ADDRESS_QUOTA] = {"address.quota", "mailQuota",
		"the limit of the mailbox, as in the table address"},
	[CONFIG_MAP_ADDRESS_STATE] = {"address.state", "",
		"active, deferred or disabled: whether the address takes mail"},
	[CONFIG_MAP_USER_KEY] = {"user.key", "uid", "the name of a user"},
	[CONFIG_MAP_USER_SERVER] = {"user.server", "mailHost", "the server that has the user's mailboxes"},
	[CONFIG_MAP_USER_NAME] = {"user.name", "displayName cn", "the user's display name"},
	[CONFIG_MAP_USER_PASSWORD] = {"user.password", "userPassword",
		"{CRYPT} and a hash of crypt(5), or a SCRAM key; others cannot be used"},
	[CONFIG_MAP_USER_SEND_AS] = {"user.send_as", "",
				     "addresses as which the user may send, or @DOMAIN"},
	[CONFIG_MAP_USER_STATE] = {"user.state", "",
		"active, deferred or disabled: whether the user's mailboxes accept mail, and the passwords are valid"},
	[CONFIG_MAP_LIST_CLASS] = {"list.class",
		"groupOfNames groupOfUniqueNames rfc822MailGroup mailGroup nisMailAlias",
		"object classes: entries that have one of these, and list.key, are lists"},
	[CONFIG_MAP_LIST_KEY] = {"list.key", "mail", "the address of a list"},
	[CONFIG_MAP_LIST_ALIAS] = {"list.alias", "mailAlternateAddress mailLocalAddress",
		"further addresses of the same list"},
	[CONFIG_MAP_LIST_MEMBER] = {"list.member", "member uniqueMember",
		"members, as names of entries: their present address.key or list.key"},
	[CONFIG_MAP_LIST_TEXT] = {"list.text", "rfc822MailMember mgrpRFC822MailMember",
		"members, as addresses"},
	[CONFIG_MAP_LIST_OWNER] = {"list.owner", "owner",
		"who gets bounces, as the name of an entry or an address; by default postmaster of the domain"},
	[CONFIG_MAP_LIST_VERP] = {"list.verp", "", "yes or no"},
	[CONFIG_MAP_LIST_POST] = {"list.post", "", "anyone, members or owners: who may post to it"},
	[CONFIG_MAP_DOMAIN_CLASS] = {"domain.class", "domainRelatedObject",
		"object classes: entries that have one of these, and domain.key, are domains of ours"},
	[CONFIG_MAP_DOMAIN_KEY] = {"domain.key", "associatedDomain",
		"the name of the domain; dc: the dc components of the entry's name"},
	[CONFIG_MAP_DOMAIN_SERVICE] = {"domain.service", "", "the service for its mailboxes"},
	[CONFIG_MAP_SERVER_KEY] = {"server.key", "", "the name of a server, as in user.server"},
	[CONFIG_MAP_SERVER_SERVICE] = {"server.service", "", "the service that delivers to the server"},
	[CONFIG_MAP_SERVER_ADDRESS] = {"server.address", "", "the server's HOST:PORT"},
	[CONFIG_MAP_NODE_CLASS] = {"node.class", "device ipHost",
		"object classes: entries that have one of these, and node.key, are nodes"},
	[CONFIG_MAP_NODE_KEY] = {"node.key", "", "the name of a node"},
	[CONFIG_MAP_NODE_ADDRESS] = {"node.address", "",
		"HOST:PORT, where the node takes mail of other nodes"},
	[CONFIG_MAP_NODE_GROUP] = {"node.group", "", "the groups that the node is in"},
	[CONFIG_MAP_NODE_WEIGHT] = {"node.weight", "",
		"1 to 100: the node's share among those of a group"},
	[CONFIG_MAP_NODE_STATE] = {"node.state", "",
		"active, draining or away: whether the node takes mail of other nodes"},
	/* clang-format on */
};

enum config_map_field config_map_field_find(struct str name)
{
	unsigned field = 0;

	while (field < CONFIG_MAP_FIELDS &&
	       !str_equal(name, str_from(config_map_fields[field].name)))
		field++;
	return (enum config_map_field)field;
}
