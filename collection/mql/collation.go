package mql

import (
	"bytes"
	"sync"

	"github.com/cantledb/cantle/bson"
)

// CollationVersion is the version string that listIndexes and listCollections
// report and that a collation document may repeat.
// Manual: reference/collation (observed in listIndexes output).
const CollationVersion = "57.1"

// Collation is a parsed collation document: an order of strings by language.
// It implements bson.StringOrder. Immutable and safe for concurrent use. A nil
// *Collation is the simple collation: byte order.
// Manual: reference/collation.
type Collation struct {
	spec collationSpec
	lang *language
	pool sync.Pool // of *collateState
}

// collationSpec holds the options with defaults filled in.
type collationSpec struct {
	version         CollatorVersion
	locale          string
	strength        int32
	caseLevel       bool
	caseFirst       string // "upper", "lower" or "off"
	numericOrdering bool
	alternate       string // "non-ignorable" or "shifted"
	maxVariable     string // "punct" or "space"
	normalization   bool
	backwards       bool
}

// Append writes the collation with all its options as the document name, in the order that listIndexes and
// listCollections use. A nil Collation writes nothing.
func (c *Collation) Append(b *bson.Builder, name string) {
	if c == nil {
		return
	}
	s := &c.spec
	b.BeginDoc(name)
	b.String("locale", s.locale)
	b.Bool("caseLevel", s.caseLevel)
	b.String("caseFirst", s.caseFirst)
	b.Int32("strength", s.strength)
	b.Bool("numericOrdering", s.numericOrdering)
	b.String("alternate", s.alternate)
	b.String("maxVariable", s.maxVariable)
	b.Bool("normalization", s.normalization)
	b.Bool("backwards", s.backwards)
	b.String("version", CollationVersion)
	b.End()
}

// Equal reports whether c and d have the same options and version of the rules, and so the same order of strings; nil
// equals only nil.
func (c *Collation) Equal(d *Collation) bool {
	if c == nil || d == nil {
		return c == d
	}
	return c.spec == d.spec
}

// Locale is the locale as it was given; "simple" for nil.
func (c *Collation) Locale() string {
	if c == nil {
		return "simple"
	}
	return c.spec.locale
}

// Strength is the comparison level, 1 to 5.
func (c *Collation) Strength() int {
	if c == nil {
		return 5
	}
	return int(c.spec.strength)
}

// Order returns c as a bson.StringOrder, and a true nil for the simple collation: a nil *Collation inside the
// interface would not compare equal to nil.
func (c *Collation) Order() bson.StringOrder {
	if c == nil {
		return nil
	}
	return c
}

// Order returns the order of strings of this command, that of its collation; nil means byte order.
func (e *Env) Order() bson.StringOrder { return e.Collation.Order() }

// CompareText orders two strings. See bson.StringOrder.
func (c *Collation) CompareText(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	st := c.state()
	st.a = c.appendKey(st.a[:0], a, st)
	st.b = c.appendKey(st.b[:0], b, st)
	n := bytes.Compare(st.a, st.b)
	c.release(st)
	return n
}

// AppendKey implements bson.StringOrder: it appends to dst the sort key of the string s. Sort keys are bytes whose
// order is the collation's order of the strings; they are equal exactly when the strings compare equal. Any byte may
// occur.
func (c *Collation) AppendKey(dst, s []byte) []byte {
	st := c.state()
	dst = c.appendKey(dst, s, st)
	c.release(st)
	return dst
}

func (c *Collation) state() *collateState {
	if st, ok := c.pool.Get().(*collateState); ok {
		return st
	}
	return &collateState{}
}

// release returns the buffers of one comparison to the pool for the next one. If a huge string made st.a, st.b and
// st.primary together 1 MiB or larger, all are dropped instead.
func (c *Collation) release(st *collateState) {
	if cap(st.a)+cap(st.b)+cap(st.primary) < 1<<20 {
		c.pool.Put(st)
	}
}
