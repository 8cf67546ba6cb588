package tailoring

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"
)

// TestCompile: the rules of every locale compile. The order that they give is compared in collection/mql.
func TestCompile(t *testing.T) {
	for name, table := range tailorings() {
		if table() == nil {
			t.Error(name)
		}
	}
	if Of("xx", "") != nil || Of("es", "phonebook") != nil || Has("nb", "") || !Has("nb", "search") {
		t.Error("a locale without rules of its own has a table, or the reverse")
	}
}

// TestRefusedRules: rules that are not supported are errors, not another order.
func TestRefusedRules(t *testing.T) {
	for _, rules := range []string{
		"&a<b|c", "&a<<<<b", "&[first regular]<b", "&[before 1]a<<b", "&a<", "a<b", "&", "[import", "[reorder Zzzz]", "[mystery 1]", "&a<*z-b", "&[last tertiary ignorable]<b",
	} {
		if _, err := compile(rules); err == nil {
			t.Errorf("%s compiles", rules)
		}
	}
}

// TestMatch: a tailored string is found with marks between its characters that do not interact with them, which are then
// behind it, and not with others.
func TestMatch(t *testing.T) {
	table, err := compile("&C<č<<<Č&H<ch&'-'<'<'")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, matched, rest string
	}{
		{"čx", "č", "x"},
		{"c\u0323\u030cx", "č", "\u0323x"},
		{"c\u0323\u0331\u030cx", "č", "\u0323\u0331x"},
		{"c\u0301\u030cx", "", ""}, // blocked by a mark of the same class
		{"chx", "ch", "x"},
		{"cx", "", ""},
		{"c", "", ""},
		{"c" + strings.Repeat("\u0323", 40) + "\u030c", "", ""}, // too many marks
		{"<", "<", ""},
		{"\xff", "", ""},
	} {
		text := norm.NFD.Bytes([]byte(c.text))
		if strings.Contains(c.text, "\u0301\u030c") {
			text = []byte(c.text)
		}
		w, end := table.Match(text, 0)
		if got := w != nil; got != (c.matched != "") {
			t.Errorf("%q: matched is %v", c.text, got)
		} else if got && (norm.NFC.String(string(text[:end])) != c.matched || string(text[end:]) != c.rest) {
			t.Errorf("%q: %q and %q", c.text, text[:end], text[end:])
		}
	}
}

// TestMatchTime: a long text of marks takes linear time.
func TestMatchTime(t *testing.T) {
	table := Of("hsb", "")
	begin := time.Now()
	for _, unit := range []string{"c\u0323", "\u0323", "c", "\u030c"} {
		text := []byte("c" + strings.Repeat(unit, 200_000))
		for i := range text {
			table.Match(text, i)
		}
	}
	if d := time.Since(begin); d > time.Minute {
		t.Error(d)
	}
}

// TestScripts: the ranges of scripts do not overlap, so that each weight moves in one way.
func TestScripts(t *testing.T) {
	r := &root{engine: NewRoot()}
	of := map[uint32]string{}
	for code := range scripts {
		from, to, err := r.extent(code)
		if err != nil {
			t.Fatal(err)
		}
		for w := from; w < to; w++ {
			if of[w] != "" {
				t.Fatalf("weight %d is of %s and %s", w, of[w], code)
			}
			of[w] = code
		}
	}
}

// TestArrange: the moved weights are a permutation of the weights.
func TestArrange(t *testing.T) {
	r := &root{engine: NewRoot()}
	for _, codes := range [][]string{{"Cyrl"}, {"Latn", "Cyrl"}, {"Mlym", "Latn", "Deva", "Arab"}, {"Mymr"}, nil} {
		blocks, err := r.arrange(codes)
		if err != nil {
			t.Fatal(err)
		}
		table, seen := &Table{blocks: blocks}, map[string]bool{}
		for p := range uint32(0x7fff) {
			seen[string(table.AppendPrimary(nil, p))] = true
		}
		if len(seen) != 0x7fff {
			t.Errorf("%v: %d weights", codes, len(seen))
		}
	}
}
