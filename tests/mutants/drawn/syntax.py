# SPDX-License-Identifier: ISC
"""Finds in the syntax of a C file the slips that may be drawn: libclang says where expressions and statements are
and of which types; the text between them says the rest.

What a macro makes is left alone: only what the file itself says, between its own brackets, can be slipped in.
"""
import dataclasses
import hashlib
import re

from clang import cindex
from clang.cindex import CursorKind as Kind, TypeKind

VALUE = "({slip} ? ({new}) : ({old}))"
ALWAYS = "({slip} || ({old}))"
NEVER = "(!{slip} && ({old}))"
WITHOUT = "{{ if (!{slip}) {old} }}"
MARK = "(void){slip};"  # no slip: where a function begins
ENTRY = "entry"  # its kind

KINDS = {
    "turned": "a comparison is the opposite one, or a ! is gone",
    "bound": "a bound is wrong by one: < for <=, or one more or less",
    "constant": "a number is one more or less, true is false",
    "arithmetic": "+ is -, * is /",
    "logic": "&& is ||, or one side of it is gone",
    "never": "a branch is never taken",
    "always": "a branch is always taken",
    "call": "a call is not made, and what it would have returned is 0",
    "freed": "what frees, closes, removes or stops something is not called",
    "reset": "a field is not set to a constant: what it was before stays",
    "assignment": "a variable or field is not assigned, or not counted up or down",
    "jump": "a break, continue or early return is gone",
    "success": "an error is returned as 0",
    "swapped": "two arguments of the same type are swapped",
}
TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
BOUND = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*"}
LOGIC = {"&&": "||", "||": "&&"}
ENDS = re.compile(r"(^|_)(free|clear|close|destroy|end|release|remove|unlink|cancel|stop|drop|forget|wipe|disable)"
                  r"(_|$)")
CONSTANT = re.compile(r"(?:-?\s*[0-9]\w*|NULL|true|false|[A-Z][A-Z0-9_]*|\(.*\)\s*\{.*\}|\"\"|'.*')$", re.S)
NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)$")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
NAME = re.compile(r"[A-Za-z_]\w*$")
UNTOUCHED = (Kind.CXX_UNARY_EXPR, Kind.STRUCT_DECL, Kind.ENUM_DECL, Kind.UNION_DECL, Kind.TYPEDEF_DECL,
             Kind.GENERIC_SELECTION_EXPR, Kind.ASM_STMT, Kind.TYPE_REF)
LOOPS = (Kind.WHILE_STMT, Kind.DO_STMT, Kind.FOR_STMT)
JUMPS = (Kind.BREAK_STMT, Kind.CONTINUE_STMT)
INTEGERS = (TypeKind.INT, TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG, TypeKind.ULONGLONG,
            TypeKind.SHORT, TypeKind.USHORT, TypeKind.SCHAR, TypeKind.UCHAR, TypeKind.CHAR_S, TypeKind.CHAR_U)
# the same either way round: so many of a size; whether two are equal; whether there is no difference
SYMMETRIC = ("calloc", "memory_alloc_zero", "str_equal", "str_equal_nocase", "os_socket_address_is_equal")
DIFFERENCES = ("strcmp", "strncmp", "strcasecmp", "strncasecmp", "memcmp")
IS_NONE = re.compile(r"\s*[!=]= 0\b")
STATUS = (TypeKind.INT, TypeKind.LONG)  # of which negative ones are errors


@dataclasses.dataclass(frozen=True)
class Slip:
    file: str  # below the project
    function: str
    kind: str
    old: str  # what stands there
    new: str  # what is there instead
    form: str  # how both are in one text
    start: int  # bytes into the file
    end: int
    line: int
    occurrence: int = 1  # of the same in its function

    @property
    def identity(self):
        """What it is, wherever its lines are."""
        return (f"{self.file} {self.function} {self.kind} {self.occurrence}: "
                f"{in_one_line(self.old)} => {in_one_line(self.new) or 'nothing'}")

    @property
    def digest(self):
        return hashlib.sha256(self.identity.encode()).hexdigest()[:12]

    @property
    def folder(self):
        return self.file.split("/")[1]


