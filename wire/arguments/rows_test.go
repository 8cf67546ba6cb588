package arguments

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// TestReadArgs checks that rows set their variables, that null leaves a variable unchanged, and that each rule of a
// row has its error.
func TestReadArgs(t *testing.T) {
	for text, want := range map[string]string{
		`{c: 1, n: 3, s: "a", lsid: {}}`:               "",
		`{c: 1, n: null, b: true, skipped: 1, s: "b"}`: "",
		`{c: 1, other: 1}`:                             "(IDLUnknownField) BSON field 'c.other' is an unknown field.",
		`{c: 1}`:                                       "(IDLFailedToParse) BSON field 'c.s' is missing but a required field",
		`{c: 1, s: null}`:                              "(IDLFailedToParse) BSON field 'c.s' is missing but a required field",
		`{c: 1, s: "x"}`:                               "(BadValue) Enumeration value 'x' for field 'c.s' is not a valid value.",
		`{c: 1, s: "a", n: -1}`:                        "(Location51024) BSON field 'n' value must be >= 0, actual value '-1'",
		`{c: 1, s: "a", m: 0}`:                         "(BadValue) BSON field 'm' value must be >= 1, actual value '0'",
		`{c: 1, s: "a", m: 6}`:                         "(BadValue) BSON field 'm' value must be <= 5, actual value '6'",
		`{c: 1, s: "a", b: 1}`:                         "(TypeMismatch) BSON field 'c.b' is the wrong type 'int', expected type 'bool'",
		`{c: 1, s: "a", odd: 2}`:                       "(BadValue) refused",
		`{c: 1, s: "a", d: {x: 1, y: 2}}`:              "(IDLUnknownField) BSON field 'c.d.y' is an unknown field.",
		`{c: 1, s: "a", d: {x: "a"}}`:                  "(TypeMismatch) BSON field 'c.d.x' is the wrong type 'string', expected types '[long, int, decimal, double]'",
		`{c: 1, s: "a", d: {}}`:                        "(IDLFailedToParse) BSON field 'c.d.x' is missing but a required field",
	} {
		r := of(t, text)
		n, s, has := int64(7), "", false
		var odd, x int64
		err := r.ReadArgs(
			Long("n", &n).Least(0).Given(&has),
			Long("m", nil).Within(1, 5),
			Enum("s", &s, "a", "b").Required(),
			StrictBool("b", nil),
			Truncated("odd", &odd).Check(func() error { return mongoerr.New(mongoerr.BadValue, "refused") }),
			By("d", func(v bson.Value) error {
				d, _ := v.Doc()
				return r.ReadFields("d", d, Long("x", &x).Required())
			}),
			Ignored("skipped"),
		)
		if got := ""; err != nil {
			if got = err.Error(); got != want {
				t.Errorf("%s: got %s, want %s", text, got, want)
			}
		} else if want != "" {
			t.Errorf("%s: no error, want %s", text, want)
		} else if s == "a" && (n != 3 || !has) || s == "b" && (n != 7 || has) {
			t.Errorf("%s: n is %d, given %v", text, n, has)
		}
	}
}

// TestAllocsReadArgs checks that reading a command's arguments by rows allocates no memory: the rows, the variables
// that they set and their functions stay on the stack.
func TestAllocsReadArgs(t *testing.T) {
	r := of(t, `{find: "c", filter: {a: 1}, limit: 1, batchSize: 2.0, singleBatch: true, lsid: {}, hint: {}}`)
	var sum int64
	if n := testing.AllocsPerRun(100, func() {
		var filter bson.Raw
		var size, limit int64
		var single, has bool
		err := r.ReadArgs(
			Doc("filter", &filter),
			Long("limit", &limit).Least(0),
			Long("batchSize", &size).Least(0).Given(&has),
			StrictBool("singleBatch", &single),
			By("hint", func(v bson.Value) error {
				sum += limit
				return nil
			}),
			Ignored("term", "options"),
		)
		if err != nil || !has || size != 2 || !single {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if sum == 0 {
		t.Error("hint was not read")
	}
}
