package exec

import (
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/keyspace"
)

// keeps evaluates the filter of an index scan on the values of the current entry: below a fetch the whole filter, in a
// covered scan the part that is tested on the bytes of the key, before the document is made. If the filter distinguishes
// null and missing values and the key does not, keeps reads the record, and leaves it in the row for the fetch. An entry
// costs as much as one that is counted, unless a document is read for it. decided reports that the bytes of the key
// decided, so that the filter need not be evaluated on the document of a covered scan.
func (s *indexScan) keeps(env *mql.Env, values, bits []byte, h keyspace.Hash, id []byte) (ok, decided bool, err error) {
	if s.texts != nil {
		if ok, decided, err = s.texts.decide(values, s.dirs); err != nil {
			return false, false, err
		}
	}
	if s.node.Tested == nil {
		return ok, decided, nil
	}
	shard := int(s.src.Shard.ID)
	if s.node.Computed {
		env.Meter.Add(shard, ratelimit.ComputedTest, 1)
	}
	read := false
	if !decided {
		if ok, read, err = s.keepsDocument(env, values, bits, h, id); err != nil {
			return false, false, err
		}
	}
	if !read && (!ok || s.node.Counted) {
		env.Meter.Add(shard, ratelimit.CountEntry, 1)
	}
	return ok, decided, nil
}

// keepsDocument evaluates the filter on a document of the fields that it reads, made from the values of the current
// entry, or on the record, which it leaves in the row; then read is set.
func (s *indexScan) keepsDocument(env *mql.Env, values, bits []byte, h keyspace.Hash, id []byte) (ok, read bool, err error) {
	doc, null, err := s.rebuild(values, bits)
	if err != nil {
		return false, false, err
	}
	if read = null && s.node.NullsDiffer; read {
		if doc, err = s.record(env, h, id); err != nil {
			return false, false, err
		}
	}
	ok, err = s.filter.matches(env, s.node.Filter, doc)
	if read && err == nil {
		s.row.Doc = doc
	}
	return ok, read, err
}
