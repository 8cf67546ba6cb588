package catalog

import (
	"context"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// The whole catalog is kept in memory, from start to end. The bytes of each definition are bounded. All definitions
// together use a part of the working memory, and those of one database may hold at most twice the bytes that are
// free. This bounds the numbers of collections, indexes and partitions too.
const (
	// optionsBytesMax bounds the options of a collection or view, with its validator or pipeline.
	optionsBytesMax = 1 << 20
	// indexBytesMax bounds the specification of an index.
	indexBytesMax = 64 << 10

	// entryHeld, partitionHeld and byteHeld are upper bounds, in bytes, of the heap memory used by an entry, by a
	// partition (both with all that other packages keep for them), and by each byte of options (TestMetadataBytes).
	entryHeld, partitionHeld, byteHeld = 2 << 10, 3 << 10, 4
)

// unlimitedBytes is larger than any possible number of bytes.
const unlimitedBytes = 1 << 50

// weigh returns the bytes counted for a collection.
func weigh(c *Collection) int64 {
	n := entryHeld + c.Options.held + int64(len(c.Zones))*256 + c.Planned.weigh() + c.Throughput.Switches.Tenants.held()
	for _, ix := range c.Indexes {
		n += ix.Held
	}
	if c.Map != nil {
		n += int64(c.Map.Len()) * partitionHeld
	}
	return n
}

// weigh returns the bytes counted for the options.
func (o *Options) weigh() int64 {
	n := int64(len(o.Raw)) * byteHeld
	for _, parsed := range []string{"validator", "encryptedFields"} {
		if d, ok := o.Raw.Get(parsed).Doc(); ok {
			n += mql.ParsedHeld(d)
		}
	}
	return n
}

// count adds n bytes to those of a database.
func (s *Snapshot) count(db string, n int64) {
	s.heldAll += n
	s.held.put(db, s.held.get(db)+n)
}

// CountIn counts the bytes of the catalog in the memory limit m from now on. It is called before the first change.
func (c *Catalog) CountIn(m *ratelimit.Memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory = m
	m.Force(c.current.Load().heldAll)
}

// RoomForPartitions returns how many partitions the collections of a database may still add.
func (c *Catalog) RoomForPartitions(db string) int {
	free, own := min(c.memory.Free(), unlimitedBytes), c.current.Load().held.get(db)
	return int(max(0, (ratelimit.ShareFactor*free-own)/(ratelimit.ShareFactor+1)/partitionHeld))
}

// Fits returns an error if the collection could not be put, such as because its definition or those of its database
// are too large. Errors: errors of Mutation.Put.
func (c *Catalog) Fits(coll *Collection) error {
	return newMutation(context.Background(), c.current.Load(), nil, c.memory).Put(coll.clone())
}

// fits rejects an entry that exceeds the limit of a definition, and an entry that makes its database hold more than
// its limit and more than before. Entries of an earlier release that are already too large may stay, and may shrink.
// The entry has been put. Errors: BSONObjectTooLarge (10334), OperationFailed (96).
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
	own, free := m.next.held.get(db), min(m.memory.Free(), unlimitedBytes)-(m.next.heldAll-m.base.heldAll)
	if own <= m.base.held.get(db) || free >= 0 && own <= ratelimit.ShareFactor*free {
		return nil
	}
	return mongoerr.New(mongoerr.OperationFailed, "the collections, indexes and partitions of database %s would hold %d KB of memory, with %d KB left for all: "+
		"drop some that are not needed, make fewer partitions (less RU/s, numInitialChunks), or raise --work-memory", db, own>>10, max(0, free)>>10)
}
