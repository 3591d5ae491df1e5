# SPDX-License-Identifier: ISC
"""An outage of the directory's data, with many questions and changes: what the log has of it."""


def is_told_once(client, log, away, back, which):
    """AWAY() takes the addresses from the data and BACK() returns them, twice. CLIENT asks all the
    time; each outage is one line for reading and one for changing, that have the field WHICH."""
    for outage in range(1, 3):
        assert client.ask("put", "address", f"u{outage}@example.org", "kind mailbox")[0] == "ok"
        assert client.ask("get", "address", f"u{outage}@example.org")[0] == "val"
        away()
        for number in range(20):
            assert client.ask("get", "address", f"a{number}@example.org")[0] == "err"
            assert client.ask("put", "address", f"a{number}@example.org", "kind mailbox")[0] == "err"
        back()
        assert client.ask("get", "address", f"u{outage}@example.org")[0] == "val"
        assert client.ask("get", "address", "a1@example.org")[0] == "none"
        log.wait("store_error", count=2 * outage)
        told = [event[which] for event in log.find("store_error")]
        assert len(told) == 2 * outage and told.count("change") == outage, told
