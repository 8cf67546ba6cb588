package tracing

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/command"
)

// span holds the data of a command.
type span struct {
	parent
	id         [8]byte
	begun      time.Time
	took       time.Duration
	operation  string
	db, coll   string
	app        string
	client     string // address of the connection
	port       int
	charge     float64
	partitions int
	documents  int64
	code       mongoerr.Code
	throttled  bool
}

// Record puts the span of an ended command into the queue, if the client's trace context marks it as sampled or,
// without one, a random choice by Config.Ratio does. Silent, secret and unmetered commands have no span.
func (e *Exporter) Record(c *command.Call, ended command.Outcome) {
	if c.Def.Facts.Has(command.Silent|command.Secret) || c.Op.Unmetered {
		return
	}
	from, known := parent{}, false
	if !c.Comment.IsMissing() {
		from, known = contextOf(c.Comment)
	}
	if known && !from.sampled || !known && rand.Float64() >= e.ratio {
		return
	}
	if !known {
		from = parent{}
		binary.BigEndian.PutUint64(from.trace[:8], rand.Uint64())
		binary.BigEndian.PutUint64(from.trace[8:], rand.Uint64()|1)
	}
	s := span{parent: from, begun: c.Start, took: ended.Took, operation: c.Def.Name, db: strings.Clone(c.DB),
		charge: float64(ended.Charge) / float64(ratelimit.RU), documents: c.Op.Receipt.Sum(ratelimit.DocLoaded), throttled: ended.Refused()}
	binary.BigEndian.PutUint64(s.id[:], rand.Uint64()|1)
	if ns := c.Running.NS; c.Def.Namespace != command.SeveralNamespaces && ns.Coll != "" {
		s.db, s.coll = strings.Clone(ns.DB), strings.Clone(ns.Coll)
	}
	_, s.partitions = c.Op.Receipt.Spread()
	s.app = strings.Clone(c.Op.AppName)
	if a, ok := c.Conn.Remote().(*net.TCPAddr); ok {
		s.client, s.port = a.IP.String(), a.Port
	}
	if ended.Err != nil {
		s.code = mongoerr.From(ended.Err).Code
	}
	e.add(s)
}
