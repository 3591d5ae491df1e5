# SPDX-License-Identifier: ISC
"""dist/certificate-hook: a renewed certificate is whole, private and taken up; a wrong one changes nothing."""

import os
import stat
import subprocess

import pytest
from directory_tls import make_certificates
from stagepost import PATIENCE, ROOT, is_root

HOOK = f"{ROOT}/dist/certificate-hook"
NAME = "mx.example.org"

pytestmark = pytest.mark.skipif(not is_root(), reason="only root can give a key to a group")


def hook(folder, *words, **environment):
    return subprocess.run([HOOK, *words], capture_output=True, text=True, check=False, timeout=PATIENCE,
                          env={"PATH": os.environ["PATH"], "STAGEPOST_TLS": f"{folder}/tls",
                               "STAGEPOST_KEYS_GROUP": "games"} | environment)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
    """What certbot and lego have of the name."""
    make_certificates(str(tmp_path), NAME)
    live = tmp_path / "live" / NAME
    live.mkdir(parents=True)
    (live / "fullchain.pem").symlink_to(f"../../{NAME}.pem")  # as certbot has them
    (live / "privkey.pem").symlink_to(f"../../{NAME}.key")
    return tmp_path


def ways(folder):
    """How it is called: (words, environment)."""
    return {
        "certbot": ([], {"RENEWED_LINEAGE": f"{folder}/live/{NAME}", "RENEWED_DOMAINS": f"{NAME} a.{NAME}"}),
        "lego": ([], {"LEGO_CERT_DOMAIN": NAME, "LEGO_CERT_PATH": f"{folder}/{NAME}.pem",
                      "LEGO_CERT_KEY_PATH": f"{folder}/{NAME}.key"}),
        "by hand": ([NAME, f"{folder}/{NAME}.pem", f"{folder}/{NAME}.key"], {}),
    }


@pytest.mark.parametrize("way", ("certbot", "lego", "by hand"))
def test_a_certificate_is_given(folder, way):
    words, environment = ways(folder)[way]
    for _ in range(2):  # the first, and a renewal
        ended = hook(folder, *words, **environment)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    for suffix, mode in (("pem", 0o644), ("key", 0o640)):
        made = folder / "tls" / f"{NAME}.{suffix}"
        assert made.read_bytes() == (folder / f"{NAME}.{suffix}").read_bytes()
        assert stat.S_IMODE(made.stat().st_mode) == mode
    assert made.group() == "games"
    assert sorted(os.listdir(folder / "tls")) == [f"{NAME}.key", f"{NAME}.pem"]


@pytest.mark.parametrize("change, reason", (
    (lambda folder: (folder / f"{NAME}.key").unlink(), f"/{NAME}.key is not there, or empty"),
    (lambda folder: (folder / f"{NAME}.pem").write_text(""), f"/{NAME}.pem is not there, or empty"),
    (lambda folder: (folder / f"{NAME}.pem").write_bytes(b"\x30\x82"), f"/{NAME}.pem is not in PEM form"),
))
def test_what_is_wrong_changes_nothing(folder, change, reason):
    words, environment = ways(folder)["by hand"]
    assert hook(folder, *words, **environment).returncode == 0
    before = {name: (folder / "tls" / name).read_bytes() for name in os.listdir(folder / "tls")}
    change(folder)
    ended = hook(folder, *words, **environment)
    assert ended.returncode == 1 and reason in ended.stderr, ended.stderr
    assert {name: (folder / "tls" / name).read_bytes() for name in os.listdir(folder / "tls")} == before


@pytest.mark.parametrize("words, environment, reason", (
    ([], {}, "neither certbot (RENEWED_LINEAGE) nor lego (LEGO_CERT_PATH) says what is new"),
    (["one"], {}, "usage: "),
    (["../x", "/etc/passwd", "/etc/passwd"], {}, "'../x' is no name of a file"),
))
def test_who_calls_it_wrongly_is_told(folder, words, environment, reason):
    ended = hook(folder, *words, **environment)
    assert ended.returncode == 1 and reason in ended.stderr, ended.stderr


def test_a_group_that_is_not_there(folder):
    words, environment = ways(folder)["by hand"]
    ended = hook(folder, *words, **(environment | {"STAGEPOST_KEYS_GROUP": "nobody-knows"}))
    assert ended.returncode == 1 and "there is no group nobody-knows" in ended.stderr, ended.stderr
    assert not os.listdir(folder / "tls")
