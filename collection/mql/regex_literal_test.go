package mql

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRegexLiterals lists the literals of patterns: the text, whether it is at the end, whether nothing else matters.
func TestRegexLiterals(t *testing.T) {
	for _, c := range []struct {
		pattern, options, text string
		atEnd, whole           bool
	}{
		{"77777$", "", "77777", true, true}, {`abc\z`, "", "abc", true, true}, {`abc\Z`, "", "abc", true, true}, {"(abc)", "", "abc", false, true},
		{"abc", "", "abc", false, true}, {`\Qa.c\E`, "", "a.c", false, true}, {"a b c", "x", "abc", false, true}, {"é", "", "é", false, true},
		{"a.*bcd", "", "bcd", false, false}, {"^abc", "", "abc", false, false}, {"[xy]bc$", "", "bc", true, false}, {"^bc$", "", "bc", true, false},
		{"(abc)+x?", "", "abc", false, false}, {"(?:abc){2}", "", "abc", false, false}, {"(?:abc){0,2}", "", "", false, false},
		{"bc$", "m", "bc", false, false}, {"bc$", "s", "bc", true, true}, {"bc", "i", "", false, false}, {"12$", "i", "12", true, true},
		{"a?", "", "", false, false}, {"abc|abd", "", "ab", false, false}, {"abc|xyz", "", "", false, false}, {"a(?=b)", "", "", false, false},
		{"\uFFFD", "", "", false, false}, {"x\uFFFDab|x\uFFFDac", "", "", false, false}, {"", "", "", false, false}, {"$", "", "", false, false},
	} {
		r, err := CompileRegex(c.pattern, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if l := r.literal; string(l.text) != c.text || l.atEnd != c.atEnd || l.whole != c.whole {
			t.Errorf("%q %s: %q %v %v, want %q %v %v", c.pattern, c.options, l.text, l.atEnd, l.whole, c.text, c.atEnd, c.whole)
		}
	}
}

// TestRegexLiteralsDecideAsEngines compares random matches with those of the same pattern without its literal.
func TestRegexLiteralsDecideAsEngines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	texts := []string{"a", "b", "ab", "A", "é", "\n", "\x00", "\xff", "\xc3", "\uFFFD", "ſ", "K", "k", " "}
	patterns := []string{"a", "b", "ab", "A", "é", "k", ".", "a+", "b?", "[ab]", "(ab)", "(?:ab)*", "(ab){2}", "$", "^", `\z`, `\Z`, `\b`, "|", `\n`, `\x{FFFD}`, "\uFFFD", "(?i)", "a(?=b)", " "}
	draw := func(from []string, most int) (s string) {
		var b strings.Builder
		for range r.IntN(most) {
			b.WriteString(from[r.IntN(len(from))])
		}
		return b.String()
	}
	decided, matched := 0, 0
	for range 4000 {
		re, err := CompileRegex(draw(patterns, 5), []string{"", "", "", "i", "m", "s", "x", "ims"}[r.IntN(8)])
		if err != nil || re.literal.text == nil {
			continue
		}
		engines := *re
		engines.literal = literal{}
		for range 8 {
			text := []byte(draw(texts, 6))
			want, err := engines.Match(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := re.Match(text); got != want || err != nil {
				t.Fatalf("%q %q on %q: %v, %v, want %v", re.Pattern, re.Options, text, got, err, want)
			}
			if got, known := re.MatchLinear(text); known && got != want {
				t.Fatalf("%q %q on %q: MatchLinear %v", re.Pattern, re.Options, text, got)
			}
			if _, ok := re.decide(text); ok {
				decided++
			}
			if want {
				matched++
			}
		}
	}
	if decided < 1000 || matched < 500 {
		t.Errorf("%d decided, %d matched", decided, matched)
	}
}
