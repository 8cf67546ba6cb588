package mql

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// found prints the first match and its groups.
func found(r *Regex, text string) string {
	m, err := r.FindIndex([]byte(text), 0)
	if err != nil {
		return err.Error()
	}
	if m == nil {
		return "none"
	}
	var parts []string
	for i := 0; i < len(m); i += 2 {
		if m[i] < 0 {
			parts = append(parts, "-")
		} else {
			parts = append(parts, text[m[i]:m[i+1]])
		}
	}
	return strings.Join(parts, "|")
}

// The results of PCRE for these patterns.
func TestRegexMeansWhatPCREMeans(t *testing.T) {
	for _, c := range []struct{ pattern, options, text, want string }{
		{"a+b", "", "xaab", "aab"},
		{"(a)|(b)", "", "b", "b|-|b"},
		{"A", "i", "xa", "a"},
		{"É", "i", "é", "é"},
		{"^b", "", "a\nb", "none"},
		{"^b", "m", "a\nb", "b"},
		{"a.b", "", "a\nb", "none"},
		{"a.b", "s", "a\nb", "a\nb"},
		{"a b # comment\n c", "x", "abc", "abc"},
		{"a\\ b[ c]", "x", "a b ", "a b "},
		{"b$", "", "ab\n", "b"},
		{"b$", "", "ab\n\n", "none"},
		{`b\Z`, "", "ab\n", "b"},
		{`b\z`, "", "ab\n", "none"},
		{`\Ab`, "m", "a\nb", "none"},
		{`\d+`, "", "٣4", "4"},
		{`\w+`, "", "éa_1", "a_1"},
		{`\s`, "", "a\vb", "\v"},
		{`\h+`, "", "a \tb", " \t"},
		{`\R`, "", "a\r\nb", "\r\n"},
		{`\N+`, "s", "ab\nc", "ab"},
		{`[[:alpha:]]+`, "", "1ab2", "ab"},
		{`[^[:digit:]x]+`, "", "1ab2", "ab"},
		{`[\d\-x]+`, "", "a1-x", "1-x"},
		{`[]a]+`, "", "x]a", "]a"},
		{`[a\]b]+`, "", "x]a", "]a"},
		{`[[:]+`, "", "a[:b", "[:"},
		{`[[:x]y:]`, "", "xy:]", "xy:]"},
		{`[[:a[:digit:]]+`, "", "b[a1:", "[a1:"},
		{`\x41\x{42}\103`, "", "ABC", "ABC"},
		{`\Qa.b\E+`, "", "a.bb", "a.bb"},
		{`(?<year>\d{4})`, "", "in 2024", "2024|2024"},
		{`(?P<y>a)(?P=y)`, "", "aa", "aa|a"},
		{`(a)\1`, "", "aa", "aa|a"},
		{`(?<x>a)\k<x>`, "", "aa", "aa|a"},
		{`a(?=b)`, "", "acab", "a"},
		{`a(?!b)`, "", "aba", "a"},
		{`(?<=\$)\d+`, "", "€5 $7", "7"},
		{`(?<!a)b`, "", "abb", "b"},
		{`a++b`, "", "aaab", "aaab"},
		{`a++ab`, "", "aaab", "none"},
		{`(?>a+)b`, "", "aab", "aab"},
		{`(?i)a(?-i)b`, "", "Ab", "Ab"},
		{`(?i:a)b`, "", "AB", "none"},
		{`x(?#comment)y`, "", "xy", "xy"},
		{`a{,2}`, "", "a{,2}", "a{,2}"},
		{`a{2}`, "", "aaa", "aa"},
		{`(?:ab){1500}`, "", strings.Repeat("ab", 1500), strings.Repeat("ab", 1500)},
		{`\p{Lu}\p{Greek}`, "", "Aλ", "Aλ"},
		{`\bfoo\b`, "", "a foo.", "foo"},
		{`(?m)^b$`, "", "a\nb\nc", "b"},
		{`a|ab`, "", "ab", "a"},
		{`\p{L&}+`, "", "1aBǅʰ", "aBǅ"}, {`\P{L&}+`, "", "aB1ʰ", "1ʰ"}, {`[\p{L&}1]+`, "", "-a1B", "a1B"},
		{`\p{Xan}+`, "", "-é٣_", "é٣"}, {`\p{Xwd}+`, "", "-é٣_", "é٣_"}, {`\p{^Xwd}+`, "", "é-", "-"}, {`\p{Xsp}+`, "", "a \u00a0\n", " \u00a0\n"},
		{`a\p{Any}(?=c)`, "", "abc", "ab"}, {`[\p{Any}]+`, "", "é", "é"},
		{`(*LF)a.c`, "", "a\rc", "a\rc"}, {`(*UTF8)(*LF)^a`, "", "a", "a"}, {`(*CR)a.c`, "", "a\nc", "a\nc"}, {`(*CR)a.c`, "", "a\rc", "none"},
		{`(*CRLF)a.+`, "", "ab\r\nc", "ab"}, {`(*CRLF)a.+`, "", "ab\nc", "ab\nc"}, {`(*CRLF)^b$`, "m", "a\r\nb\r\nc", "b"}, {`(*CRLF)^b`, "m", "a\nb", "none"},
		{`(*ANYCRLF)^b$`, "m", "a\rb\nc", "b"}, {`(*ANYCRLF)a.`, "", "a\rb", "none"}, {`(*ANYCRLF)a.`, "s", "a\rb", "a\r"}, {`(*ANYCRLF)(?s:a.)b`, "", "a\rb", "a\rb"},
		{`(*ANY)a.`, "", "a\u2028b", "none"}, {`(*ANY)b$`, "", "ab\u2028", "b"}, {`(*ANYCRLF)b$`, "", "ab\r", "b"}, {`(*CR)b$`, "", "ab\n", "none"},
		{`^a(?m)b$`, "", "x\nab", "none"}, {`x\n^a(?m)`, "", "x\na", "none"}, {`(?m)a$`, "", "a\nb", "a"},
		{`\/path\-x\_`, "", "/path-x_", "/path-x_"},
		{"", "", "abc", ""},
	} {
		r, err := CompileRegex(c.pattern, c.options)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		if got := found(r, c.text); got != c.want {
			t.Errorf("%q %s on %q: got %q, want %q", c.pattern, c.options, c.text, got, c.want)
		}
		if got, err := r.Match([]byte(c.text)); err != nil || got != (c.want != "none") {
			t.Errorf("%q on %q: Match %v", c.pattern, c.text, got)
		}
	}
}

