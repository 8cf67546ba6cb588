package exec

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
)

// fieldPlacement describes how one index field is written into a document rebuilt from a key: close is the
// number of embedded documents to end, open the names of those to begin, name the last part of the field's
// path. A field with skip is left out.
type fieldPlacement struct {
	close int
	open  []string
	name  string
	skip  bool
}

// layoutOf returns for each index field the embedded documents to end and to begin before it, so that a
// document can be rebuilt from a key, and the number of leading fields that the document is made of. Fields of one
// embedded document must be adjacent. If only is not nil, the document has only the fields that it selects.
func layoutOf(fields []string, only []bool) (out []fieldPlacement, last int) {
	out = make([]fieldPlacement, 0, len(fields)+1)
	var at []string // embedded documents that are open
	for i, f := range fields {
		if only != nil && !only[i] {
			out = append(out, fieldPlacement{skip: true})
			continue
		}
		last = i + 1
		parts := strings.Split(f, ".")
		ways, name := parts[:len(parts)-1], parts[len(parts)-1]
		same := 0
		for same < len(at) && same < len(ways) && at[same] == ways[same] {
			same++
		}
		out = append(out, fieldPlacement{close: len(at) - same, open: ways[same:], name: name})
		at = ways
	}
	return append(out, fieldPlacement{close: len(at)}), last
}

// rebuild returns a document of the indexed fields, or of those in the layout, made from the values of an index key.
// null reports that a value may be null or missing, which a key does not distinguish, or, of the elements of arrays, an
// empty array or an array in an array.
func (s *indexScan) rebuild(values, bits []byte) (doc bson.Raw, null bool, err error) {
	m := s.made
	m.builder.Reset(m.doc[:0])
	m.decoder.Reset(bits)
	for i := range m.fields {
		at := &m.layout[i]
		if at.skip {
			m.unread.Reset(m.waste[:0])
			if values, err = m.decoder.Value(&m.unread, "", values, s.dirs[i]); err != nil {
				return nil, false, err
			}
			m.waste = m.unread.Finish()
			continue
		}
		null = null || values[0] == keystring.NullByte(s.dirs[i])
		if s.isElement(i) {
			null = null || keystring.IsUndefined(values[0], s.dirs[i]) || keystring.IsArray(values[0], s.dirs[i])
		}
		for range at.close {
			m.builder.End()
		}
		for _, name := range at.open {
			m.builder.BeginDoc(name)
		}
		if values, err = m.decoder.Value(&m.builder, at.name, values, s.dirs[i]); err != nil {
			return nil, false, err
		}
	}
	for range m.layout[len(s.dirs)].close {
		m.builder.End()
	}
	m.doc = m.builder.Finish()
	return bson.Raw(m.doc), null, nil
}
