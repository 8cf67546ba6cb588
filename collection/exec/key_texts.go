package exec

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/plan"
)

// keyTexts are the regular expressions of the filter of an index scan, tested on the bytes of a key, so that no document
// is made of a key that they reject.
type keyTexts struct {
	tests []keyText // by field
	alone bool      // the filter has no other condition
	buf   []byte    // memory of a text that the key holds in another form
}

// keyText is a regular expression on the field of an index with a number.
type keyText struct {
	field int
	match.OnText
}

// keyTextsOf returns the tests of an index scan; nil if it has none. The fields of a wildcard index are numbered
// differently from its parts, so it has none.
func keyTextsOf(n *plan.IndexScan) *keyTexts {
	if n.Filter == nil || n.Elements || n.Index.Kind.Name == "wildcard" || n.Index.Collation != nil || !n.Rebuild && n.Tested == nil {
		return nil
	}
	conditions, alone := match.OnTexts(n.Filter)
	k := &keyTexts{alone: alone}
	paths, only := n.KeyFields()
	for _, c := range conditions {
		i := slices.Index(paths, c.Path)
		if i < 0 || only != nil && !only[i] || n.Index.Multikey.Field(i) || n.Index.Parts[i].Plugin != "" {
			k.alone = false
			continue
		}
		k.tests = append(k.tests, keyText{i, c})
	}
	if len(k.tests) == 0 {
		return nil
	}
	slices.SortStableFunc(k.tests, func(a, b keyText) int { return cmp.Compare(a.field, b.field) })
	return k
}

// decide reports whether the filter keeps the entry with the given values. decided is false if the filter has to be
// evaluated on a document. Errors: keystring.ErrCorrupt.
func (k *keyTexts) decide(values []byte, dirs []keystring.Dir) (keep, decided bool, err error) {
	field := 0
	decided = k.alone
	for i := range k.tests {
		t := &k.tests[i]
		for ; field < t.field; field++ {
			n, err := keystring.Skip(values, dirs[field])
			if err != nil {
				return false, false, err
			}
			values = values[n:]
		}
		value := values
		if field < len(dirs)-1 {
			n, err := keystring.Skip(values, dirs[field])
			if err != nil {
				return false, false, err
			}
			value = values[:n]
		}
		text, buf, isText := keystring.Text(value, dirs[field], k.buf)
		k.buf = buf
		if !isText {
			decided = false
			continue
		}
		switch ok, known := t.Holds(text); {
		case !known:
			decided = false
		case !ok:
			return false, true, nil
		}
	}
	return true, decided, nil
}
