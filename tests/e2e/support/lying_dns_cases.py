# SPDX-License-Identifier: ISC
"""Domains whose name server lies: its answers, and what the search for their exchangers must
end with."""

from dataclasses import dataclass

from lying_dns import (A, AAAA, CNAME, FORMERR, MX, NO_DATA, NO_NAME, NOTIMP, NS, QUESTION,
                       REFUSED, SERVFAIL, TRUNCATED, TXT, Answer, Raw, a, aaaa, labels, mx, record)

LATER, NO_HOST, OURS, REFUSES, NO_DOMAIN = "4.4.3 ", "5.4.4 ", "5.4.6 ", "5.1.10 ", "5.1.2 "
BROKEN = (LATER, NO_HOST)  # as the resolver library likes; nothing is connected to
SILENT = 50  # names about which nothing is ever said
GOOD = Answer(a("192.0.2.1"))
TO_GOOD = b"\0\x0a" + labels("mx.good.test")
LONG = ".".join(["l" * 63] * 3 + ["l" * 56, "test"])  # 253 bytes, 255 as transmitted


@dataclass
class Case:
    """ANSWERS: see LyingServer. WANTED: how the result begins, one of them; COUNT: how many
    addresses are in it."""
    name: str
    answers: dict
    wanted: tuple
    count: int = 1


def domain_of(name):
    return name.replace("_", "-").lower() + ".test"


def answers_of(cases):
    return {question: answer for case in cases for question, answer in case.answers.items()} | \
        {(f"silent{number}.silent.test", kind): None
         for number in range(SILENT) for kind in (MX, A, AAAA)}


# --- answers to the question for MX records ---

