package command

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/shard/cluster"
)

// StatsSampling selects the executions that $queryStats counts, by server parameters. Safe for concurrent use.
// Manual: reference/operator/aggregation/queryStats.
type StatsSampling struct {
	reads, writes atomic.Uint64 // the bits of the share of executions, 0 to 1
	perSecond     atomic.Int64  // the number of executions without a share: -1 for all
	second, taken atomic.Int64  // the executions in that second since 1970
	// Bytes is the memory for the statistics; 0 for a share of the memory of commands.
	Bytes atomic.Int64
	// Passed is the number of executions that were not selected since the start of this server.
	Passed atomic.Int64
}

// StatsShare is the default share of executions that $queryStats counts.
// Manual: release-notes/9.0.
const StatsShare = 0.01

// init sets the defaults.
func (s *StatsSampling) init() {
	s.SetReads(StatsShare)
	s.SetWrites(StatsShare)
}

// SetReads sets the share of reads: internalQueryStatsSampleRate.
func (s *StatsSampling) SetReads(share float64) { s.reads.Store(math.Float64bits(share)) }

// SetWrites sets the share of writes: internalQueryStatsWriteCmdSampleRate.
func (s *StatsSampling) SetWrites(share float64) { s.writes.Store(math.Float64bits(share)) }

// SetPerSecond sets the maximum of executions in a second, which holds while the share is 0: internalQueryStatsRateLimit.
func (s *StatsSampling) SetPerSecond(n float64) { s.perSecond.Store(int64(n)) }

// take decides on one execution.
func (s *StatsSampling) take(write bool, now time.Time) bool {
	share := &s.reads
	if write {
		share = &s.writes
	}
	if bits := share.Load(); bits != 0 {
		p := math.Float64frombits(bits)
		return p >= 1 || rand.Float64() < p || s.pass()
	}
	n := s.perSecond.Load()
	if n <= 0 {
		return n < 0
	}
	if at, was := now.Unix(), s.second.Load(); at != was && s.second.CompareAndSwap(was, at) {
		s.taken.Store(0)
	}
	return s.taken.Add(1) <= n || s.pass()
}

// pass counts an execution that is not selected.
func (s *StatsSampling) pass() bool {
	s.Passed.Add(1)
	return false
}

// StatsBytes returns the memory for the statistics of $queryStats: internalQueryStatsCacheSize, or else 1 % of the memory of
// commands.
func (s *Server) StatsBytes() int64 {
	if n := s.Sampling.Bytes.Load(); n > 0 {
		return n
	}
	return s.StatsMemory(1)
}

// StatsMemory returns a percentage of the memory of commands.
func (s *Server) StatsMemory(percent float64) int64 {
	all := int64(mql.StageBytesMax)
	if s.WorkMemory != nil {
		all = s.WorkMemory.Max()
	}
	return int64(float64(all) * percent / 100)
}

// sampled reports whether $queryStats counts this execution of the command.
func (c *Call) sampled() bool {
	if c.Def.Stats == nil || !c.Def.Stats(c.Release()) || c.Op.Unmetered {
		return false
	}
	return c.Server.Sampling.take(c.Def.Kind == KindWrite, c.Start)
}

// EveryRelease is the Stats of a command that $queryStats has in every release.
func EveryRelease(release.Release) bool { return true }

// Since returns the Stats of a command that $queryStats has since a behaviour.
func Since(b release.Behaviour) func(release.Release) bool {
	return func(r release.Release) bool { return r.Has(b) }
}

// Aside returns a copy of the call that reads the arguments of its command once more, with a language environment of its own: what
// it reads has no effect on the command. The copy may not run the command.
func (c *Call) Aside() *Call {
	x := *c
	x.cachedOutline = cachedOutline{}
	env := mql.NewEnv(c.Ctx)
	env.NowMillis, env.Clock, env.DB = c.Start.UnixMilli(), c.Cluster.Now, c.DB
	env.JavaScript, env.StableOnly = c.Server.JavaScript, c.StableOnly()
	env.Cosmos, env.Release, env.ServerRelease = c.ConnState.Cosmos, c.Release(), c.Server.Release
	x.Op = cluster.Op{Env: env, User: c.Op.User, TxnNumber: -1}
	return &x
}
