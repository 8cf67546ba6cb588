package ratelimit

// Item is one kind of work that has a price. The quantity of an item is a count, except for the …Byte items, whose
// quantity is bytes. Its number is in-process only and may change between versions.
type Item uint8

// The items. Bytes "beyond the first KiB" are counted per operation, because the first KiB of every operation is
// covered by its base price; Meter.PointRead, WriteNew, WriteOld and Replaced split a size that way.
const (
	PointRead         Item = iota // reads answered by _id and full shard key, found or not
	PointReadByte                 // their bytes beyond the first KiB each
	PartitionVisit                // partitions a query looked into
	ExtraSeek                     // index ranges probed beyond the first, summed over partitions
	Predicate                     // predicates tested on documents beyond the query's first, summed over partitions
	DocLoaded                     // documents fetched to be tested, sorted, grouped or returned
	LoadedByte                    // their bytes
	PredicateTest                 // tests of such predicates, one for each document loaded
	ComputedTest                  // documents tested with $expr, an unanchored pattern, $where
	ResultSet                     // partitions that returned something to a query
	ByteReturned                  // bytes leaving the partition, after projection
	CountEntry                    // index entries counted without loading a document
	WriteNew                      // documents stored: insert, new version of an update
	WriteNewByte                  // their bytes beyond the first KiB each
	WriteOld                      // documents removed by a delete
	WriteOldByte                  // their bytes beyond the first KiB each
	WriteReplaced                 // old versions of updates
	WriteReplacedByte             // their bytes beyond the first KiB each
	TermAdded                     // weight of index entries written, see PriceList.TermWeight
	TermRemoved                   // weight of index entries removed
	Failure                       // duplicate key, write conflict, document validation failure: instead of the write
	Refusal                       // throttled requests
	Metadata                      // create, drop, list, customAction: against the account's metadata budget
	IdlePoll                      // change stream pages without an event
	itemCount                     // number of items
)

// ofQuery reports whether queries pay for the item and point reads do not.
func (i Item) ofQuery() bool { return i >= PartitionVisit && i <= CountEntry }

// Once reports whether the quantity of the item in a partition is independent of what a query finds there.
func (i Item) Once() bool {
	switch i {
	case PointRead, PartitionVisit, ExtraSeek, Predicate, ResultSet:
		return true
	}
	return false
}

// String returns the item's name as printed by receipts and explain: "docLoaded".
func (i Item) String() string {
	if i >= itemCount {
		return "unknown"
	}
	return normative.rows[i].Name
}

// Price is the row of one item: Micro millionths of a request unit for every Per units of quantity.
type Price struct {
	Item  Item
	Name  string
	Micro int64 // 0: no price in this list, and receipts leave the item out
	Per   int64
	Read  bool   // multiplied by ReadFactor under a strong consistency level
	Rules string // the rules of the published model that it implements
}

// PriceList is one version of all prices. It is immutable and safe for concurrent use.
type PriceList struct {
	Name       string // as in --prices
	Version    string // changes whenever any number below changes
	FirstBytes int64  // bytes of a document covered by the base price of a point read or write
	TermBytes  int64  // key bytes of one unit of index term weight
	TermMax    int64  // heaviest weight of one index entry
	ReadFactor int64  // R11: price of reads under a strong or bounded staleness account level
	rows       [itemCount]Price
}

// String returns the name and version of the list as printed beside charges: "mongo-2023/2026-11".
func (p *PriceList) String() string { return p.Name + "/" + p.Version }

const kib = 1024

// Rows returns the prices in Item order, for documentation and customAction replies.
func (p *PriceList) Rows() []Price { return append([]Price(nil), p.rows[:]...) }

// Price returns the charge for a quantity of an item, rounded half up to a millionth.
func (p *PriceList) Price(i Item, quantity int64) MicroRU {
	if i >= itemCount {
		return 0
	}
	return scale(quantity, p.rows[i].Micro, p.rows[i].Per)
}

// priceFor is Price with the strong-consistency factor applied to read items.
func (p *PriceList) priceFor(i Item, quantity int64, strong bool) MicroRU {
	r := &p.rows[i]
	if strong && r.Read {
		return scale(quantity, r.Micro*p.ReadFactor, r.Per)
	}
	return scale(quantity, r.Micro, r.Per)
}

// PointRead returns the charge for reading one document of the given size by its key (R1). A size of 0 means
// nothing found.
func (p *PriceList) PointRead(bytes int64) MicroRU {
	return p.Price(PointRead, 1) + p.Price(PointReadByte, bytes-p.FirstBytes)
}

// BaseWrite returns W0: the charge for storing or removing one document of the given size, without its index
// entries.
func (p *PriceList) BaseWrite(bytes int64) MicroRU {
	return p.Price(WriteNew, 1) + p.Price(WriteNewByte, bytes-p.FirstBytes)
}

// TermWeight returns the weight of one index entry whose key values take the given bytes: 1 for every 128, at
// most 16.
func (p *PriceList) TermWeight(keyBytes int) int64 {
	return max(1, min(p.TermMax, (int64(keyBytes)+p.TermBytes-1)/p.TermBytes))
}
