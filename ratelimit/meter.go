package ratelimit

// ShardID identifies a shard of a collection where work happened, by the numbers in the catalog.
type ShardID struct {
	Collection uint64
	Shard      int
}

// Meter counts the work of one command, per shard and item. The zero Meter is ready; a nil *Meter counts
// nothing, so callers need not check for it. A Meter belongs to one goroutine: give every other goroutine its
// own with Fork, and add it with Merge. Quantities are integers, so the order of merging does not matter.
type Meter struct {
	prices     *PriceList
	collection uint64
	strong     bool
	probing    Probing
	last       int // slot used last, tried first
	n          int // inline slots in use
	inline     [inlineShards]slot
	more       []slot          // the shards beyond the inline ones
	index      map[ShardID]int // by place, indexes into more
	limit      *RequestCap     // of the command; nil without one
	reported   MicroRU         // part of Total that limit has counted
}

// inlineShards is the number of shards whose work a Meter counts without allocating memory.
const inlineShards = 4

// Probing distinguishes the work of one query from the work of a batch of queries that the server itself makes for a
// command, as $lookup does. The caller charges such a batch by its number of queries (rule R8), so the meter does
// not count the work that is part of that price a second time.
type Probing uint8

// NotProbing means the work of one query. ProbeQueries means a batch of queries (R2): the meter counts no partition
// visits, result sets and point reads. ProbePoints means a batch of point reads (R1): the meter also counts no other
// items of queries (Item.ofQuery).
const (
	NotProbing Probing = iota
	ProbeQueries
	ProbePoints
)

// Probe sets for which kind of batch the meter counts from now on, and returns the previous setting, which the
// caller restores afterwards.
func (m *Meter) Probe(p Probing) (before Probing) {
	if m == nil {
		return NotProbing
	}
	before, m.probing = m.probing, p
	return before
}

// counts reports whether the meter counts an item: the batch set by Probe pays for some items in another way.
func (m *Meter) counts(i Item) bool {
	switch {
	case m.probing == NotProbing:
		return true
	case i == PointRead || i == PartitionVisit || i == ExtraSeek:
		return false
	case m.probing == ProbePoints:
		return !i.ofQuery()
	}
	return i != ResultSet
}

// slot counts the work at one place.
type slot struct {
	shardID  ShardID
	bytes    int64 // of documents read by key, returned by queries, stored, replaced or removed; it has no price
	quantity [itemCount]int64
}

// Reset empties the meter and prepares it to count the work on one collection; if prices is nil, by the list
// Normative. The meter then has no cap, and what it had reported to the one before is taken back, except after Charged.
func (m *Meter) Reset(collection uint64, prices *PriceList) {
	if m == nil {
		return
	}
	m.uncount()
	clear(m.inline[:m.n]) // the others are empty
	clear(m.index)
	m.prices, m.collection, m.more = prices, collection, m.more[:0]
	m.strong, m.probing, m.last, m.n = false, NotProbing, 0, 0
}

// SetPrices sets the price list for everything that the meter has counted and will count; nil means Normative.
func (m *Meter) SetPrices(prices *PriceList) {
	if m != nil {
		m.prices = prices
	}
}

// Prices returns the price list of the meter.
func (m *Meter) Prices() *PriceList {
	if m == nil || m.prices == nil {
		return &normative
	}
	return m.prices
}

// Empty reports whether a meter has counted nothing since its Reset. A nil meter is empty.
func (m *Meter) Empty() bool { return m == nil || m.n == 0 }

// SetCollection sets the collection for which Add counts from now on; earlier counts stay with the earlier
// collection.
func (m *Meter) SetCollection(collection uint64) {
	if m != nil {
		m.collection = collection
	}
}

// Collection returns the collection for which Add counts.
func (m *Meter) Collection() uint64 {
	if m == nil {
		return 0
	}
	return m.collection
}

// SetStrong sets whether everything that this meter reads, or has read, is charged as a read under a strong
// consistency level: ReadFactor times as much (rule R11).
func (m *Meter) SetStrong(strong bool) {
	if m != nil {
		m.strong = strong
	}
}