EXCHANGERS = {
    "good": (Answer([mx(10, "mx.good.test")]), ("mx.good.test=192.0.2.1",)),
    "silent": (None, (LATER,)),
    "wrong_id": (Answer([mx(10, "mx.good.test")], other_id=1), (LATER,)),
    "servfail": (Answer(code=SERVFAIL), (LATER,)),
    "refused": (Answer(code=REFUSED), (LATER,)),
    "notimp": (Answer(code=NOTIMP), (LATER,)),
    "formerr": (Answer(code=FORMERR), (LATER,)),
    "code_15": (Answer(code=15), (LATER,)),
    "cname_to_itself": (Answer([record(CNAME, labels("cname-to-itself.test"))]), (LATER,)),
    "referral": (Answer(authority=[record(NS, labels("ns.referral.test"))]), BROKEN),
    "referral_to_itself": (Answer(authority=[record(NS, QUESTION)]), BROKEN),
    "other_name": (Answer([record(MX, TO_GOOD, name=labels("elsewhere.test"))]), BROKEN),
    "other_type": (Answer([record(TXT, b"\x01a")]), BROKEN),
    "other_question": (Answer(question=labels("elsewhere.test") + b"\0\x0f\0\1"), (LATER,)),
    "no_question": (Answer(counts=[0, 0, 0, 0], question=b""), (LATER,)),
    "many_promised": (Answer([mx(10, "mx.good.test")], counts=[1, 65535, 0, 0]), (LATER,)),
    "empty": (Raw(), (LATER,)),
    "header_only": (Raw(tail=b"\x81\x80\0\1\0\1\0\0\0\0"), (LATER,)),
    "zeroes": (Raw(tail=bytes(500)), (LATER,)),
    "ones": (Raw(tail=b"\xff" * 500), (LATER,)),
    "truncated": ((TRUNCATED, Answer([mx(10, "mx.good.test")])), ("mx.good.test=",)),
    "truncated_for_ever": ((TRUNCATED, TRUNCATED), (LATER,)),
    "truncated_no_tcp": ((TRUNCATED, None), (LATER,)),
    "null_mx": (Answer([mx(0, b"\0")]), (REFUSES,)),
    "null_mx_50": (Answer([mx(50, b"\0")]), (REFUSES,)),
    "null_mx_and_other": (Answer([mx(0, b"\0"), mx(10, "mx.good.test")]), ("mx.good.test=",)),
    "no_name": (NO_NAME, (NO_DOMAIN,)),
    "mx_of_a_byte": (Answer([record(MX, b"\0")]), BROKEN),
    "mx_without_name": (Answer([record(MX, b"\0\x0a")]), BROKEN),
    "mx_too_short": (Answer([record(MX, TO_GOOD, length=5)]), BROKEN),
    "mx_too_long": (Answer([record(MX, TO_GOOD, length=500)]), BROKEN),
    "mx_with_more": (Answer([record(MX, TO_GOOD + b"more")]), BROKEN),
    "name_with_crlf": (Answer([mx(10, b"a\r\nb.test")]), (NO_HOST,)),
    "name_with_space": (Answer([mx(10, b"a b.test")]), (NO_HOST,)),
    "name_with_nul": (Answer([mx(10, b"\3a\0b\4test\0")]), (NO_HOST,)),
    "name_with_dot": (Answer([mx(10, b"\3a.b\4test\0")]), (NO_HOST,)),
    "name_with_high": (Answer([mx(10, b"\xff\xfe.test")]), (NO_HOST,)),
    "name_with_format": (Answer([mx(10, b"%s%n.test")]), (NO_HOST,)),
    "name_with_shell": (Answer([mx(10, b"$(id)`id`.test")]), (NO_HOST,)),
    "name_with_path": (Answer([mx(10, b"../../x.test")]), (NO_HOST,)),
    "name_is_address": (Answer([mx(10, b"127.0.0.1")]), (NO_HOST,)),
    "name_odd_and_good": (Answer([mx(0, b"a b.test"), mx(10, "mx.good.test")]), ("mx.good.test=",)),
    "name_of_255_bytes": (Answer([mx(10, LONG)]), (f"{LONG}=192.0.2.1",)),
    "name_of_256_bytes": (Answer([mx(10, b"l" + LONG.encode())]), BROKEN),
    "itself": (Answer([mx(10, "itself.test")]), (NO_HOST,)),
    "mx_to_cname": (Answer([mx(10, "alias.good.test")]), ("alias.good.test=192.0.2.1",)),
    "mx_to_cname_loop": (Answer([mx(10, "loop1.good.test")]), (LATER,)),
    "mx_to_missing": (Answer([mx(10, "missing.good.test")]), (NO_HOST,)),
    "mx_to_silent": (Answer([mx(10, "silent0.silent.test")]), (LATER,)),
    "huge_text": ((TRUNCATED, Answer([mx(10, "mx.good.test")], additional=[
        record(TXT, (b"\xff" + b"t" * 255) * 10) for _ in range(20)])), ("mx.good.test=",)),
    "text_in_answer": (Answer([record(TXT, b"\x01a"), mx(10, "mx.good.test")]), ("mx.good.test=",)),
    "exchangers_1000": ((TRUNCATED, Answer([mx(n, f"mx{n % 20}.good.test") for n in range(1000)])),
                        ("mx0.good.test=192.0.2.1 ",), 10),
    "exchangers_1000_missing": ((TRUNCATED, Answer([mx(n, f"none{n}.good.test")
                                                    for n in range(1000)])), (NO_HOST,)),
    "exchangers_1000_ours": ((TRUNCATED, Answer([mx(n, "here.good.test") for n in range(1000)])),
                             (OURS,)),
}
POINTERS = {"itself": b"\xc0\x0c", "ahead": b"\xc0\xff", "loop": b"\x01a\xc0\x2b", "cut": b"\xc0",
            "long_label": b"\x7f" + b"a" * 127 + b"\0", "cut_label": b"\x20abc",
            "no_end": b"\x01a", "reserved": b"\x80a\0"}
