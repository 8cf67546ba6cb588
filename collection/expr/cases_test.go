package expr_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/internal/casefile"
)

// Operators for which some cases cannot exist: those without invalid arguments, and those without an argument
// from the document.
var (
	infallible = []string{"$avg", "$const", "$isArray", "$isNumber", "$literal", "$max", "$min", "$stdDevPop", "$stdDevSamp", "$sum", "$toHashedIndexKey", "$type"}
	constants  = []string{"$const", "$createObjectId", "$createUUID", "$currentDate", "$literal", "$meta", "$rand"}
)

// seen records which kinds of cases an operator has.
type seen struct{ value, null, missing, failure bool }

// Every operator has cases for a value, for null, for a missing field, and for an error, except as infallible and
// constants permit.
func TestEveryOperatorHasCases(t *testing.T) {
	for _, op := range expr.Operators {
		f, err := casefile.Open(filepath.Join("testdata", snake(op.Name)+".txt"))
		if err != nil {
			t.Error(err)
			continue
		}
		var s seen
		for _, c := range f.Cases {
			s.add(t, c)
		}
		constant := slices.Contains(constants, op.Name)
		for what, ok := range map[string]bool{
			"a value":         s.value,
			"null":            s.null || constant,
			"a missing field": s.missing || constant,
			"an error":        s.failure || slices.Contains(infallible, op.Name),
		} {
			if !ok {
				t.Errorf("%s has no case with %s", op.Name, what)
			}
		}
	}
}

// add examines one case.
func (s *seen) add(t *testing.T, c *casefile.Case) {
	t.Helper()
	for line := range strings.SplitSeq(c.Want(), "\n") {
		if strings.HasPrefix(line, "error ") {
			s.failure = true
		} else {
			s.value = true
		}
	}
	text, _ := c.Get("expr")
	s.null = s.null || strings.Contains(text, "null")
	v := bsontest.Value(t, text)
	e, err := expr.Parse(newEnv(t.Context()), v)
	if err != nil {
		return
	}
	for _, text := range c.All("doc") {
		doc := bsontest.Doc(t, text)
		e.Paths(func(p string) {
			if p == "" {
				return
			}
			some := false
			path.Must(p).Walk(doc, path.Stop, func(v bson.Value, _ []int32) bool {
				some = some || !v.IsMissing()
				s.null = s.null || v.Type == bson.TypeNull
				return true
			})
			s.missing = s.missing || !some
		})
	}
}
