package ratelimit

import "fmt"

// Mode is the way in which the throughput of a collection or database is provisioned.
type Mode uint8

// The modes. Under Unlimited, work is measured and no request is refused: the default of a server without limits.
const (
	Unlimited Mode = iota
	Manual
	Autoscale
	Serverless
)

// String returns the mode's name as printed by administration commands.
func (m Mode) String() string {
	return [...]string{"none", "manual", "autoscale", "serverless"}[min(m, Serverless)]
}

// Throughput is the provisioned throughput of a collection or database.
type Throughput struct {
	Mode Mode
	RUs  int64 // RU/s; for Autoscale the maximum, of which a tenth is the minimum; unused by the other modes
}

// Minimum returns the RU/s that the commands GetCollection and GetDatabase report as provisioned: a tenth of the
// maximum with autoscale, otherwise the set RU/s.
func (t Throughput) Minimum() int64 {
	if t.Mode == Autoscale {
		return t.RUs / 10
	}
	return t.RUs
}

// PerSecond returns the RU/s of a whole collection or database with the given number of shards, which its Pool
// divides over these shards; 0 means unlimited.
func (t Throughput) PerSecond(shards int) int64 {
	switch t.Mode {
	case Manual, Autoscale:
		return t.RUs
	case Serverless:
		return ServerlessRate(shards)
	}
	return 0
}

// The published limits on provisioned throughput.
const (
	ManualStep          = 100
	ManualMin           = 400
	AutoscaleStep       = 1000
	AutoscaleMin        = 1000
	UnshardedMax        = 10_000 // a collection without shard key is one partition
	ShardRateMax        = 10_000
	ShardRateMin        = 100 // of a redistributed share
	RateMax             = 1_000_000_000
	SharedCollections   = 25  // maximum of collections in a shared database, also at its lowest price
	NamespacesMax       = 500 // databases and collections of one account
	MetadataRate        = 240 // RU/s for metadata commands of one account
	ChangesMax          = 25  // throughput changes per ChangesSeconds
	ChangesSeconds      = 300
	firstManual         = 6_000    // RU/s per shard at creation, manual
	firstAutoscale      = 10_000   // RU/s per shard at creation, autoscale and shared
	LogicalBytesMax     = 20 << 30 // of one shard key value, and of a collection without shard key
	ServerlessBytesMax  = 1 << 40  // of a serverless collection
	serverlessRate      = 5_000
	serverlessShards    = 5
	serverlessShardRate = 1_000
)

// FirstShardRate returns the RU/s of one shard by which the number of shards of a new collection is computed. most
// is the configured maximum of a shard, and is returned if it is not 0. Otherwise manual throughput begins with
// 6,000 RU/s for each shard, so that it can grow to the published limit of 10,000 without splits, and all other
// modes with 10,000. Source: Azure Cosmos DB, "scaling-provisioned-throughput-best-practices".
func FirstShardRate(m Mode, most int64) int64 {
	switch {
	case most > 0:
		return most
	case m == Manual:
		return firstManual
	}
	return firstAutoscale
}

// Load holds the facts of a collection or database by which the lowest allowed throughput is computed.
type Load struct {
	StoredGB    int64 // rounded up
	HighestRUs  int64 // the highest RU/s ever provisioned
	Collections int   // sharing a database's throughput; 0 for a collection
}

// MinManual returns the lowest manual RU/s allowed.
func MinManual(l Load) int64 {
	m := max(ManualMin, l.StoredGB, ceilDiv(l.HighestRUs, 100))
	if extra := int64(l.Collections) - SharedCollections; extra > 0 {
		m = max(m, ManualMin+extra*ManualStep)
	}
	return roundUp(m, ManualStep)
}

// MinAutoscale returns the lowest autoscale maximum allowed.
func MinAutoscale(l Load) int64 {
	m := max(AutoscaleMin, l.StoredGB*10, ceilDiv(l.HighestRUs, 10))
	if extra := int64(l.Collections) - SharedCollections; extra > 0 {
		m = max(m, AutoscaleMin+extra*AutoscaleStep)
	}
	return roundUp(m, AutoscaleStep)
}

// ToAutoscale returns the autoscale maximum in RU/s of a collection or database that changes from manual throughput
// to autoscale. A change in the other direction keeps the number.
func ToAutoscale(manual int64, l Load) int64 {
	return roundUp(max(AutoscaleMin, manual, l.StoredGB*10, ceilDiv(l.HighestRUs, 10)), AutoscaleStep)
}

// AutoscaleForStorage returns an autoscale maximum that is large enough for the stored data: at least 10 RU/s for
// each stored GB, so a tenth of the maximum, read as GB, holds the data.
func AutoscaleForStorage(rus, storedGB int64) int64 {
	return max(rus, roundUp(storedGB*10, AutoscaleStep))
}

