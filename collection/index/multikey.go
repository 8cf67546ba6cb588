package index

import (
	"math/bits"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
)

// fieldsMax is the largest number of fields of an index.
// Manual: reference/limits#mongodb-limit-Number-of-Indexed-Fields-in-a-Compound-Index.
const fieldsMax = 32

// FieldArrays records which components of the path of one index field have held arrays in any document: bit i for
// component i.
type FieldArrays struct {
	Path   path.Path
	Arrays uint64
}

// MultikeyPaths records which fields of an index have held arrays (in text and geospatial indexes, several values),
// one item for each field in the order of the index; nil means that there were none. The planner combines bounds by
// it. Values are immutable; Union makes new ones.
type MultikeyPaths []FieldArrays

// Any reports whether the index is multikey: whether a component of the path of any field has held an array.
func (m MultikeyPaths) Any() bool {
	for i := range m {
		if m[i].Arrays != 0 {
			return true
		}
	}
	return false
}

// Field reports whether any component of the path of field i has held an array.
func (m MultikeyPaths) Field(i int) bool { return m.arrays(i) != 0 }

// OnlyAtEnd reports whether no other component of the path of field i than the last has held an array.
func (m MultikeyPaths) OnlyAtEnd(i int) bool {
	arrays := m.arrays(i)
	return arrays == 0 || m[i].Path.Len() < 64 && arrays == 1<<(m[i].Path.Len()-1)
}

func (m MultikeyPaths) arrays(i int) uint64 {
	if i >= len(m) {
		return 0
	}
	return m[i].Arrays
}

// SharesPrefix reports whether the path of field i and that of one of the others lead through the same array.
// Different elements may then satisfy predicates on the two fields, so the planner must not combine their bounds.
// Manual: core/multikey-index-bounds.
func (m MultikeyPaths) SharesPrefix(i int, others []int) bool {
	for _, j := range others {
		if m.SharesArray(i, j, 0) {
			return true
		}
	}
	return false
}

// SharesArray reports whether the paths of the fields i and j lead through the same array at component from or later.
// Field i shares with itself each array on its path. from is larger than 0 for predicates within one $elemMatch:
// they concern the same element of the arrays above.
func (m MultikeyPaths) SharesArray(i, j, from int) bool {
	from = min(from, 63) // components beyond 63 share the last bit
	common := m.arrays(i) & m.arrays(j) &^ (1<<from - 1)
	for k := from; common != 0 && k < 64; k++ {
		if common&(1<<k) != 0 && m[i].Path.HasPrefix(m[j].Path.Prefix(k+1)) {
			return true
		}
	}
	return false
}

// Covers reports whether m contains every array of n.
func (m MultikeyPaths) Covers(n MultikeyPaths) bool {
	for i := range n {
		if n[i].Arrays&^m.arrays(i) != 0 {
			return false
		}
	}
	return true
}

// Union returns the arrays that are recorded in m or n, which must be of the same index.
func (m MultikeyPaths) Union(n MultikeyPaths) MultikeyPaths {
	if m.Covers(n) {
		return m
	}
	u := make(MultikeyPaths, max(len(m), len(n)))
	copy(u, m)
	for i := range n {
		u[i] = FieldArrays{n[i].Path, n[i].Arrays | m.arrays(i)}
	}
	return u
}

// Append writes m into an open document, for the catalog: a field for each path, with the bits of its components as
// int64. ParseMultikey reads them.
func (m MultikeyPaths) Append(b *bson.Builder) {
	for i := range m {
		b.Int64(m[i].Path.String(), int64(m[i].Arrays))
	}
}

// ParseMultikey reads what Append wrote and ignores anything else.
func ParseMultikey(r bson.Raw) MultikeyPaths {
	var m MultikeyPaths
	for it := r.Iter(); it.Next() && len(m) <= fieldsMax; {
		set, _ := it.Value.Int64()
		m = append(m, FieldArrays{path.Must(string(it.Name)), uint64(set)})
	}
	return m
}

// AppendComponents writes m into an open document in the form of multikeyPaths in MongoDB's catalog: for each field a
// byte for each component of its path, 1 if the component has held an array.
func (m MultikeyPaths) AppendComponents(b *bson.Builder, fields []string) {
	for i, name := range fields {
		components := make([]byte, path.Must(name).Len())
		for k := range components {
			components[k] = byte(m.arrays(i) >> min(k, 63) & 1)
		}
		b.Binary(name, 0, components)
	}
}

// AppendPaths writes m into an open document in the form of multiKeyPaths in explain: for each field the prefixes of
// its path that have held arrays.
// Manual: reference/explain-results.
func (m MultikeyPaths) AppendPaths(b *bson.Builder, fields []string) {
	for i, name := range fields {
		b.BeginArray(name)
		for set := m.arrays(i); set != 0; set &= set - 1 {
			b.String("", m[i].Path.Prefix(bits.TrailingZeros64(set)+1).String())
		}
		b.End()
	}
}