// Fork returns an empty meter for another goroutine, or for another collection of the same command ($lookup,
// $merge). The caller adds it to m later, with Merge. Fork of nil is nil.
func (m *Meter) Fork(collection uint64) *Meter {
	if m == nil {
		return nil
	}
	return &Meter{prices: m.prices, strong: m.strong, probing: m.probing, collection: collection, limit: m.limit}
}

// Merge adds everything o counted to m. Either may be nil.
func (m *Meter) Merge(o *Meter) {
	if m == nil || o == nil {
		return
	}
	o.each(func(s *slot) {
		to := m.slot(s.shardID)
		to.bytes += s.bytes
		for i, q := range s.quantity {
			to.quantity[i] += q
		}
	})
	if m.limit != nil && m.limit == o.limit { // m reports from now on what o has reported
		m.reported, o.reported = m.reported+o.reported, 0
	}
}

// Cut moves everything that m has counted to the meter to, whose earlier counts are discarded, and empties m. So
// each part of a long command can be charged separately. m may be nil.
func (m *Meter) Cut(to *Meter) {
	if m == nil {
		return
	}
	to.Reset(m.collection, m.prices)
	to.strong, to.limit = m.strong, m.limit
	to.Merge(m)
	strong, probing, limit := m.strong, m.probing, m.limit
	m.Reset(m.collection, m.prices)
	m.strong, m.probing, m.limit = strong, probing, limit
}

// Add counts a quantity of an item at one shard. It ignores quantities that are not positive, and items that the batch
// set by Probe pays for in another way.
func (m *Meter) Add(shard int, i Item, quantity int64) {
	if m == nil || quantity <= 0 || i >= itemCount || !m.counts(i) {
		return
	}
	s := m.slot(ShardID{m.collection, shard})
	s.quantity[i] += quantity
	if i == ByteReturned {
		s.bytes += quantity
	}
}

// Loaded counts one document of the given size in bytes that a query fetched. predicates is the number of
// predicates, beyond the first of the query, that are tested on the document.
func (m *Meter) Loaded(shard int, bytes, predicates int) {
	if m == nil || m.probing == ProbePoints {
		return
	}
	s := m.slot(ShardID{m.collection, shard})
	s.quantity[DocLoaded]++
	s.quantity[LoadedByte] += int64(bytes)
	s.quantity[PredicateTest] += int64(predicates)
}

// PointRead counts one read by _id and full shard key. bytes is the size of the document, 0 if none was found.
func (m *Meter) PointRead(shard int, bytes int) {
	if m != nil && m.probing == NotProbing {
		m.sized(shard, PointRead, bytes)
	}
}

// WaiveLocate removes the point reads of a statement that then wrote a document, or failed to: the price of a write
// by key includes finding the document (rules R6, R12). If the statement left the document unchanged, its point
// reads stay and are charged.
func (m *Meter) WaiveLocate() {
	if m == nil || m.Sum(WriteNew)+m.Sum(WriteOld)+m.Sum(Failure) == 0 {
		return
	}
	m.each(func(s *slot) { s.quantity[PointRead], s.quantity[PointReadByte] = 0, 0 })
}

// Conflict replaces the counted work of a statement that had a write conflict: its writes and its reads by key are
// removed, and one Failure is counted at its first shard (rule R12).
func (m *Meter) Conflict() {
	if m == nil {
		return
	}
	at, met := ShardID{Collection: m.collection}, false
	m.each(func(s *slot) {
		if !met {
			at, met = s.shardID, true
		}
		s.quantity[PointRead], s.quantity[PointReadByte] = 0, 0
		for i := WriteNew; i <= TermRemoved; i++ {
			s.quantity[i] = 0
		}
	})
	m.slot(at).quantity[Failure]++
}

// WriteNew counts one document stored: an insert, or the new version of an update.
func (m *Meter) WriteNew(shard int, bytes int) {
	if m != nil {
		m.sized(shard, WriteNew, bytes)
	}
}

// WriteOld counts one document removed by a delete.
func (m *Meter) WriteOld(shard int, bytes int) {
	if m != nil {
		m.sized(shard, WriteOld, bytes)
	}
}

// Replaced counts the old version of an updated document; WriteNew counts the new version.
func (m *Meter) Replaced(shard int, bytes int) {
	if m != nil {
		m.sized(shard, WriteReplaced, bytes)
	}
}

