package exec

import (
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/keyspace"
)

// keeps evaluates the filter of an index scan below a fetch on the values of the current entry. If the filter
// distinguishes null and missing values and the key does not, keeps reads the record, and leaves it in the row for the
// fetch. An entry costs as much as one that is counted, unless a document is read for it.
func (s *indexScan) keeps(env *mql.Env, values, bits []byte, h keyspace.Hash, id []byte) (bool, error) {
	shard := int(s.src.Shard.ID)
	if s.node.Computed {
		env.Meter.Add(shard, ratelimit.ComputedTest, 1)
	}
	doc, null, err := s.rebuild(values, bits)
	if err != nil {
		return false, err
	}
	read := null && s.node.NullsDiffer
	if read {
		if doc, err = s.record(env, h, id); err != nil {
			return false, err
		}
	}
	ok, err := s.filter.matches(env, s.node.Filter, doc)
	switch {
	case err != nil:
		return false, err
	case read:
		s.row.Doc = doc
	case !ok || s.node.Counted:
		env.Meter.Add(shard, ratelimit.CountEntry, 1)
	}
	return ok, nil
}
