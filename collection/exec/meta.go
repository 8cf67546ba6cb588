package exec

import (
	"math/rand/v2"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/storage/keyspace"
)

// metaBuilder makes the Meta of rows and reuses its memory.
type metaBuilder struct {
	b   bson.Builder
	buf []byte
}

// begin returns a builder with the metadata that a row has already, to which the caller adds more.
func (m *metaBuilder) begin(have bson.Raw) *bson.Builder {
	m.b.Reset(m.buf[:0])
	if len(have) > 0 {
		m.b.Splice(have.Elements())
	}
	return &m.b
}

func (m *metaBuilder) end() bson.Raw {
	m.buf = m.b.Finish()
	return bson.Raw(m.buf)
}

// SetMeta sets in s the metadata of a row that expressions read by $meta. kinds are the MetaKinds that may be
// read, as bits; of these, only MetaRecordID must be requested, because it is computed. Without a score of its own, a row
// of $text has its textScore as score. The values alias the row and s.
func (r *Row) SetMeta(s *expr.Scratch, kinds uint32) {
	for k := range s.Meta {
		s.Meta[k] = bson.Value{}
	}
	for it := r.Meta.Iter(); it.Next(); {
		if k, ok := expr.ParseMetaKind(string(it.Name)); ok {
			s.Meta[k] = it.Value
		}
	}
	if s.Meta[expr.MetaScore].IsMissing() {
		s.Meta[expr.MetaScore] = s.Meta[expr.MetaTextScore]
	}
	if kinds&(1<<expr.MetaRecordID) != 0 && r.ID != nil {
		s.Meta[expr.MetaRecordID] = s.Int64(RecordNumber(r.Hash, r.ID))
	}
}

// MetaToStore returns the metadata of a row, to be stored with a copy of its document. It includes the record
// number if kinds, as bits, has MetaRecordID.
func (r *Row) MetaToStore(kinds uint32) bson.Raw {
	if kinds&(1<<expr.MetaRecordID) == 0 || r.ID == nil {
		return r.Meta
	}
	var m metaBuilder
	b := m.begin(r.Meta)
	b.Int64(expr.MetaRecordID.String(), RecordNumber(r.Hash, r.ID))
	return m.end()
}

// AppendKey appends the key by which a row is sorted under a pattern. The pattern may refer to the row's
// metadata, such as textScore.
func AppendKey(env *mql.Env, p *order.Pattern, dst []byte, r *Row) ([]byte, error) {
	if !p.HasMeta() {
		return p.AppendKey(env, dst, r.Doc)
	}
	return p.AppendKeyMeta(env, dst, r.Doc, func(name string) bson.Value {
		if name == "randVal" {
			var a bson.Arena
			env.NoteRandom()
			return a.Double(rand.Float64())
		}
		v, ok := r.Meta.Lookup(name)
		if !ok && name == expr.MetaScore.String() {
			v = r.Meta.Get(expr.MetaTextScore.String())
		}
		return v
	})
}

// RecordNumber returns the number of a record for {$meta: "recordId"} and showRecordId. It does not
// change as long as the record keeps its _id and shard key. Records have no numbers here, so it is a
// hash of their keys.
// Manual: reference/method/cursor.showRecordId.
func RecordNumber(h keyspace.Hash, id []byte) int64 {
	const prime = 1099511628211
	n := uint64(14695981039346656037) ^ uint64(h)
	n *= prime
	for _, c := range id {
		n = (n ^ uint64(c)) * prime
	}
	return int64(n >> 1)
}
