package regex

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf16"
)

// scriptFlagsOf returns the flags of letters.
func scriptFlagsOf(s string) ScriptFlags {
	has := func(o string) bool { return strings.Contains(s, o) }
	return ScriptFlags{Fold: has("i"), Multiline: has("m"), DotAll: has("s"), Unicode: has("u")}
}

// TestScript compares matches with those of ECMAScript, where it differs from PCRE2.
func TestScript(t *testing.T) {
	for _, c := range []struct{ pattern, flags, text, want string }{
		{"(?:(a)|b)*", "", "ab", "[0 2 -1 -1]"}, // a round forgets the captures of the one before
		{"(a*)*", "", "b", "[0 0 -1 -1]"},       // an empty round counts for nothing
		{"(z)((a+)?(b+)?(c))*", "", "zaacbbbcac", "[0 10 0 1 8 10 8 9 -1 -1 9 10]"},
		{`(?=(a+))a*b\1`, "", "baaabac", "[3 6 3 4]"},
		{`(.*?)a(?!(a+)b\2c)\2(.*)`, "", "baaabaac", "[0 8 0 2 -1 -1 3 8]"},
		{`\1(a)`, "", "aa", "[0 1 0 1]"},                  // a reference to a group that has no text matches
		{`(?<=(\d+)(\d+))$`, "", "1053", "[4 4 0 1 1 4]"}, // look-behind goes to the left
		{`(?<=\1(a))b`, "", "aab", "[2 3 1 2]"},
		{"[^]", "", "\n", "[0 1]"}, {"[]", "", "a", "[]"}, {".", "", "\u2028a", "[3 4]"},
		{"^b$", "m", "a\nb\n", "[2 3]"}, {"^$", "m", "a\n", "[2 2]"}, {"a$", "", "a\n", "[]"},
		{`\u0041\x42\cJ\0`, "", "AB\n\x00", "[0 4]"}, {`\u{41}`, "u", "A", "[0 1]"}, {`u{2}`, "", "uu", "[0 2]"},
		{"]", "", "]", "[0 1]"}, {"a{,2}", "", "a{,2}", "[0 5]"}, {"{", "", "{", "[0 1]"}, {`\_`, "", "_", "[0 1]"}, {`\8`, "", "8", "[0 1]"},
		{"^.$", "", "😀", "[]"}, {"^..$", "", "😀", "[0 6]"}, {"^.$", "u", "😀", "[0 4]"}, {"[😀]", "u", "x😀", "[1 5]"}, {`\ud83d\ude00`, "u", "😀", "[0 4]"},
		{`\ud83d`, "", "😀", "[0 3]"}, {`\ud83d`, "u", "😀", "[]"},
		{`\p{Lu}\p{Script=Greek}`, "u", "Aλ", "[0 3]"}, {`\p{Uppercase_Letter}`, "u", "A", "[0 1]"}, {`[^\P{L}]`, "u", "1a", "[1 2]"}, {`\p{L}`, "", "p{L}", "[0 4]"},
		{"ſ", "i", "s", "[]"}, {"ſ", "iu", "s", "[0 1]"}, {"É", "i", "é", "[0 2]"}, {"[a-z]", "i", "\u212a", "[]"}, {"[a-z]", "iu", "\u212a", "[0 3]"},
		{`\bé`, "", "aé", "[1 3]"}, {`\s`, "", "\ufeff", "[0 3]"}, {`(?<a>.)\k<a>`, "", "xaa", "[1 3 1 2]"}, {`\k<a>`, "", "k<a>", "[0 4]"},
		{`[\d-x]+`, "", "1-x", "[0 3]"}, {`[\b]`, "", "\b", "[0 1]"}, {"(?:)*?a", "", "a", "[0 1]"}, {"(?=a)*b", "", "b", "[0 1]"},
	} {
		tree, err := ParseScript(c.pattern, scriptFlagsOf(c.flags))
		if err != nil {
			t.Errorf("%s %s: %v", c.pattern, c.flags, err)
			continue
		}
		text := ScriptText(utf16.Encode([]rune(c.text)), strings.Contains(c.flags, "u"))
		m, err := tree.Compile().Find(text, 0, nil)
		if got := fmt.Sprint(m); err != nil || got != c.want {
			t.Errorf("%s %s on %q: %s, %v, want %s", c.pattern, c.flags, c.text, got, err, c.want)
		}
	}
	for _, pattern := range []string{"(", ")", "*", "[b-a]", "(?<a>.)(?<a>.)", "a{2,1}", "^*", "(?<=a)*", `(?<a>.)\k<b>`, strings.Repeat("(", 300)} {
		if _, err := ParseScript(pattern, ScriptFlags{}); err == nil {
			t.Errorf("%s is accepted", pattern)
		}
	}
	for _, pattern := range []string{"]", "{", `\_`, `\8`, `\u{110000}`, "(?=a)*", `[\d-x]`, `\p{Nope}`, `\01`} {
		if _, err := ParseScript(pattern, ScriptFlags{Unicode: true}); err == nil {
			t.Errorf("%s with u is accepted", pattern)
		}
	}
}