// ServerlessRate returns the RU/s of a serverless collection with the given number of shards: 5,000, and 1,000 more
// for each shard beyond five.
func ServerlessRate(shards int) int64 {
	return serverlessRate + max(0, int64(shards)-serverlessShards)*serverlessShardRate
}

// Rule identifies the rule on throughput that a refused setting breaks.
type Rule uint8

// The rules on throughput.
const (
	RuleStep Rule = iota + 1
	RuleMinimum
	RuleMaximum
	RuleNeedsShardKey
	RuleModeSwitch
	RuleShares
	RuleTooManyCollections
	RuleTooManyChanges
)

// InvalidThroughput is the error of a refused throughput setting. Its text contains the limit that the setting breaks,
// if there is one.
type InvalidThroughput struct {
	Rule  Rule
	Given int64
	Want  int64 // the required step, minimum, maximum or count; RuleModeSwitch: the old Mode; RuleShares: a minimum or 0
	text  string
}

// Error returns a sentence for the client.
func (e *InvalidThroughput) Error() string { return e.text }

func invalid(r Rule, given, want int64, format string, args ...any) error {
	return &InvalidThroughput{r, given, want, fmt.Sprintf(format, args...)}
}

// CheckCollection checks whether a collection may have the throughput. Errors: *InvalidThroughput.
func CheckCollection(t Throughput, sharded bool, l Load) error {
	l.Collections = 0
	if err := checkAmount(t, l); err != nil {
		return err
	}
	if (t.Mode == Manual || t.Mode == Autoscale) && !sharded && t.RUs > UnshardedMax {
		return invalid(RuleNeedsShardKey, t.RUs, UnshardedMax,
			"a collection without a shard key is limited to %d RU/s, requested %d; create it with a shardKey to go higher",
			UnshardedMax, t.RUs)
	}
	return nil
}

// CheckDatabase returns an error if a database may not have the throughput t for its l.Collections collections
// together. Errors: *InvalidThroughput.
func CheckDatabase(t Throughput, l Load) error { return checkAmount(t, l) }

// CheckSwitch returns an error if an update may not replace the throughput old by new: the custom actions
// UpdateCollection and UpdateDatabase cannot switch between manual and autoscale. Errors: *InvalidThroughput.
func CheckSwitch(old, new Throughput) error {
	if old.Mode != new.Mode && (old.Mode == Manual || old.Mode == Autoscale) && (new.Mode == Manual || new.Mode == Autoscale) {
		return invalid(RuleModeSwitch, int64(new.Mode), int64(old.Mode),
			"throughput cannot be changed from %v to %v by an update", old.Mode, new.Mode)
	}
	return nil
}

// CheckShared returns an error if a database with shared throughput, which has the given number of collections, may
// not get one more. Errors: *InvalidThroughput.
func CheckShared(collections int) error {
	if collections >= SharedCollections {
		return invalid(RuleTooManyCollections, int64(collections)+1, SharedCollections,
			"a database with shared throughput may have at most %d collections; give the collection its own throughput",
			SharedCollections)
	}
	return nil
}

// Allowed returns the throughput nearest to t that passes CheckCollection, or CheckDatabase for what is sharded: RU/s that
// the server sets at a planned time may be too low by then.
func Allowed(t Throughput, sharded bool, l Load) Throughput {
	switch t.Mode {
	case Manual:
		t.RUs = max(roundUp(t.RUs, ManualStep), MinManual(l))
	case Autoscale:
		t.RUs = max(roundUp(t.RUs, AutoscaleStep), MinAutoscale(l))
	default:
		return t
	}
	if t.RUs = min(t.RUs, RateMax); !sharded {
		t.RUs = min(t.RUs, UnshardedMax)
	}
	return t
}

func checkAmount(t Throughput, l Load) error {
	var step, lowest int64
	var field string
	switch t.Mode {
	case Manual:
		step, lowest, field = ManualStep, MinManual(l), "offerThroughput"
	case Autoscale:
		step, lowest, field = AutoscaleStep, MinAutoscale(l), "autoScaleSettings.maxThroughput"
	default:
		return nil
	}
	switch {
	case t.RUs < lowest:
		return invalid(RuleMinimum, t.RUs, lowest,
			"%s must be at least %d RU/s, requested %d; the minimum grows with stored data (%d GB), "+
				"the highest throughput ever set (%d RU/s) and the number of collections that share it (%d)",
			field, lowest, t.RUs, l.StoredGB, l.HighestRUs, l.Collections)
	case t.RUs > RateMax:
		return invalid(RuleMaximum, t.RUs, RateMax, "%s must be at most %d RU/s, requested %d", field, int64(RateMax), t.RUs)
	case t.RUs%step != 0:
		return invalid(RuleStep, t.RUs, step, "%s must be a multiple of %d RU/s, requested %d", field, step, t.RUs)
	}
	return nil
}

func ceilDiv(n, d int64) int64 {
	if n <= 0 {
		return 0
	}
	return (n-1)/d + 1
}

func roundUp(n, step int64) int64 { return ceilDiv(n, step) * step }
