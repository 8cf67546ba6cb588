package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// Tracked holds the peak memory of a blocking operator, such as a sort, and the amounts that it has spilled to
// temporary files. The counts stay valid when the operator is closed.
type Tracked struct {
	Peak    int64 // bytes
	Spilled mql.Spilled
}

// Hold records the bytes that the operator holds now.
func (t *Tracked) Hold(bytes int) { t.Peak = max(t.Peak, int64(bytes)) }

// Spill records one spill of an operator: held bytes of memory with a number of records, written as storage
// bytes of a file. stage names the operator in the server's counters.
func (t *Tracked) Spill(env *mql.Env, stage string, held, records int, storage int64) {
	t.Hold(held)
	s := mql.Spilled{Spills: 1, Bytes: int64(held), Records: int64(records), Storage: storage}
	t.Spilled.Add(s)
	env.Memory.Spilled(stage, s)
}

// Add returns the sum of the counts of two parts of one operator.
func (t Tracked) Add(o Tracked) Tracked {
	t.Peak += o.Peak
	t.Spilled.Add(o.Spilled)
	return t
}

// Append prints the counters for explain.
// Manual: reference/explain-results, release-notes/8.2 and 8.3.
func (t Tracked) Append(b *bson.Builder) {
	b.Bool("usedDisk", t.Spilled.Spills > 0)
	b.Int64("spills", t.Spilled.Spills)
	b.Int64("spilledBytes", t.Spilled.Bytes)
	b.Int64("spilledRecords", t.Spilled.Records)
	b.Int64("spilledDataStorageSize", t.Spilled.Storage)
	b.Int64("peakTrackedMemBytes", t.Peak)
}
