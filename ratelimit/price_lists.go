package ratelimit

import (
	"cmp"
	"fmt"
	"strings"
)

// Normative returns the price list that follows the published rules: a point read of 1 KiB costs 1 RU, an insert of
// 1 KiB costs 5 RU.
func Normative() *PriceList { return &normative }

// PriceList returns the price list of the server.
func (b *Budgets) PriceList() *PriceList { return cmp.Or(b.Prices, &normative) }

// Mongo2023 returns the price list whose prices were fitted to the charges of Azure Cosmos DB for MongoDB from 2020
// to 2023.
func Mongo2023() *PriceList { return &mongo2023 }

// PriceLists returns all lists.
func PriceLists() []*PriceList { return []*PriceList{&normative, &mongo2023} }

// PriceListNames lists the names.
func PriceListNames() (names []string) {
	for _, p := range PriceLists() {
		names = append(names, p.Name)
	}
	return names
}

// FindPriceList returns the price list with the given name ("mongo-2023") or name and version
// ("mongo-2023/2026-11"); nil if there is none.
func FindPriceList(name string) *PriceList {
	for _, p := range PriceLists() {
		if name == p.Name || name == p.String() {
			return p
		}
	}
	return nil
}

// ParsePriceList returns the price list that FindPriceList finds by the name. If there is none, it returns an error
// whose text lists the valid names.
func ParsePriceList(name string) (*PriceList, error) {
	if list := FindPriceList(name); list != nil {
		return list, nil
	}
	return nil, fmt.Errorf("%s: there is no such list; there are %s", name, strings.Join(PriceListNames(), ", "))
}

// normative and mongo2023 are the only places with prices. Under the normative list a document of s KiB (at least 1)
// costs 1 + (s-1)/11 RU to read by key, and 5 + (s-1)·5/11 RU to store or remove without its index entries. Both are a base
// price for the first KiB plus a rate for every further byte.
var normative = PriceList{
	Name:       "normative",
	Version:    "2026-11",
	FirstBytes: kib,
	TermBytes:  128,
	TermMax:    16,
	ReadFactor: 2,
	rows: [itemCount]Price{
		PointRead:         {PointRead, "pointRead", 1_000_000, 1, true, "R1"},
		PointReadByte:     {PointReadByte, "pointReadByte", 1_000_000, 11 * kib, true, "R1"},
		PartitionVisit:    {PartitionVisit, "partitionVisit", 2_500_000, 1, true, "R2 R3 R16"},
		ExtraSeek:         {ExtraSeek, "extraSeek", 250_000, 1, true, "R2 R3"},
		Predicate:         {Predicate, "predicate", 0, 1, true, "R2"},
		DocLoaded:         {DocLoaded, "docLoaded", 47_500, 1, true, "R2 R3 R9 R14 R16"},
		LoadedByte:        {LoadedByte, "loadedByte", 0, kib, true, "R2"},
		PredicateTest:     {PredicateTest, "predicateTest", 0, 1, true, "R2"},
		ComputedTest:      {ComputedTest, "computedTest", 19_000, 1, true, "R2"},
		ResultSet:         {ResultSet, "resultSet", 0, 1, true, "R2"},
		ByteReturned:      {ByteReturned, "byteReturned", 60_000, kib, true, "R2 R16"},
		CountEntry:        {CountEntry, "countEntry", 5_000, 1, true, "R3"},
		WriteNew:          {WriteNew, "writeNew", 5_000_000, 1, false, "R4 R6 R7 R8"},
		WriteNewByte:      {WriteNewByte, "writeNewByte", 5_000_000, 11 * kib, false, "R4 R6 R7 R8"},
		WriteOld:          {WriteOld, "writeOld", 5_000_000, 1, false, "R5"},
		WriteOldByte:      {WriteOldByte, "writeOldByte", 5_000_000, 11 * kib, false, "R5"},
		WriteReplaced:     {WriteReplaced, "writeReplaced", 5_000_000, 1, false, "R6"},
		WriteReplacedByte: {WriteReplacedByte, "writeReplacedByte", 5_000_000, 11 * kib, false, "R6"},
		TermAdded:         {TermAdded, "termAdded", 400_000, 1, false, "R4 R6 R14"},
		TermRemoved:       {TermRemoved, "termRemoved", 400_000, 1, false, "R5 R6"},
		Failure:           {Failure, "failure", 5_000_000, 1, false, "R12"},
		Refusal:           {Refusal, "refusal", 0, 1, false, "R13"},
		Metadata:          {Metadata, "metadata", 1_000_000, 1, false, "R15"},
		IdlePoll:          {IdlePoll, "idlePoll", 1_000_000, 1, true, "R16"},
	},
}

// mongo2023 differs from the normative list where accounts of Azure Cosmos DB for MongoDB were observed to differ: a
// small write costs about 10 RU, a query that returns something about 5, and the documents read cost by their size
// and by the predicates tested on them. The tests in compat-tests/behaviour/prices compare each of these points with
// the charges of a server.
var mongo2023 = normative.with("mongo-2023", "2026-11", []Price{
	{Item: Predicate, Micro: 500_000, Per: 1},
	{Item: DocLoaded, Micro: 15_500, Per: 1},
	{Item: LoadedByte, Micro: 2_650, Per: kib},
	{Item: PredicateTest, Micro: 7_000, Per: 1},
	{Item: ComputedTest, Micro: 34_000, Per: 1},
	{Item: ResultSet, Micro: 2_400_000, Per: 1},
	{Item: CountEntry, Micro: 15_500, Per: 1}, // the service loads the documents that it counts
	{Item: WriteNew, Micro: 8_600_000, Per: 1},
	{Item: WriteOld, Micro: 8_600_000, Per: 1},
	{Item: WriteReplaced, Micro: 3_000_000, Per: 1}, // the old version is read, the new one written
	{Item: TermAdded, Micro: 250_000, Per: 1},
	{Item: TermRemoved, Micro: 250_000, Per: 1},
})

// with returns a copy of the price list with another name and version, and with other prices for some items.
func (p PriceList) with(name, version string, prices []Price) PriceList {
	p.Name, p.Version = name, version
	for _, x := range prices {
		p.rows[x.Item].Micro, p.rows[x.Item].Per = x.Micro, x.Per
	}
	return p
}
