package ratelimit

// Item is one kind of work that has a price. The quantity of an item is a count, except for the …Byte items, whose
// quantity is bytes. Its number is in-process only and may change between versions.
type Item uint8

// The items. Bytes "beyond the first KiB" are counted per operation, because the first KiB of every operation is
// covered by its base price; Meter.PointRead, WriteNew and WriteOld split a size that way.
const (
	PointRead      Item = iota // reads answered by _id and full shard key, found or not
	PointReadByte              // their bytes beyond the first KiB each
	PartitionVisit             // partitions a query looked into
	ExtraSeek                  // index ranges probed beyond the first, summed over partitions
	DocLoaded                  // documents fetched to be tested, sorted, grouped or returned
	ComputedTest               // documents tested with $expr, an unanchored pattern, $where
	ByteReturned               // bytes leaving the partition, after projection
	CountEntry                 // index entries counted without loading a document
	WriteNew                   // documents stored: insert, new version of an update
	WriteNewByte               // their bytes beyond the first KiB each
	WriteOld                   // documents removed: delete, old version of an update
	WriteOldByte               // their bytes beyond the first KiB each
	TermAdded                  // weight of index entries written, see PriceList.TermWeight
	TermRemoved                // weight of index entries removed
	Failure                    // duplicate key, write conflict, document validation failure: instead of the write
	Refusal                    // throttled requests
	Metadata                   // create, drop, list, customAction: against the account's metadata budget
	IdlePoll                   // change stream pages without an event
	itemCount                  // number of items
)

// ofQuery reports the items that only queries pay for, point reads do not.
func (i Item) ofQuery() bool { return i >= PartitionVisit && i <= CountEntry }

// String is the item's name, as receipts and explain print it: "docLoaded".
func (i Item) String() string {
	if i >= itemCount {
		return "unknown"
	}
	return standard.rows[i].Name
}

// Price is the row of one item: Micro millionths of a request unit for every Per units of quantity.
type Price struct {
	Item  Item
	Name  string
	Micro int64
	Per   int64
	Read  bool   // multiplied by ReadFactor under a strong consistency level
	Rules string // the rules of the published model that it serves
}

// PriceList is one version of all prices. It is immutable and safe for concurrent use.
type PriceList struct {
	Version    string // printed with every receipt; changes whenever any number below changes
	FirstBytes int64  // bytes of a document covered by the base price of a point read or write
	TermBytes  int64  // key bytes of one unit of index term weight
	TermMax    int64  // heaviest weight of one index entry
	ReadFactor int64  // R11: price of reads under a strong or bounded staleness account level
	rows       [itemCount]Price
}

// Standard is the current price list.
func Standard() *PriceList { return &standard }

// standard is the only place that knows a price. A document of s KiB (at least 1) costs 1 + (s-1)/11 to read by key and
// W0(s) = 5 + (s-1)·5/11 to write; both are a base for the first KiB plus a rate for every byte beyond.
var standard = PriceList{
	Version:    "2026-11",
	FirstBytes: kib,
	TermBytes:  128,
	TermMax:    16,
	ReadFactor: 2,
	rows: [itemCount]Price{
		PointRead:      {PointRead, "pointRead", 1_000_000, 1, true, "R1"},
		PointReadByte:  {PointReadByte, "pointReadByte", 1_000_000, 11 * kib, true, "R1"},
		PartitionVisit: {PartitionVisit, "partitionVisit", 2_500_000, 1, true, "R2 R3 R16"},
		ExtraSeek:      {ExtraSeek, "extraSeek", 250_000, 1, true, "R2 R3"},
		DocLoaded:      {DocLoaded, "docLoaded", 47_500, 1, true, "R2 R3 R9 R14 R16"},
		ComputedTest:   {ComputedTest, "computedTest", 19_000, 1, true, "R2"},
		ByteReturned:   {ByteReturned, "byteReturned", 60_000, kib, true, "R2 R16"},
		CountEntry:     {CountEntry, "countEntry", 5_000, 1, true, "R3"},
		WriteNew:       {WriteNew, "writeNew", 5_000_000, 1, false, "R4 R6 R7 R8"},
		WriteNewByte:   {WriteNewByte, "writeNewByte", 5_000_000, 11 * kib, false, "R4 R6 R7 R8"},
		WriteOld:       {WriteOld, "writeOld", 5_000_000, 1, false, "R5 R6"},
		WriteOldByte:   {WriteOldByte, "writeOldByte", 5_000_000, 11 * kib, false, "R5 R6"},
		TermAdded:      {TermAdded, "termAdded", 400_000, 1, false, "R4 R6 R14"},
		TermRemoved:    {TermRemoved, "termRemoved", 400_000, 1, false, "R5 R6"},
		Failure:        {Failure, "failure", 5_000_000, 1, false, "R12"},
		Refusal:        {Refusal, "refusal", 0, 1, false, "R13"},
		Metadata:       {Metadata, "metadata", 1_000_000, 1, false, "R15"},
		IdlePoll:       {IdlePoll, "idlePoll", 1_000_000, 1, true, "R16"},
	},
}

const kib = 1024

// Rows lists the prices in Item order: documentation, customAction replies.
func (p *PriceList) Rows() []Price { return append([]Price(nil), p.rows[:]...) }

// Price is the charge for a quantity of an item, rounded half up to a millionth.
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

// PointRead is the charge for reading one document of the given size by its key (R1). A size of 0 means nothing found.
func (p *PriceList) PointRead(bytes int64) MicroRU {
	return p.Price(PointRead, 1) + p.Price(PointReadByte, bytes-p.FirstBytes)
}

// BaseWrite is W0: the charge for storing or removing one document of the given size, without its index entries.
func (p *PriceList) BaseWrite(bytes int64) MicroRU {
	return p.Price(WriteNew, 1) + p.Price(WriteNewByte, bytes-p.FirstBytes)
}

// TermWeight is the weight of one index entry whose key values take the given bytes: 1 for every 128, at most 16.
func (p *PriceList) TermWeight(keyBytes int) int64 {
	return max(1, min(p.TermMax, (int64(keyBytes)+p.TermBytes-1)/p.TermBytes))
}