def in_one_line(text):
    return " ".join(COMMENT.sub(" ", text).split())


class Finder:
    """The slips of one file."""

    def __init__(self, name, data, unit):
        self.name, self.data = name, data
        self.found, self.function, self.returns_status, self.entries = {}, "", False, []
        self.macros = [(cursor.extent.start.offset, cursor.extent.end.offset)
                       for cursor in unit.cursor.get_children()
                       if cursor.kind == Kind.MACRO_INSTANTIATION and self.is_here(cursor)]
        for cursor in unit.cursor.get_children():
            if cursor.kind == Kind.FUNCTION_DECL and cursor.is_definition() and self.is_here(cursor):
                self.function = cursor.spelling
                self.returns_status = cursor.result_type.get_canonical().kind in STATUS
                for part in cursor.get_children():
                    if part.kind == Kind.COMPOUND_STMT:
                        self.note_entry(part)
                        self.visit(part)

    @staticmethod
    def is_here(cursor):
        file = cursor.location.file
        return file is not None and file.name == cursor.translation_unit.spelling

    def text(self, start, end):
        return self.data[start:end].decode(errors="surrogateescape")

    @staticmethod
    def place(cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def text_of(self, cursor):
        return self.text(*self.place(cursor))

    def is_own(self, start, end):
        """Nothing of it is made by a macro of which it is only a part."""
        return start < end and not any(
            (first < start < last or first < end < last) or (first <= start and end <= last and (first, last) != (start, end))
            for first, last in self.macros)

    def note_slip(self, place, kind, new, form=VALUE):
        start, end = place
        if self.is_own(start, end):
            line = self.data.count(b"\n", 0, start) + 1
            slip = Slip(self.name, self.function, kind, self.text(start, end), new, form, start, end, line)
            self.found.setdefault((start, end, kind, new), slip)

    def note_entry(self, body):
        start, end = self.place(body)
        if self.data[start:start + 1] == b"{" and self.data[start + 1:end - 1].strip():
            self.entries.append(Slip(self.name, self.function, ENTRY, "", "", MARK, start + 1, start + 1, 0))

    def visit(self, cursor):
        if cursor.kind in UNTOUCHED:
            return
        seen = VISITS.get(cursor.kind)
        if seen:
            seen(self, cursor)
        for part in self.parts(cursor):
            self.visit(part)

    def parts(self, cursor):
        """The children that may be slipped in."""
        parts = list(cursor.get_children())
        if cursor.kind == Kind.CASE_STMT:
            return parts[-1:]
        if cursor.kind == Kind.VAR_DECL:
            if cursor.storage_class.name == "STATIC" or not parts:
                return []
            before = COMMENT.sub(" ", self.text(cursor.location.offset, parts[-1].extent.start.offset))
            return parts[-1:] if before.rstrip().endswith("=") else []
        if cursor.kind == Kind.INIT_LIST_EXPR and cursor.type.kind == TypeKind.CONSTANTARRAY:
            return []
        return parts

    def statements(self, cursor):
        """The statements that a statement has, each with the place of its end."""
        parts = list(cursor.get_children())
        bodies = {Kind.COMPOUND_STMT: parts, Kind.IF_STMT: parts[1:], Kind.WHILE_STMT: parts[1:], Kind.DO_STMT: parts[:1],
                  Kind.FOR_STMT: parts[-1:], Kind.CASE_STMT: parts[-1:], Kind.DEFAULT_STMT: parts[-1:],
                  Kind.LABEL_STMT: parts[-1:]}
        return bodies.get(cursor.kind, [])

    def place_of_statement(self, cursor):
        """With its semicolon; None if it has none."""
        start, end = self.place(cursor)
        if cursor.kind in (Kind.COMPOUND_STMT, Kind.IF_STMT, Kind.FOR_STMT, Kind.WHILE_STMT):
            return start, end
        semicolon = re.match(rb"(\s|/\*.*?\*/)*;", self.data[end:], re.S)
        return (start, end + semicolon.end()) if semicolon else None

    def visit_body(self, cursor):
        for statement in self.statements(cursor):
            kind = self.kind_of_statement(statement)
            place = kind and self.place_of_statement(statement)
            if place:
                self.note_slip(place, kind, "", WITHOUT)

    def kind_of_statement(self, cursor):
        """Which slip it is to leave it out."""
        if cursor.kind == Kind.UNEXPOSED_EXPR or cursor.kind == Kind.CSTYLE_CAST_EXPR:
            parts = list(cursor.get_children())
            return self.kind_of_statement(parts[-1]) if parts else None
        if cursor.kind == Kind.CALL_EXPR:
            return "freed" if ENDS.search(cursor.spelling or "") else "call"
        if cursor.kind == Kind.BINARY_OPERATOR:
            left, right = list(cursor.get_children())
            if self.operator(cursor, left, right) != "=":
                return None
            is_field = left.kind in (Kind.MEMBER_REF_EXPR, Kind.ARRAY_SUBSCRIPT_EXPR) or self.text_of(left).startswith("*")
            return "reset" if is_field and CONSTANT.match(self.text_of(right)) else "assignment"
        if cursor.kind == Kind.COMPOUND_ASSIGNMENT_OPERATOR:
            return "assignment"
        if cursor.kind == Kind.UNARY_OPERATOR:
            text = self.text_of(cursor)
            return "assignment" if text.startswith(("++", "--")) or text.endswith(("++", "--")) else None
        if cursor.kind in JUMPS or (cursor.kind == Kind.RETURN_STMT and not list(cursor.get_children())):
            return "jump"
        return None

    def visit_if(self, cursor):
        self.visit_body(cursor)
        parts = list(cursor.get_children())
        if self.place(parts[0]) == self.place(cursor):
            return
        self.note_slip(self.place(parts[0]), "never", "false", NEVER)
        self.note_slip(self.place(parts[0]), "always", "true", ALWAYS)

    def visit_choice(self, cursor):
        condition = next(cursor.get_children())
        if self.place(condition) == self.place(cursor):
            return  # a macro makes the choice as a whole, which is no condition
        self.note_slip(self.place(condition), "never", "false", NEVER)
        self.note_slip(self.place(condition), "always", "true", ALWAYS)

    def operator(self, cursor, left, right):
        """What stands between its sides; "" if a macro has it."""
        (start, middle), (later, end) = self.place(left), self.place(right)
        if not start < middle <= later < end or (start, end) != self.place(cursor):
            return ""
        return COMMENT.sub(" ", self.text(middle, later)).strip()

    def visit_operator(self, cursor):
        left, right = list(cursor.get_children())
        operator, place = self.operator(cursor, left, right), self.place(cursor)
        first, second = self.text_of(left), self.text_of(right)
        if operator in TURNED:
            self.note_slip(place, "turned", f"{first} {TURNED[operator]} {second}")
        if operator in BOUND:
            self.note_slip(place, "bound", f"{first} {BOUND[operator]} {second}")
            if not NUMBER.match(second):  # which is a constant that may be one more or less
                self.note_slip(place, "bound", f"{first} {operator} ({second}) {'+' if operator in ('<=', '>') else '-'} 1")
        elif operator in ARITHMETIC and all(self.is_integer(side) for side in (left, right)):
            self.note_slip(place, "arithmetic", f"{first} {ARITHMETIC[operator]} {second}")
        elif operator in LOGIC:
            for new in (f"{first} {LOGIC[operator]} {second}", first, second):
                self.note_slip(place, "logic", new)

    @staticmethod
    def is_integer(cursor):
        return cursor.type.get_canonical().kind in INTEGERS

    def visit_unary(self, cursor):
        text = self.text_of(cursor)
        if text.startswith("!"):
            self.note_slip(self.place(cursor), "turned", f"!!{text[1:]}")

    def visit_number(self, cursor):
        match = NUMBER.match(self.text_of(cursor))
        if not match:
            return
        value = int(match[1], 16 if match[1][:2] in ("0x", "0X") else 8 if match[1][0] == "0" else 10)
        for near in (value + 1, value - 1):
            if near >= 0:
                self.note_slip(self.place(cursor), "constant", f"{near}{match[2]}")

    def visit_call(self, cursor):
        place, arguments = self.place(cursor), list(cursor.get_arguments())
        if not NAME.match(cursor.spelling or "") or not self.text_of(cursor).startswith(cursor.spelling):
            return
        if cursor.type.get_canonical().kind == TypeKind.INT:
            self.note_slip(place, "call", "0")
        is_symmetric = cursor.spelling in SYMMETRIC or (
            cursor.spelling in DIFFERENCES and IS_NONE.match(self.text(place[1], place[1] + 8)))
        for left, right in zip(arguments, [] if is_symmetric else arguments[1:]):
            self.swap_arguments(cursor, left, right)

    def swap_arguments(self, call, left, right):
        (begin, end), (first, middle), (later, last) = map(self.place, (call, left, right))
        one, two = self.text(first, middle), self.text(later, last)
        same = left.type.get_canonical().spelling == right.type.get_canonical().spelling
        if same and one != two and begin < first < middle < later < last < end:
            self.note_slip((begin, end), "swapped", self.text(begin, first) + two + self.text(middle, later) + one +
                           self.text(last, end))

    def visit_return(self, cursor):
        parts = list(cursor.get_children())
        if not parts or not self.returns_status:
            return
        text = self.text_of(parts[0])
        if text.startswith("-") or NAME.match(text) and not text.isupper() and text not in ("true", "false"):
            self.note_slip(self.place(parts[0]), "success", "0")

    def visit_reference(self, cursor):
        """true and false, which the compiler sees as numbers of a macro's."""
        text = self.text_of(cursor)
        if text in ("true", "false"):
            self.note_slip(self.place(cursor), "constant", "false" if text == "true" else "true")

    def visit_literal(self, cursor):
        self.visit_number(cursor)
        self.visit_reference(cursor)


VISITS = {
    Kind.IF_STMT: Finder.visit_if,
    Kind.CONDITIONAL_OPERATOR: Finder.visit_choice,
    Kind.BINARY_OPERATOR: Finder.visit_operator,
    Kind.UNARY_OPERATOR: Finder.visit_unary,
    Kind.INTEGER_LITERAL: Finder.visit_literal,
    Kind.CALL_EXPR: Finder.visit_call,
    Kind.RETURN_STMT: Finder.visit_return,
} | {kind: Finder.visit_body for kind in (*LOOPS, Kind.COMPOUND_STMT, Kind.CASE_STMT, Kind.DEFAULT_STMT,
                                          Kind.LABEL_STMT)}


def counted(slips):
    """The same with their occurrences, in the order of the file."""
    numbers = {}
    for slip in sorted(slips, key=lambda slip: (slip.start, slip.end, slip.kind, slip.new)):
        numbers[slip.identity] = numbers.get(slip.identity, 0) + 1
        yield dataclasses.replace(slip, occurrence=numbers[slip.identity])


def parse(path, data, arguments):
    """The syntax of DATA, the contents of PATH."""
    return cindex.TranslationUnit.from_source(
        str(path), [*arguments, "-w", "-ferror-limit=0"], unsaved_files=[(str(path), data.decode(errors="surrogateescape"))],
        options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)


def errors(unit):
    return [f"{one.location.line}: {one.spelling}" for one in unit.diagnostics if one.severity >= one.Error]


def find_slips(name, path, data, arguments):
    """All slips of the file, and its functions' entries; NAME: below the project. ValueError: it is not right as it
    stands."""
    unit = parse(path, data, arguments)
    if wrong := errors(unit):
        raise ValueError(f"{name}:{wrong[0]}")
    finder = Finder(name, data, unit)
    return list(counted(finder.found.values())), finder.entries


def content_digest(name, data):
    """Changes with the file, and with what is found in it."""
    own = open(__file__, "rb").read()
    return hashlib.sha256(name.encode() + b"\0" + data + b"\0" + own).hexdigest()[:24]
