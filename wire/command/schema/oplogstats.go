package schema

import "github.com/cantledb/cantle/bson"

// oplogStats prints the size of the log. It is kept for a time, not up to a size:
// what bounds it is the disk.
func (s *State) oplogStats(b *bson.Builder, scale int64) {
	docs, bytes := s.Jobs.LogKept()
	b.Int("size", bytes/scale)
	b.Int("count", docs)
	if docs > 0 {
		b.Int("avgObjSize", bytes/docs)
	}
	b.Int("storageSize", bytes/scale)
	b.Bool("capped", true)
	most := bytes
	if _, disk := s.disk(); disk > most {
		most = disk
	}
	b.Int("maxSize", most/scale)
	b.Int32("nindexes", 0)
	b.Int32("totalIndexSize", 0)
	b.BeginDoc("indexSizes")
	b.End()
	b.Int("scaleFactor", scale)
}
