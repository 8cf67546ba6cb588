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
}

// inlineShards is the number of shards for which a Meter does not allocate.
const inlineShards = 4

// Probing distinguishes the work of one query from that of a batch of queries that the server makes itself,
// as $lookup does. The caller charges a batch by its queries (R8), so the work that their price includes is
// not counted a second time.
type Probing uint8

// NotProbing is one query; ProbeQueries a batch of queries (R2), whose partition visits are counted already;
// ProbePoints a batch of point reads (R1), which pay for nothing else.
const (
	NotProbing Probing = iota
	ProbeQueries
	ProbePoints
)

// Probe switches to counting for a batch, and returns the previous setting.
func (m *Meter) Probe(p Probing) (before Probing) {
	if m == nil {
		return NotProbing
	}
	before, m.probing = m.probing, p
	return before
}

// slot counts the work at one place.
type slot struct {
	shardID  ShardID
	bytes    int64 // of the documents read, returned or stored; it has no price
	quantity [itemCount]int64
}

// Reset empties the meter and prepares it for one collection's work; prices nil means Normative.
func (m *Meter) Reset(collection uint64, prices *PriceList) {
	if m == nil {
		return
	}
	clear(m.inline[:m.n]) // the others are empty
	clear(m.index)
	m.prices, m.collection, m.more = prices, collection, m.more[:0]
	m.strong, m.probing, m.last, m.n = false, NotProbing, 0, 0
}

// SetPrices makes everything the meter has counted and will count be priced by a list; nil means Normative.
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

// SetCollection makes Add count for another collection from now on; what was counted stays.
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

// SetStrong applies rule R11 to everything this meter read: reads cost ReadFactor times as much.
func (m *Meter) SetStrong(strong bool) {
	if m != nil {
		m.strong = strong
	}
}

// Fork returns an empty meter for another goroutine or another collection ($lookup, $merge), to be merged later.
// Fork of nil is nil.
func (m *Meter) Fork(collection uint64) *Meter {
	if m == nil {
		return nil
	}
	return &Meter{prices: m.prices, strong: m.strong, probing: m.probing, collection: collection}
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
}

// Cut moves what was counted so far to to, and resets to before. m may be nil.
func (m *Meter) Cut(to *Meter) {
	if m == nil {
		return
	}
	to.Reset(m.collection, m.prices)
	to.strong = m.strong
	to.Merge(m)
	strong, probing := m.strong, m.probing
	m.Reset(m.collection, m.prices)
	m.strong, m.probing = strong, probing
}

// Add counts a quantity of an item at one shard. Quantities that are not positive are ignored.
func (m *Meter) Add(shard int, i Item, quantity int64) {
	if m == nil || quantity <= 0 || i >= itemCount || m.probing == ProbePoints && i.ofQuery() || m.probing == ProbeQueries && i == ResultSet {
		return
	}
	s := m.slot(ShardID{m.collection, shard})
	s.quantity[i] += quantity
	if i == ByteReturned {
		s.bytes += quantity
	}
}

// Loaded counts one fetched document of bytes bytes, on which predicates beyond the query's first are tested.
func (m *Meter) Loaded(shard int, bytes, predicates int) {
	if m == nil || m.probing == ProbePoints {
		return
	}
	s := m.slot(ShardID{m.collection, shard})
	s.quantity[DocLoaded]++
	s.quantity[LoadedByte] += int64(bytes)
	s.quantity[PredicateTest] += int64(predicates)
}

// PointRead counts one read by _id and shard key; bytes is the document's size, 0 when nothing was found.
func (m *Meter) PointRead(shard int, bytes int) {
	if m != nil && m.probing == NotProbing {
		m.sized(shard, PointRead, bytes)
	}
}

// WaiveLocate removes the point reads of a statement that then wrote, or failed to: the price of a write by
// key includes finding the document (R6, R12). A statement that left the document unchanged still pays for
// them.
func (m *Meter) WaiveLocate() {
	if m == nil || m.Sum(WriteNew)+m.Sum(WriteOld)+m.Sum(Failure) == 0 {
		return
	}
	m.each(func(s *slot) { s.quantity[PointRead], s.quantity[PointReadByte] = 0, 0 })
}

// Conflict removes the writes of a statement that had a write conflict, and its reads by key before. The
// statement pays for a failure instead (R12), at its first shard.
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

// Replaced counts the old version of an update, whose new one WriteNew counts.
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

// Terms counts index entries whose weights (PriceList.TermWeight) add up to the given sums.
func (m *Meter) Terms(shard int, added, removed int64) {
	m.Add(shard, TermAdded, added)
	m.Add(shard, TermRemoved, removed)
}

// TermWeight returns the weight of one index entry under this meter's prices.
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

// Spread returns the collection of the first counted work, and the number of its shards with counted work.
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

// Total returns the charge for everything counted so far. A command answered in pages charges each page with
// the growth of Total, so the pages add up to the price of the whole.
func (m *Meter) Total() MicroRU {
	var total MicroRU
	m.EachCharge(func(_ ShardID, c MicroRU) { total = addSaturating(total, c) })
	return total
}

// EachCharge calls yield with the charge of every place, in the order of first use. It does not allocate.
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

// sized counts one operation of the given base item, and its bytes beyond the first KiB as the item after the
// base item.
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
