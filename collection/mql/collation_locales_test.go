package mql_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// TestLocales compares the order of each locale and variant with testdata/orders.jsonl: strings in order, equal ones in
// one group. The file was made by ICU's collator from the rules of CLDR 29, of the strings that the rules of the locale
// place, and of letters of several scripts. Each pair is compared, and the sort keys as well.
func TestLocales(t *testing.T) {
	f, err := os.Open("testdata/orders.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	locales := 0
	for lines := bufio.NewScanner(f); lines.Scan(); locales++ {
		var want struct {
			Locale string     `json:"locale"`
			Order  [][]string `json:"order"`
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		b := bson.NewBuilder(nil)
		b.String("locale", want.Locale)
		c, err := mql.ParseCollation(b.Doc().Value())
		if err != nil {
			t.Error(err)
			continue
		}
		checkOrder(t, c, want.Order)
	}
	if locales < 140 {
		t.Errorf("%d locales and variants", locales)
	}
}

// checkOrder reports the first pairs of strings that c compares in another way than the groups, by their sort keys and
// by CompareText.
func checkOrder(t *testing.T, c *mql.Collation, groups [][]string) {
	type text struct {
		s     string
		group int
		key   []byte
	}
	var texts []text
	for g, group := range groups {
		for _, s := range group {
			texts = append(texts, text{s, g, c.AppendKey(nil, []byte(s))})
		}
	}
	wrong := 0
	for i, a := range texts {
		for _, b := range texts[i+1:] {
			want := 0
			if a.group < b.group {
				want = -1
			}
			if got := bytes.Compare(a.key, b.key); got != want {
				if wrong++; wrong <= 3 {
					t.Errorf("%s: the keys of %q and %q compare as %d, expected %d", c.Locale(), a.s, b.s, got, want)
				}
			}
		}
		if i > 0 && c.CompareText([]byte(texts[i-1].s), []byte(a.s)) != bytes.Compare(texts[i-1].key, a.key) {
			t.Errorf("%s: %q and %q compare differently from their keys", c.Locale(), texts[i-1].s, a.s)
		}
	}
}
