package mql_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
)

// TestCollation runs the case files. The verb collation parses a collation and prints it; the verb sort prints
// strings in its order, equal ones joined by =.
func TestCollation(t *testing.T) {
	casefile.Run(t, "testdata", func(t *testing.T, c *casefile.Case) string {
		spec, _ := c.Get("collation")
		v := bsontest.Value(t, spec)
		col, err := mql.ParseCollation(v)
		if err != nil {
			e := mongoerr.From(err)
			return "error " + strconv.Itoa(int(e.Code)) + " " + e.Code.String() + "\n"
		}
		switch c.Verb {
		case "collation":
			b := bson.NewBuilder(nil)
			col.Append(b, "collation")
			return ejson.String(b.Doc()) + "\n"
		case "sort":
			list, _ := c.Get("strings")
			return sorted(t, col, list)
		}
		t.Fatalf("unknown verb %s", c.Verb)
		return ""
	})
}

func sorted(t *testing.T, col *mql.Collation, list string) string {
	v := bsontest.Value(t, list)
	arr, _ := v.Array()
	var texts [][]byte
	for x := range arr.Values() {
		s, _ := x.Text()
		texts = append(texts, s)
	}
	slices.SortStableFunc(texts, func(a, b []byte) int {
		n := col.CompareText(a, b)
		if k := bytes.Compare(col.AppendKey(nil, a), col.AppendKey(nil, b)); k != n {
			t.Errorf("CompareText(%q, %q) = %d, keys say %d", a, b, n, k)
		}
		return n
	})
	var out strings.Builder
	for i, s := range texts {
		if i > 0 {
			if col.CompareText(texts[i-1], s) == 0 {
				out.WriteString(" = ")
			} else {
				out.WriteString(" < ")
			}
		}
		out.WriteString(strings.ReplaceAll(ejson.ValueString(new(bson.Arena).StringBytes(s)), "\u200b", `\u200b`))
	}
	return out.String() + "\n"
}
