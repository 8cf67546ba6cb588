package plans

import (
	"context"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// watchedMax is the maximum number of query shapes that are counted. At the maximum, all counts begin again.
const watchedMax = 1000

// rejectedMax is the number of query settings above which no shape is rejected automatically. representativeMax bounds the
// bytes of a query, and of its shape, that such settings keep.
const (
	rejectedMax       = 200
	representativeMax = 16 << 10
)

// storeTimeout bounds the time in which the settings of a rejected shape are stored, while the killed read waits.
const storeTimeout = 10 * time.Second

// representativeOf returns the query of a command for its query settings: the body without the arguments of every command
// except $db.
func representativeOf(body bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range body.Fields() {
		if n := string(name); n == "$db" || !arguments.Generic(n) {
			b.Value(n, v)
		}
	}
	return b.Doc()
}

// runawayWatch counts the reads that were killed at their cap, by the hash of their key. Safe for concurrent use.
type runawayWatch struct {
	mu     sync.Mutex
	killed map[string]int64
}

// count counts a kill, and reports whether it was the n-th of its key. Then the count begins again.
func (w *runawayWatch) count(hash string, n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.killed == nil || len(w.killed) >= watchedMax {
		w.killed = map[string]int64{}
	}
	w.killed[hash]++
	if w.killed[hash] < n {
		return false
	}
	delete(w.killed, hash)
	return true
}

// NoteRunaway counts a read that was killed, also in a getMore, at the default cap of the server or of its collection, by its
// command, query shape or plan cache shape. After as many as the cluster parameter defaultMaxRequestUnits.watch has, it rejects
// these reads by query settings that expire, unless they have settings of any kind. Caps of an application, a bucket, a user
// or a role do not count: a client chooses the first two itself, and a rejected shape is rejected for all clients.
func (s *State) NoteRunaway(c *command.Call, e *ratelimit.CapReached) {
	after, duration, kind := s.Settings.RunawayWatch()
	if o := e.Origin(); after == 0 || o != ratelimit.CapOfServer && o != ratelimit.CapOfCollection {
		return
	}
	body := c.Body
	if c.Page.Opened != nil {
		body = c.Page.Opened
	}
	meter := c.Op.Env.Meter
	c.Op.Env.Meter = nil // it has reached its cap
	defer func() { c.Op.Env.Meter = meter }()
	query := representativeOf(body)
	example, err := parseExample(c, query, mayHaveSettings)
	if err != nil || s.querySettings.of(example.call, example.x, example.shape) != (matched{}) {
		return
	}
	k, ns := example.key(watchKindNamed(kind)), example.x.Ns
	if len(query) > representativeMax {
		k.query = nil
	}
	if !s.watch.count(k.hash, after) {
		return
	}
	if n := len(s.querySettings.all()); n >= rejectedMax || len(k.shape) > representativeMax {
		s.Log.Warn().Str("hash", k.hash).Stringer("ns", ns).Int("settings", n).Int("shape_bytes", len(k.shape)).
			Msg("a query shape with runaway commands is not rejected: there are too many query settings, or the shape is too long")
		return
	}
	b := bson.NewBuilder(nil)
	b.Bool("reject", true)
	b.DateTime("expireAt", c.Cluster.Now().Add(duration).UnixMilli())
	b.BeginDoc("comment")
	b.Int64("runaways", after)
	b.String("limitOf", e.Origin().String())
	b.Double("limit", e.Limit().Exact())
	b.End()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Ctx), storeTimeout) // the time limit of a cursor has been stopped
	defer cancel()
	if _, err := s.putSettings(ctx, k, b.Doc()); err != nil {
		s.Log.Warn().Err(err).Str("hash", k.hash).Stringer("watch", k.kind).Msg("a query shape with runaway commands could not be rejected")
		return
	}
	s.Log.Warn().Str("hash", k.hash).Stringer("watch", k.kind).Stringer("ns", ns).Dur("duration", duration).Msg("a query shape is rejected after runaway commands")
}
