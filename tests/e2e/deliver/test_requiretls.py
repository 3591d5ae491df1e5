# SPDX-License-Identifier: ISC
"""What a message's sender wants of TLS (RFC 8689): REQUIRETLS goes with the message to the next host
or the message goes nowhere; "TLS-Required: No" prefers delivery."""

import pytest
from peers import Postfix
from stagepost import free_port, wait_until
from tls_in import HOST, Certificates, context_for, session_with

MESSAGE = b"From: <lisa@x.test>\r\nSubject: for your eyes\r\n\r\nthe text\r\n"


@pytest.fixture(scope="module")
def certificates(ground):
    return Certificates(ground.directory("certificates"), f"loopback-{HOST}", "wrong.test")


@pytest.fixture
def first(node, certificates):
    """A node that sends mail for other domains to the port that it is given."""
    def make(port, settings="", **options):
        return node("first", routes=[f":127.0.0.1;{port}"],
                    settings=certificates.section(f"loopback-{HOST}") +
                    f'tls_authorities = "{certificates.authority}"\n' + settings, **options)
    return make


def send(mx, certificates, parameter, recipient, message=MESSAGE, sender="anna@a.test"):
    with session_with(mx, context_for(certificates)) as client:
        assert client.has_extn("requiretls")
        assert client.docmd(f"MAIL FROM:<{sender}>{parameter}")[0] == 250
        assert client.docmd(f"RCPT TO:<{recipient}>")[0] == 250
        assert client.data(message)[0] == 250


def test_it_goes_with_the_message(node, first, certificates):
    """From host to host, whose certificate is then verified."""
    second = node("second", domains=("b.test",), hostname="second.stagepost.test",
                  settings=certificates.section(f"loopback-{HOST}") +
                  "transport maildir { paused = yes }\n")
    mx = first(second.port)
    for parameter in (" REQUIRETLS", ""):
        send(mx, certificates, parameter, "bob@b.test")
    delivered = mx.log.wait("delivered", count=2, to="bob@b.test")
    assert sorted(event["policy"] for event in delivered) == ["may", "verify"], delivered
    wait_until(lambda: len(second.control_files()) == 2, "both are there")
    assert sorted("requiretls" in text for text in second.control_files().values()) == [False, True]


def test_it_is_kept(first, certificates):
    mx = first(1, settings="transport remote { paused = yes }\n")
    send(mx, certificates, " REQUIRETLS", "bob@b.test")
    wait_until(lambda: any("requiretls" in text for text in mx.control_files().values()),
               "the control file says it")


def test_a_host_that_does_not_know_it(first, certificates, ground):
    """Postfix offers TLS, with the right certificate, but not REQUIRETLS: the message comes back,
    without its text, and asks for the same."""
    with Postfix(ground.directory("postfix"),
                 certificate=certificates.path(f"loopback-{HOST}")) as postfix:
        mx = first(postfix.port)
        send(mx, certificates, " REQUIRETLS", "bob@postfix.test")
        failed = mx.log.wait("failed", to="bob@postfix.test")
        assert failed["status"] == "5.7.30", failed
        report = mx.maildir("anna@a.test").wait()[0]
        assert b"5.7.30" in report and b"for your eyes" in report and b"the text" not in report
        assert not postfix.maildir("bob@postfix.test").files()
        send(mx, certificates, "", "bob@postfix.test")
        postfix.maildir("bob@postfix.test").wait()


def test_a_host_that_is_another(node, first, certificates):
    """Its certificate is for another name: the message waits."""
    second = node("second", domains=("b.test",), settings=certificates.section("wrong.test"))
    mx = first(second.port)
    send(mx, certificates, " REQUIRETLS", "bob@b.test")
    assert mx.log.wait("deferred", to="bob@b.test")["status"].startswith("4.7.")
    assert not second.maildir("bob@b.test").files()


def test_a_host_without_tls(node, first, certificates):
    second = node("second", domains=("b.test",))
    mx = first(second.port)
    send(mx, certificates, " REQUIRETLS", "bob@b.test")
    assert mx.log.wait("deferred", to="bob@b.test")["status"].startswith("4.7.")
    assert not second.maildir("bob@b.test").files()


@pytest.mark.parametrize("is_protected", [True, False])
def test_its_report_is_protected_as_well(node, first, certificates, is_protected):
    """A sender elsewhere gets the report as his message was to be sent, or not at all."""
    second = node("second", domains=("b.test",), settings="transport maildir { paused = yes }\n" +
                  (certificates.section(f"loopback-{HOST}") if is_protected else ""))
    mx = first(second.port, settings="queuelifetime = 0\n")
    mx.routes.insert(0, f"gone.test:127.0.0.1;{free_port()}")
    mx.write_configuration()
    mx.reload()
    send(mx, certificates, " REQUIRETLS", "bob@gone.test", sender="anna@b.test")
    mx.log.wait("failed", to="bob@gone.test")
    if not is_protected:
        assert mx.log.wait("failed", to="anna@b.test")["status"].startswith(("4.7.", "5.7.", "5.4.7"))
        assert not second.log.find("message_accepted")
        return
    assert mx.log.wait("delivered", to="anna@b.test")["policy"] == "verify"
    wait_until(second.control_files, "the report is there")
    (control,) = second.control_files().values()
    assert "from: <>" in control and "requiretls" in control
