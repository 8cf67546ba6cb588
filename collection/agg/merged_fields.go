package agg

import "github.com/cantledb/cantle/bson"

// mergedFields is the result so far of $mergeObjects as a list of fields with their positions by name: one more
// document costs as much as its own fields, however many fields are there already. Fields of a document with a
// repeated name are kept as they are in the encoded document: a new name once for each time, and of a name that is
// there already, only the first value is used.
type mergedFields struct {
	list []mergedField
	at   map[string]int // position of the first field of each name
	docs int            // documents merged
}

// mergedField is one field of the result.
type mergedField struct {
	name  string
	v     bson.Value
	added int // number of the document that added the field
	set   int // number of the document that last replaced its value
	next  int // position of the next field of the same name; 0 if there is none
}

// mergedFieldBytes is the approximate memory of a mergedField in addition to its value, including its entry in the map.
const mergedFieldBytes = 160

// put merges the fields of d into the list. grew is the number of bytes by which the memory has grown.
func (m *mergedFields) put(d bson.Raw) (grew int) {
	if m.at == nil {
		m.at = map[string]int{}
	}
	m.docs++
	for it := d.Iter(); it.Next(); {
		at, ok := m.at[string(it.Name)]
		switch {
		case !ok:
			grew += m.add(string(it.Name), it.Value)
			m.at[m.list[len(m.list)-1].name] = len(m.list) - 1
		case m.list[at].added == m.docs: // the name is repeated in d
			for m.list[at].next != 0 {
				at = m.list[at].next
			}
			grew += m.add(m.list[at].name, it.Value)
			m.list[at].next = len(m.list) - 1
		case m.list[at].set != m.docs:
			m.list[at].set = m.docs
			grew += m.replace(at, it.Value)
		}
	}
	return grew
}

// add appends a copy of a field to the list.
func (m *mergedFields) add(name string, v bson.Value) (grew int) {
	kept, n := copyInto(bson.Value{}, v)
	m.list = append(m.list, mergedField{name: name, v: kept, added: m.docs})
	return n + len(name) + mergedFieldBytes
}

// replace stores a copy of v in all fields with the name of the field at a position.
func (m *mergedFields) replace(at int, v bson.Value) (grew int) {
	for {
		f := &m.list[at]
		kept, n := copyInto(f.v, v)
		f.v, grew = kept, grew+n
		if at = f.next; at == 0 {
			return grew
		}
	}
}

// append appends the fields as a document under name.
func (m *mergedFields) append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	for i := range m.list {
		b.Value(m.list[i].name, m.list[i].v)
	}
	b.End()
}
