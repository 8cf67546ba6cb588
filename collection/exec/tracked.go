package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// Tracked is what a blocking operator held in memory at most, and what it has put into
// temporary files. It is still known when the operator is closed.
type Tracked struct {
	Peak    int64 // bytes
	Spilled mql.Spilled
}

// Hold notes what the operator holds now.
func (t *Tracked) Hold(bytes int) { t.Peak = max(t.Peak, int64(bytes)) }

// Spill notes that the operator of a stage has put what it held into a file of which that is
// so many bytes.
func (t *Tracked) Spill(env *mql.Env, stage string, held, records int, storage int64) {
	t.Hold(held)
	s := mql.Spilled{Spills: 1, Bytes: int64(held), Records: int64(records), Storage: storage}
	t.Spilled.Add(s)
	env.Memory.Spilled(stage, s)
}

// Add joins what two parts of an operator hold and have spilled.
func (t Tracked) Add(o Tracked) Tracked {
	t.Peak += o.Peak
	t.Spilled.Add(o.Spilled)
	return t
}

// Append prints what explain tells of it.
// Manual: reference/explain-results, release-notes/8.2 and 8.3.
func (t Tracked) Append(b *bson.Builder) {
	b.Bool("usedDisk", t.Spilled.Spills > 0)
	b.Int64("spills", t.Spilled.Spills)
	b.Int64("spilledBytes", t.Spilled.Bytes)
	b.Int64("spilledRecords", t.Spilled.Records)
	b.Int64("spilledDataStorageSize", t.Spilled.Storage)
	b.Int64("peakTrackedMemBytes", t.Peak)
}
