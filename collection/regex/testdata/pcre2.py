"""Writes random patterns with the results of PCRE2 as the installed libpcre2-8 gives them, as JSON lines of pattern,
options, text, and result: "error" for a pattern that does not compile, "none", or the offsets in bytes of the match and
its groups. Usage: python3 pcre2.py seed number kind, kind being simple, all, verbs or syntax."""
import ctypes
import ctypes.util
import json
import random
import sys

lib = ctypes.CDLL(ctypes.util.find_library("pcre2-8") or "libpcre2-8.so.0")
pointer, size = ctypes.c_void_p, ctypes.c_size_t
lib.pcre2_compile_8.restype = pointer
lib.pcre2_compile_8.argtypes = [ctypes.c_char_p, size, ctypes.c_uint32, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(size), pointer]
lib.pcre2_match_data_create_from_pattern_8.restype = pointer
lib.pcre2_match_data_create_from_pattern_8.argtypes = [pointer, pointer]
lib.pcre2_match_8.argtypes = [pointer, ctypes.c_char_p, size, size, ctypes.c_uint32, pointer, pointer]
lib.pcre2_get_ovector_pointer_8.restype = ctypes.POINTER(size)
lib.pcre2_get_ovector_pointer_8.argtypes = [pointer]
lib.pcre2_get_ovector_count_8.argtypes = [pointer]
lib.pcre2_code_free_8.argtypes = [pointer]
lib.pcre2_match_data_free_8.argtypes = [pointer]
OPTIONS = {"i": 0x8, "m": 0x400, "s": 0x20, "x": 0x80}
UTF, NO_AUTO_POSSESS = 0x80000, 0x4000  # the latter is wrong for \R? before \s in 10.42


def result(pattern, options, text):
    pattern, text = pattern.encode(), text.encode()
    error, offset, flags = ctypes.c_int(), size(), UTF | NO_AUTO_POSSESS
    for o in options:
        flags |= OPTIONS[o]
    code = lib.pcre2_compile_8(pattern, len(pattern), flags, ctypes.byref(error), ctypes.byref(offset), None)
    if not code:
        return "error"
    data = lib.pcre2_match_data_create_from_pattern_8(code, None)
    count = lib.pcre2_match_8(code, text, len(text), 0, 0, data, None)
    try:
        if count < 0:
            return "none" if count == -1 else "fail %d" % count
        n, v, out = lib.pcre2_get_ovector_count_8(data), lib.pcre2_get_ovector_pointer_8(data), []
        for i in range(n):
            out.append("-" if i >= count or v[2 * i] == size(-1).value else "%d-%d" % (v[2 * i], v[2 * i + 1]))
        return ",".join(out)
    finally:
        lib.pcre2_match_data_free_8(data)
        lib.pcre2_code_free_8(code)


seed, number, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
r = random.Random(seed)
ATOMS = ["a", "b", "c", "ab", ".", "[ab]", "[^a]", "[a-c]", "\\w", "\\W", "\\d", "\\s", "é", "[é-ü]", "\\n", "x", "K", "\\x41",
         "\\x{e9}", "\\N", "\\R", "\\h", "[[:alpha:]]", "[^[:alpha:]]", "[\\w-]", "\\p{L}", "\\P{Lu}", "[\\D]", "k", "ß"]
PLACES = ["^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z", "\\G", "\\K"]
QUANTIFIERS = ["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}", "*?", "+?", "??", "{1,2}?", "*+", "++", "?+"]
VERBS = ["(*FAIL)", "(*ACCEPT)", "(*COMMIT)", "(*PRUNE)", "(*SKIP)", "(*THEN)", "(*MARK:m)", "(*SKIP:m)", "(*PRUNE:m)"]
STARTS = ["(*UCP)", "(*CRLF)", "(*ANYCRLF)", "(*ANY)", "(*CR)", "(*NOTEMPTY)", "(*BSR_ANYCRLF)", "(*LF)"]
LETTERS = ["a", "b", "c", "A", "B", "K", "\u212a", "é", "É", "\n", "\r\n", " ", "1", "-", "x", "ab", "aab", "ß", "ẞ", "ü"]
groups = 0


def sequence(depth):
    return "".join(item(depth) for _ in range(r.randint(0, 4) if depth < 3 else r.randint(1, 5)))


def alternatives(depth):
    return "|".join(sequence(depth) for _ in range(r.choice([1, 1, 2, 2, 3])))


def item(depth):
    global groups
    k = r.random()
    if depth <= 0 or k < 0.5:
        return r.choice(ATOMS) + r.choice(QUANTIFIERS)
    if k < 0.57:
        return r.choice(PLACES)
    if k < 0.72:
        groups += 1
        inside = alternatives(depth - 1)
        return "(%s)" % inside + r.choice(QUANTIFIERS)
    if k < 0.77:
        return "(?:%s)" % alternatives(depth - 1) + r.choice(QUANTIFIERS)
    if kind == "simple":
        return r.choice(ATOMS)
    if k < 0.80:
        return "(?>%s)" % alternatives(depth - 1) + r.choice(QUANTIFIERS)
    if k < 0.85:
        return r.choice(["(?=", "(?!"]) + alternatives(depth - 1) + ")"
    if k < 0.87:
        return r.choice(["(?<=", "(?<!"]) + r.choice(["a", "b", "ab|c", "[ab]", "é", "a(b)", ""]) + ")"
    if k < 0.91 and groups:
        return "\\%d" % r.randint(1, groups) + r.choice(QUANTIFIERS)
    if k < 0.92:
        return r.choice(["(?i)", "(?-i)", "(?s)", "(?m)", "(?x)", "(?U)", "(?n)", "(?^)"])
    if k < 0.93:
        return "(?|%s)" % alternatives(depth - 1)
    if k < 0.95 and groups:
        return r.choice(["(?%d)", "\\g<%d>"]) % r.randint(0, groups)
    if k < 0.97 and groups:
        return "(?(%d)%s|%s)" % (r.randint(1, groups), sequence(depth - 1), sequence(depth - 1))
    if k < 0.98:
        return "(?(?=%s)%s|%s)" % (r.choice("abc"), sequence(depth - 1), sequence(depth - 1))
    if kind == "verbs":
        return r.choice(VERBS)
    return r.choice(["(?i:%s)", "(?-i:%s)", "(?s-m:%s)"]) % alternatives(depth - 1)


written = 0
while written < number:
    groups = 0
    pattern = alternatives(3)
    if kind == "verbs":
        for _ in range(r.randint(0, 2)):
            i = r.randint(0, len(pattern))
            pattern = pattern[:i] + r.choice(VERBS) + pattern[i:]
    if len(pattern) > 60:
        continue
    if kind == "syntax":
        for _ in range(r.randint(1, 2)):
            i = r.randint(0, len(pattern))
            pattern = pattern[:i] + r.choice("()[]{}?*+|\\^$-:<>=!PRQEk&1,gx#") + pattern[i + r.randint(0, 1):]
    options = r.choice(["", "", "i", "m", "s", "x", "im"])
    if r.random() < 0.05:
        pattern = r.choice(STARTS) + pattern
    for _ in range(2):
        text = "".join(r.choice(LETTERS) for _ in range(r.randint(0, 7)))
        print(json.dumps([pattern, options, text, result(pattern, options, text)], ensure_ascii=False))
        written += 1