EXCHANGERS |= {f"pointer_{kind}": (Answer([record(MX, b"\0\x0a" + name)]), BROKEN)
               for kind, name in POINTERS.items()}
NAMES = {
    ("mx.good.test", A): GOOD, (LONG, A): GOOD, ("here.good.test", A): Answer(a("127.0.0.1")),
    ("alias.good.test", A): Answer([record(CNAME, labels("mx.good.test")),
                                    record(A, b"\xc0\0\2\1", name=labels("mx.good.test"))]),
    **{(f"mx{n}.good.test", A): GOOD for n in range(20)},
    **{(f"loop{n}.good.test", kind): Answer([record(CNAME, labels(f"loop{3 - n}.good.test"))])
       for n in (1, 2) for kind in (A, AAAA)},
}

# --- addresses that mail is not sent to ---

ADDRESSES = {
    "loopback": ("127.0.0.1", OURS), "loopback_other": ("127.8.9.10", OURS),
    "unspecified": ("0.0.0.0", OURS), "this_network": ("0.1.2.3", OURS),
    "multicast": ("224.0.0.1", NO_HOST), "reserved": ("240.0.0.1", NO_HOST),
    "broadcast": ("255.255.255.255", NO_HOST), "link_local": ("169.254.169.254", NO_HOST),
    "ours": ("192.0.2.254", OURS), "loopback6": ("::1", OURS), "unspecified6": ("::", OURS),
    "multicast6": ("ff02::1", NO_HOST), "link_local6": ("fe80::1", NO_HOST),
    "link_local6_last": ("febf::1", NO_HOST), "mapped_loopback": ("::ffff:127.0.0.1", OURS),
    "mapped_unspecified": ("::ffff:0.0.0.0", OURS),
    "mapped_link_local": ("::ffff:169.254.1.1", NO_HOST),
    "mapped_ours": ("::ffff:192.0.2.254", OURS), "compatible_loopback": ("::127.0.0.1", OURS),
    "translated_loopback": ("64:ff9b::127.0.0.1", OURS), "6to4_loopback": ("2002:7f00:1::1", OURS),
}

# --- answers to the question for addresses ---

HOSTS = {
    "ttl_zero": (Answer([record(A, b"\xc0\0\2\1", ttl=0)]), None),
    "ttl_largest": (Answer([record(A, b"\xc0\0\2\1", ttl=0xffffffff)]), None),
    "of_3_bytes": (Answer([record(A, b"\xc0\0\2")]), BROKEN),
    "of_5_bytes": (Answer([record(A, b"\xc0\0\2\1\1")]), BROKEN),
    "of_16_bytes": (Answer([record(A, b"\x20\1" + bytes(13) + b"\1")]), BROKEN),
    "of_0_bytes": (Answer([record(A, b"")]), BROKEN),
    "addresses_none": (NO_DATA, (NO_HOST,)),
    "addresses_servfail": (Answer(code=SERVFAIL), (LATER,)),
    "addresses_1000": ((TRUNCATED, Answer(a(*[f"198.51.{100 + n // 250}.{n % 250 + 1}"
                                              for n in range(1000)]))), None, 5),
}


def cases():
    for name, (answer, wanted, *count) in EXCHANGERS.items():
        yield Case(name, {(domain_of(name), MX): answer}, wanted, *count)
    for name, (address, wanted) in ADDRESSES.items():
        host = f"mx.{domain_of(name)}"
        kind, made = (AAAA, aaaa) if ":" in address else (A, a)
        yield Case(name, {(domain_of(name), MX): Answer([mx(10, host)]),
                          (host, kind): Answer(made(address))}, (wanted,))
    for name, (answer, wanted, *count) in HOSTS.items():
        host = f"mx.{domain_of(name)}"
        yield Case(name, {(domain_of(name), MX): Answer([mx(10, host)]), (host, A): answer},
                   wanted or (f"{host}=",), *count)


CASES = list(cases())
CASES[0].answers |= NAMES
