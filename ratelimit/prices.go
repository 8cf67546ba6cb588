package ratelimit

// Item is one kind of work that has a price. The quantity of an item is a count, except for the …Byte items, whose
// quantity is bytes. The numbers of items are not stored, and may change between versions of the server.
type Item uint8

// The items. Bytes "beyond the first KiB" are counted for each operation, because its base price covers the first
// KiB; Meter.PointRead, WriteNew, WriteOld and Replaced divide the size of a document in this way.
const (
	PointRead         Item = iota // reads answered by _id and full shard key, found or not
	PointReadByte                 // their bytes beyond the first KiB each
	PartitionVisit                // partitions a query looked into
	ExtraSeek                     // index ranges probed beyond the first, summed over partitions
	Predicate                     // predicates tested on documents beyond the query's first, summed over partitions
	DocLoaded                     // documents fetched to be tested, sorted, grouped or returned
	LoadedByte                    // their bytes
	PredicateTest                 // tests of such predicates, one for each document loaded
	ComputedTest                  // documents, or index entries, tested with $expr, an unanchored pattern, $where
	ResultSet                     // partitions that returned something to a query
	ByteReturned                  // bytes leaving the partition, after projection
	CountEntry                    // index entries counted, or excluded by a filter, without loading a document
	WriteNew                      // documents stored: insert, new version of an update
	WriteNewByte                  // their bytes beyond the first KiB each
	WriteOld                      // documents removed by a delete
	WriteOldByte                  // their bytes beyond the first KiB each
	WriteReplaced                 // old versions of updates
	WriteReplacedByte             // their bytes beyond the first KiB each
	TermAdded                     // weight of index entries written, see PriceList.TermWeight
	TermRemoved                   // weight of index entries removed
	Failure                       // writes that failed: duplicate key, write conflict, validation; counted instead of the write
	Refusal                       // throttled requests
	Metadata                      // create, drop, list, customAction; paid from the account's metadata budget
	IdlePoll                      // change stream pages without an event
	itemCount                     // number of items
)

// ofQuery reports whether queries pay for the item and point reads do not.
func (i Item) ofQuery() bool { return i >= PartitionVisit && i <= CountEntry }

// Once reports whether a query counts the item a number of times that does not depend on how many documents it finds
// in a partition, such as one PartitionVisit.
func (i Item) Once() bool {
	switch i {
	case PointRead, PartitionVisit, ExtraSeek, Predicate, ResultSet:
		return true
	}
	return false
}

// String returns the item's name as printed by explain: "docLoaded".
func (i Item) String() string {
	if i >= itemCount {
		return "unknown"
	}
	return normative.rows[i].Name
}

// Price is the row of one item in a price list: Micro millionths of a request unit are charged for every Per units
// of quantity.
type Price struct {
	Item  Item
	Name  string
	Micro int64 // 0: no price in this list, and receipts leave the item out
	Per   int64
	Read  bool   // multiplied by ReadFactor under a strong consistency level
	Rules string // the rules of the published model that it implements
}

// PriceList holds one version of the prices of all items. It is immutable and safe for concurrent use.
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

// Price returns the charge for a quantity of an item, rounded half up to a millionth of a request unit.
func (p *PriceList) Price(i Item, quantity int64) MicroRU {
	if i >= itemCount {
		return 0
	}
	return scale(quantity, p.rows[i].Micro, p.rows[i].Per)
}

// priceFor returns the charge for a quantity of an item as Price does, but multiplies it by ReadFactor for a read
// item under a strong consistency level.
func (p *PriceList) priceFor(i Item, quantity int64, strong bool) MicroRU {
	r := &p.rows[i]
	if strong && r.Read {
		return scale(quantity, r.Micro*p.ReadFactor, r.Per)
	}
	return scale(quantity, r.Micro, r.Per)
}

// PointRead returns the charge for reading one document of the given size in bytes by its key (rule R1). A size of 0
// means that no document was found.
func (p *PriceList) PointRead(bytes int64) MicroRU {
	return p.Price(PointRead, 1) + p.Price(PointReadByte, bytes-p.FirstBytes)
}

// BaseWrite returns the charge for storing or removing one document of the given size in bytes, without its index
// entries.
func (p *PriceList) BaseWrite(bytes int64) MicroRU {
	return p.Price(WriteNew, 1) + p.Price(WriteNewByte, bytes-p.FirstBytes)
}

// TermWeight returns the weight of one index entry, the quantity by which TermAdded and TermRemoved are charged: 1
// for every started 128 bytes of its key values, at least 1 and at most 16.
func (p *PriceList) TermWeight(keyBytes int) int64 {
	return max(1, min(p.TermMax, (int64(keyBytes)+p.TermBytes-1)/p.TermBytes))
}