// TestScriptReadsAnything parses patterns of another syntax, most of which are wrong here, and matches those that are
// accepted.
func TestScriptReadsAnything(t *testing.T) {
	f, err := os.Open("testdata/pcre2.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	accepted := 0
	eachPCRE2(t, f, func(c pcre2Case) {
		for _, flags := range []string{c.options, c.options + "u"} {
			tree, err := ParseScript(c.pattern, scriptFlagsOf(flags))
			if err != nil {
				continue
			}
			accepted++
			if _, err := tree.Compile().Find([]byte(c.text), 0, nil); err != nil {
				t.Errorf("%s %s on %q: %v", c.pattern, flags, c.text, err)
			}
		}
	})
	if accepted < 1000 {
		t.Errorf("%d patterns are accepted", accepted)
	}
}

// TestLimits requires that a match ends where it would take too long or too much memory, and when its command ends.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          error
	}{
		{"(a+)+b", strings.Repeat("a", 50), ErrSteps},
		{"(*LIMIT_MATCH=50)(?:a|b)*c", strings.Repeat("a", 100), ErrSteps},
		{"(?:a|b)*c", strings.Repeat("a", entriesMax+1), ErrMemory},
		{"(?R)", "a", ErrRecursion},
		{"(a(?1)?b)", strings.Repeat("a", 1<<19), ErrMemory},
		{"(?:(?:(?:a?){65535}){65535}){65535}b", "a", ErrSteps},
	} {
		tree, err := Parse(c.pattern, Flags{})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := tree.Compile().Find([]byte(c.text), 0, nil); m != nil || err != c.want {
			t.Errorf("%s: %v, %v, want %v", c.pattern, m, err, c.want)
		}
	}
	gone := errors.New("gone")
	tree, _ := Parse("(a+)+b", Flags{})
	n := 0
	_, err := tree.Compile().Find([]byte(strings.Repeat("a", 50)), 0, func() error {
		if n++; n < 3 {
			return nil
		}
		return gone
	})
	if err != gone || n != 3 {
		t.Errorf("%v after %d checks", err, n)
	}
}

// TestLinear requires that the form for RE2 has the patterns that mean the same there, and no others.
func TestLinear(t *testing.T) {
	for _, c := range []struct {
		pattern, want string
		final, empty  bool
	}{
		{"a+b?", "a+b?", false, false}, {"^a$", `\Aa\z`, true, false}, {"(?i)ab1", "(?i:ab)1", false, false}, {"(?m)^a$", `(?m:^)a(?m:$)`, true, false},
		{"(a|b)*?", "((?:a|b))*?", false, false}, {"(?:a*)*", "(?:a*)*", false, true}, {`[^\w-]`, `[^\-0-9A-Z_a-z]`, false, false}, {".(?s).", "(?-s:.)(?s:.)", false, false},
		{`\p{Lu}\P{Greek}`, `[\p{Lu}][\P{Greek}]`, false, false}, {`\bé{2,3}`, `\bé{2,3}`, false, false},
		{"a(?=b)", "", false, false}, {`(a)\1`, "", false, false}, {"a++", "", false, false}, {`(*UCP)\b`, "", false, false}, {"(*CRLF).", "", false, false},
		{`\Ga`, "", false, false}, {`a\K`, "", false, false}, {"(?R)?a", "", false, false}, {"a(*FAIL)", "", false, false}, {`\X`, "", false, false}, {`\R`, "", false, false},
	} {
		tree, err := Parse(c.pattern, Flags{})
		if err != nil {
			t.Fatal(err)
		}
		l, ok := tree.Linear()
		if ok != (c.want != "") || l.Text != c.want || l.FinalLine != c.final || l.EmptyRounds != c.empty {
			t.Errorf("%s: %+v, %v", c.pattern, l, ok)
		}
	}
}
