package plans

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// watchKind is the kind of reads that query settings are for: those with the same command, query shape or plan cache shape. The
// most specific comes first.
type watchKind uint8

const (
	watchExact watchKind = iota
	watchSimilar
	watchPlan
	watchKinds
)

// String returns the name of the kind in commands.
func (k watchKind) String() string { return command.WatchKinds[k] }

// watchKindNamed returns the kind with a name, watchSimilar for "".
func watchKindNamed(name string) watchKind {
	if at := slices.Index(command.WatchKinds, name); at >= 0 {
		return watchKind(at)
	}
	return watchSimilar
}

// thing returns what reads of the kind have in common, for errors.
func (k watchKind) thing() string { return [...]string{"command", "shape", "plan cache shape"}[k] }

// watchKey identifies the reads that query settings are for.
type watchKey struct {
	kind  watchKind
	hash  string
	query bson.Raw // one of these reads; nil if only the hash was given
	shape bson.Raw // its query shape; nil without query
}

// keyOf returns the hash of a read of which the query shape is given. Hashes of different kinds differ.
func (k watchKind) keyOf(c *command.Call, x *explained.Explained, shape bson.Raw) string {
	b := bson.NewBuilder(nil)
	switch k {
	case watchSimilar:
		return shapeHash(shape)
	case watchExact:
		for name, v := range c.Body.Fields() {
			if n := string(name); n != "explain" && !arguments.Generic(n) {
				b.Value(n, v)
			}
		}
	case watchPlan:
		b.String("coll", x.Ns.Coll)
		b.Raw("plan", planShape(c, x))
	}
	sum := sha256.Sum256(append([]byte(k.String()+" "+c.DB+" "), b.Doc()...))
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// key returns the key of the settings.
func (q *querySetting) key() watchKey { return watchKey{q.kind, q.hash, q.query, q.shape} }

// watchCounts counts the reads that query settings have stopped, changed or refused, since the start of this server. Safe for
// concurrent use.
type watchCounts struct {
	runaways ratelimit.RunawayCounts
	rejected atomic.Int64
}

// append appends the counts, if there are some.
func (n *watchCounts) append(b *bson.Builder) {
	var list [ratelimit.RunawayActions]int64
	for a := range n.runaways {
		list[a] = n.runaways[a].Load()
	}
	command.AppendRunawayCounts(b, list, n.rejected.Load())
}

// matched holds the settings for one read by kind; nil for none.
type matched [watchKinds]*querySetting

// of returns the settings for a read, whose query shape is given. A pipeline that shows query settings never has any:
// otherwise settings that reject it would be hidden.
func (s *querySettings) of(c *command.Call, x *explained.Explained, shape bson.Raw) (m matched) {
	t := s.table.Load()
	if t == nil || x.Pipeline != nil && x.Pipeline.First != nil && x.Pipeline.First.NoSettings {
		return m
	}
	now := c.Cluster.Now()
	for k := range watchKinds {
		if !t.kinds[k] {
			continue
		}
		if q := t.byHash[k.keyOf(c, x, shape)]; q != nil && q.kind == k && !q.expired(now) {
			m[k] = q
		}
	}
	return m
}

// allowed returns the index hints of the most specific settings that have some.
func (m *matched) allowed() []plan.Allowed {
	for _, q := range m {
		if q != nil && len(q.allowed) > 0 {
			return q.allowed
		}
	}
	return nil
}

// appendTo appends the settings for explain: those of the query shape as MongoDB shows them, and those that limit or refuse the
// read as the watch list.
func (m *matched) appendTo(b *bson.Builder, now time.Time) {
	if q := m[watchSimilar]; q != nil {
		b.Raw("querySettings", q.settings)
	}
	if !slices.ContainsFunc(m[:], (*querySetting).watches) {
		return
	}
	b.BeginArray("runawayWatch")
	for k, q := range m {
		if !q.watches() {
			continue
		}
		b.BeginDoc("")
		b.String("watch", watchKind(k).String())
		b.Raw("settings", q.settings)
		q.counts.append(b)
		b.End()
	}
	b.End()
}

// watches reports whether the settings limit or refuse reads. q may be nil.
func (q *querySetting) watches() bool { return q != nil && (q.reject || q.cap > 0) }

// WatchList visits the settings that limit or refuse reads.
func (s *State) WatchList(visit func(command.Watch)) {
	for _, q := range s.querySettings.unexpired(s.Cluster.Now()) {
		if !q.watches() || q.query == nil {
			continue
		}
		text := "refuses these reads"
		if !q.reject {
			text = fmt.Sprintf("limits these reads to %s RU (%s)", q.cap, q.rule.Action)
		}
		if q.expires != 0 {
			text += " until " + time.UnixMilli(q.expires).UTC().Format(time.DateTime+" MST")
		}
		visit(command.Watch{Kind: q.kind.String(), Query: q.query, Text: text})
	}
}
