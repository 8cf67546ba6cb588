package schema

import "github.com/cantledb/cantle/bson"

// oplogStats appends the statistics of the change log, which clients see as the capped collection local.oplog.rs.
// maxSize is the smaller of the bound on its bytes and the size of the disk, but not less than its bytes.
func (s *State) oplogStats(b *bson.Builder, scale int64) {
	docs, bytes := s.Jobs.LogLength()
	b.Int("size", bytes/scale)
	b.Int("count", docs)
	if docs > 0 {
		b.Int("avgObjSize", bytes/docs)
	}
	onDisk := int64(s.Cluster.StoreMetrics().LogBytes)
	if onDisk == 0 {
		onDisk = bytes // the store is remote, or no file has been written yet
	}
	b.Int("storageSize", onDisk/scale)
	b.Bool("capped", true)
	most := s.Jobs.LogBytes
	if _, disk := s.disk(); disk > 0 && (most == 0 || disk < most) {
		most = disk
	}
	b.Int("maxSize", max(most, bytes)/scale)
	b.Int32("nindexes", 0)
	b.Int32("totalIndexSize", 0)
	b.BeginDoc("indexSizes")
	b.End()
	b.Int("scaleFactor", scale)
}