// Visit counts the read of one partition with the given number of index ranges, at least 1.
func (m *Meter) Visit(shard int, seeks int) {
	if m == nil || m.probing != NotProbing {
		return
	}
	s := m.slot(ShardID{m.collection, shard})
	s.quantity[PartitionVisit]++
	s.quantity[ExtraSeek] += max(0, int64(seeks)-1)
}

// Terms counts written and removed index entries at one shard, by the sums of their weights (PriceList.TermWeight).
func (m *Meter) Terms(shard int, added, removed int64) {
	m.Add(shard, TermAdded, added)
	m.Add(shard, TermRemoved, removed)
}

// TermWeight returns the weight of one index entry, whose key has keyBytes bytes, under the price list of this
// meter.
func (m *Meter) TermWeight(keyBytes int) int64 { return m.Prices().TermWeight(keyBytes) }

// Quantity returns the quantity of an item at one shard of the current collection.
func (m *Meter) Quantity(shard int, i Item) int64 {
	if m == nil || i >= itemCount {
		return 0
	}
	var q int64
	m.each(func(s *slot) {
		if s.shardID == (ShardID{m.collection, shard}) {
			q = s.quantity[i]
		}
	})
	return q
}

// Sum returns the quantity of an item at all places.
func (m *Meter) Sum(i Item) int64 {
	if m == nil || i >= itemCount {
		return 0
	}
	var q int64
	m.each(func(s *slot) { q += s.quantity[i] })
	return q
}

// Spread returns the collection of the first work that was counted, and the number of shards of that collection with
// counted work.
func (m *Meter) Spread() (collection uint64, shards int) {
	m.each(func(s *slot) {
		if shards == 0 {
			collection = s.shardID.Collection
		}
		if s.shardID.Collection == collection {
			shards++
		}
	})
	return collection, shards
}

// Total returns the charge for everything counted so far. If a command is answered in several batches, each is
// charged the increase of Total, so the batches add up to the price of the whole.
func (m *Meter) Total() MicroRU {
	var total MicroRU
	m.EachCharge(func(_ ShardID, c MicroRU) { total = addSaturating(total, c) })
	return total
}

// EachCharge calls yield with the charge of every shard, in the order in which work was first counted there. It does
// not allocate.
func (m *Meter) EachCharge(yield func(ShardID, MicroRU)) {
	if m == nil {
		return
	}
	p := m.Prices()
	m.each(func(s *slot) {
		var c MicroRU
		for i, q := range s.quantity {
			if q != 0 {
				c = addSaturating(c, p.priceFor(Item(i), q, m.strong))
			}
		}
		yield(s.shardID, c)
	})
}

// EachOwnCharge is EachCharge without the places of other collections that the command reads.
func (m *Meter) EachOwnCharge(yield func(shard int, charge MicroRU)) {
	m.EachCharge(func(at ShardID, charge MicroRU) {
		if at.Collection == m.collection {
			yield(at.Shard, charge)
		}
	})
}

// sized counts one operation on a document of the given size: one of the item base, and the bytes beyond the first
// KiB as the item that follows base (PointReadByte after PointRead).
func (m *Meter) sized(shard int, base Item, bytes int) {
	s := m.slot(ShardID{m.collection, shard})
	s.bytes += int64(bytes)
	s.quantity[base]++
	s.quantity[base+1] += max(0, int64(bytes)-m.Prices().FirstBytes)
}

// slot finds or creates the slot of a place.
func (m *Meter) slot(p ShardID) *slot {
	if m.last < m.n && m.inline[m.last].shardID == p {
		return &m.inline[m.last]
	}
	for i := range m.n {
		if m.inline[i].shardID == p {
			m.last = i
			return &m.inline[i]
		}
	}
	if m.n < inlineShards {
		m.inline[m.n].shardID = p
		m.last = m.n
		m.n++
		return &m.inline[m.last]
	}
	if i, ok := m.index[p]; ok {
		return &m.more[i]
	}
	if m.index == nil {
		m.index = make(map[ShardID]int)
	}
	m.index[p] = len(m.more)
	m.more = append(m.more, slot{shardID: p})
	return &m.more[len(m.more)-1]
}

// each visits the slots in the order of creation.
func (m *Meter) each(visit func(*slot)) {
	for i := range m.n {
		visit(&m.inline[i])
	}
	for i := range m.more {
		visit(&m.more[i])
	}
}
