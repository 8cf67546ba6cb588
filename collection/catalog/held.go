package catalog

import (
	"context"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// The whole catalog is in memory, from start to end. Each definition is bounded in bytes. Together they have a part of the working
// memory, of which those of one database may hold twice what is left; that bounds the numbers of collections, indexes and
// partitions too.
const (
	// optionsBytesMax bounds the options of a collection or view, with its validator or pipeline.
	optionsBytesMax = 1 << 20
	// indexBytesMax bounds the specification of an index.
	indexBytesMax = 64 << 10

	// entryHeld, partitionHeld and byteHeld are what the heap holds at most of an entry and of a partition, with all that goes with
	// them elsewhere in the server, and of each byte of options, in bytes (TestHeldBytes).
	entryHeld, partitionHeld, byteHeld = 2 << 10, 3 << 10, 4
)

// endless is more than there can be.
const endless = 1 << 50

// weigh is what a collection is counted for.
func weigh(c *Collection) int64 {
	n := entryHeld + c.Options.held + int64(len(c.Zones))*256
	for _, ix := range c.Indexes {
		n += ix.Held
	}
	if c.Map != nil {
		n += int64(c.Map.Len()) * partitionHeld
	}
	return n
}

// weigh is what the options are counted for.
func (o *Options) weigh() int64 {
	n := int64(len(o.Raw)) * byteHeld
	for _, parsed := range []string{"validator", "encryptedFields"} {
		if d, ok := o.Raw.Get(parsed).Doc(); ok {
			n += mql.ParsedHeld(d)
		}
	}
	return n
}

// count adds so many bytes to those of a database.
func (s *Snapshot) count(db string, n int64) {
	s.heldAll += n
	s.held.put(db, s.held.get(db)+n)
}

// CountIn counts what the catalog holds in a memory, from now on. It is called before the first change.
func (c *Catalog) CountIn(m *ratelimit.Memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory = m
	m.Force(c.current.Load().heldAll)
}

// RoomForPartitions is how many partitions more the collections of a database may have.
func (c *Catalog) RoomForPartitions(db string) int {
	free, own := min(c.memory.Free(), endless), c.current.Load().held.get(db)
	return int(max(0, (ratelimit.ShareFactor*free-own)/(ratelimit.ShareFactor+1)/partitionHeld))
}

// Fits refuses a collection that may not be put.
// Errors: BSONObjectTooLarge (10334), OperationFailed (96).
func (c *Catalog) Fits(coll *Collection) error {
	return newMutation(context.Background(), c.current.Load(), nil, c.memory).Put(coll.clone())
}

// fits refuses an entry that is larger than one may be, and one with which its database holds more than it may and more than
// before. Those that are too large already, from an earlier release, may stay, and shrink. The entry is put.
// Errors: BSONObjectTooLarge (10334), OperationFailed (96).
func (m *Mutation) fits(c *Collection) error {
	was := m.base.byID.get(c.ID)
	if was == nil {
		was = m.base.byName.get(c.Namespace)
	}
	if n := len(c.Options.Raw); n > optionsBytesMax && (was == nil || n > len(was.Options.Raw)) {
		return mongoerr.New(mongoerr.BSONObjectTooLarge, "The options of %s have %d bytes, more than the %d that a collection or view may have: shorten its validator or pipeline", c.Namespace, n, optionsBytesMax)
	}
	for _, ix := range c.Indexes {
		n := len(ix.Raw())
		if n <= indexBytesMax {
			continue
		}
		if was == nil || was.Index(ix.Name) == nil || n > len(was.Index(ix.Name).Raw()) {
			return mongoerr.New(mongoerr.BSONObjectTooLarge, "The index %.100s of %s has %d bytes, more than the %d that a specification may have: shorten its name, filter or projection", ix.Name, c.Namespace, n, indexBytesMax)
		}
	}
	db := c.Namespace.DB
	own, free := m.next.held.get(db), min(m.memory.Free(), endless)-(m.next.heldAll-m.base.heldAll)
	if own <= m.base.held.get(db) || free >= 0 && own <= ratelimit.ShareFactor*free {
		return nil
	}
	return mongoerr.New(mongoerr.OperationFailed, "the collections, indexes and partitions of database %s would hold %d KB of memory, with %d KB left for all: "+
		"drop some that are not needed, make fewer partitions (less RU/s, numInitialChunks), or raise --work-memory", db, own>>10, max(0, free)>>10)
}