func TestRegexErrors(t *testing.T) {
	for _, c := range []struct {
		pattern, options string
		want             mongoerr.Code
	}{
		{"(", "", 51091}, {")", "", 51091}, {"[a", "", 51091}, {"*a", "", 51091}, {"a{2,1}", "", 51091}, {`\`, "", 51091},
		{"(?<=a+)b", "", 51091}, {`(a)\2`, "", 51091}, {"[[:nope:]]", "", 51091}, {"(?<1>a)", "", 51091}, {`\C`, "", 51091}, {"(?J)a", "", 51091},
		{"a**", "", 51091}, {"(*NOPE)a", "", 51091}, {"a(*LF)", "", 51091}, {"(*LF", "", 51091}, {"[b-a]", "", 51091}, {`\p{Nope}`, "", 51091}, {"\xff", "", 51091}, {strings.Repeat("a", 20000), "", 51091},
		{"a", "g", 51108}, {"a\x00b", "", mongoerr.BadValue},
	} {
		_, err := CompileRegex(c.pattern, c.options)
		var e *mongoerr.Error
		if !errors.As(err, &e) || e.Code != c.want {
			t.Errorf("%.30q %s: %v, want %v", c.pattern, c.options, err, c.want)
		}
	}
}

func TestRegexFindAll(t *testing.T) {
	for _, c := range []struct{ pattern, text, want string }{
		{"a", "aba", "[0 1][2 3]"},
		{"", "abc", "[0 0][1 1][2 2]"},
		{"", "", "[0 0]"},
		{"b*", "abba", "[0 0][1 3][3 3]"},
		{"é", "aéé", "[1 3][3 5]"},
		{"(?<=a)b", "abab", "[1 2][3 4]"},
		{"^a", "aaa", "[0 1]"},
	} {
		r, err := CompileRegex(c.pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.FindAll([]byte(c.text), -1)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, m := range all {
			got += fmt.Sprint(m[:2])
		}
		if got != c.want {
			t.Errorf("%q on %q: %s, want %s", c.pattern, c.text, got, c.want)
		}
	}
}

func TestRegexLiteralPrefix(t *testing.T) {
	for _, c := range []struct {
		pattern, options, prefix string
		whole                    bool
	}{
		{"^abc", "", "abc", true}, {"^abc.*", "s", "abc", true}, {"^abc.*", "", "abc", false}, {"^abc$", "", "abc", false},
		{`\Aab\.c`, "", "ab.c", true}, {"^abc?", "", "ab", false}, {"^abc*", "", "ab", false}, {"^abc+", "", "abc", false},
		{"^é+", "", "é", false}, {"^a|b", "", "", false}, {"^abc", "i", "", false}, {"^abc", "m", "", false}, {"abc", "", "", false},
		{`^a\d`, "", "a", false}, {"^a{2}", "", "", false}, {"^(ab)", "", "", false}, {"^", "", "", true},
		{`^C:\\Users`, "", `C:\Users`, true}, {`^\\\\`, "", `\\`, true}, {`^a\\*`, "", "a", false}, {`^a\.?`, "", "a", false},
		{`^ab\E*`, "", "a", false}, {`^ab(?#c)*`, "", "a", false}, {`^ab(?#c)c`, "", "abc", true}, {`^\Qa.\b\Ec`, "", `a.\bc`, true},
		{`^\Qab\E{2}`, "", "a", false}, {`^\Qab`, "", "ab", true}, {`^a\Qé\E\E?`, "", "a", false}, {`^\é?`, "", "", false}, {`^a\n`, "", "a", false},
	} {
		r, err := CompileRegex(c.pattern, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if p, w := r.LiteralPrefix(); p != c.prefix || w != c.whole {
			t.Errorf("%q %s: %q %v, want %q %v", c.pattern, c.options, p, w, c.prefix, c.whole)
		}
	}
}

// A catastrophic pattern soon ends with an error.
func TestRegexTimeLimit(t *testing.T) {
	r, err := CompileRegex(`^(a+)+\1$`, "")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ok, err := r.Match([]byte(strings.Repeat("a", 40) + "b"))
	if ok || mongoerr.CodeOf(err) != 51156 || !strings.Contains(err.Error(), "expression: match limit exceeded; repeated") {
		t.Error(ok, err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
}

func TestAllocsRegexMatch(t *testing.T) {
	r, err := CompileRegex("^h.*o wo", "")
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("hello world")
	if n := testing.AllocsPerRun(100, func() { _, _ = r.Match(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzRegex checks that CompileRegex does not panic, and that Match, FindIndex and FindAll agree on whether there is a
// match.
func FuzzRegex(f *testing.F) {
	for _, s := range []string{"a+b", `(\d+)-[^x-z]`, "(?i)x|y", `\bfoo\b$`, "[[:alpha:]]{2,3}?", "[[:]", `a++`, `(?<n>a)\k<n>`, `\Qa\E`} {
		f.Add(s, "i", "foo ab 12-3\n")
	}
	f.Fuzz(func(t *testing.T, pattern, options, text string) {
		r, err := CompileRegex(pattern, options)
		if err != nil || len(text) > 200 {
			return
		}
		got, err := r.Match([]byte(text))
		if err != nil {
			return
		}
		m, err := r.FindIndex([]byte(text), 0)
		if err == nil && got != (m != nil) {
			t.Fatalf("%q %s on %q: Match %v, FindIndex %v", pattern, options, text, got, m)
		}
		if all, err := r.FindAll([]byte(text), 10); err == nil && len(all) > 0 != got {
			t.Fatalf("%q %s on %q: Match %v, FindAll %v", pattern, options, text, got, all)
		}
	})
}

// TestEnginesAgree compares the two engines on random patterns: a lookahead before a pattern selects the backtracking
// one, and changes no match. It includes patterns whose alternatives begin with a character, the dot or an excluded
// character.
func TestEnginesAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	atoms := []string{"a", "b", "k", ".", "[^a]", "[^-a]", "[^ab]", "[ab]", "c", `\n`, `\N`, "(?s:.)", `(?:\b)`, `(?:\B)`, "\ufffd", `(?:^)`, `(?:$)`}
	repeats := []string{"", "", "", "?", "*", "+", "{2}", "??", "*?"}
	texts := []string{"", "a", "b", "bob", "abk", "xk", "b\n", "ac", "aac", "-", "-k", "\n", "k\nb", "\xff", "�b", "K", "ſa", "a\n\n"}
	for range 4000 {
		var p strings.Builder
		for range 1 + rng.IntN(4) {
			if p.Len() > 0 && rng.IntN(3) == 0 {
				p.WriteString("|")
			}
			p.WriteString(atoms[rng.IntN(len(atoms))] + repeats[rng.IntN(len(repeats))])
		}
		options := []string{"", "i", "m", "s"}[rng.IntN(4)]
		linear, err := CompileRegex(p.String(), options)
		if err != nil {
			t.Fatal(p.String(), err)
		}
		backtracking, err := CompileRegex("(?=)(?:"+p.String()+")", options)
		if err != nil {
			t.Fatal(p.String(), err)
		}
		for _, text := range texts {
			want, err1 := linear.Match([]byte(text))
			got, err2 := backtracking.Match([]byte(text))
			if got != want || err1 != nil || err2 != nil {
				t.Errorf("/%s/%s on %q: %v by the linear engine, %v by the backtracking one, %v, %v", p.String(), options, text, want, got, err1, err2)
			}
		}
	}
}

// TestRegexAsPCRE2 compares the engine that CompileRegex chooses with what PCRE2 has answered, and Match with
// FindIndex.
func TestRegexAsPCRE2(t *testing.T) {
	f, err := os.Open("../regex/testdata/pcre2.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	linear := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c [4]string // pattern, options, text, result
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		r, err := CompileRegex(c[0], c[1])
		if err != nil || strings.HasPrefix(c[3], "fail") || c[3] == "error" {
			continue
		}
		m, err := r.FindIndex([]byte(c[2]), 0)
		if err != nil {
			continue // a recursion without end that PCRE2 does not come to
		}
		got := "none"
		if m != nil {
			var parts []string
			for i := 0; i < len(m); i += 2 {
				part := "-"
				if m[i] >= 0 {
					part = fmt.Sprintf("%d-%d", m[i], m[i+1])
				}
				parts = append(parts, part)
			}
			got = strings.Join(parts, ",")
		}
		if got != c[3] {
			t.Errorf("%q %s on %q: %s, PCRE2: %s", c[0], c[1], c[2], got, c[3])
		}
		if ok, err := r.Match([]byte(c[2])); err != nil || ok != (m != nil) {
			t.Errorf("%q %s on %q: Match %v, %v", c[0], c[1], c[2], ok, err)
		}
		if !r.Backtracks([]byte(c[2])) {
			linear++
		}
	}
	if linear < 300 {
		t.Errorf("%d matches on the linear engine", linear)
	}
}
