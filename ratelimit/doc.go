// Package ratelimit measures the work of the server in request units, and limits it. It has no notion of
// commands.
//
// A Meter counts what one command did (partitions visited, documents loaded, bytes written), per shard. A PriceList
// turns the counts into request units. A Bucket holds the budget of one shard, a Pool the provisioned throughput of one
// collection or database divided over its Buckets, and Budgets all Pools of a server.
//
//	command ──Admit──► Budgets ─► Pool ─► Bucket        may it start? by what is left of the budget
//	   │ runs, counting into a Meter
//	   └──────Charge─► Budgets ─► Pool ─► Bucket        the true price, afterwards; the balance may become a debt
//
// Because the price is measured, no estimate of a query is needed: a large request is admitted, and its debt
// delays the next one. A charge is computed from the counted work and the consistency level alone, whatever the cache
// or the clock.
//
// Invariants: arithmetic on the request units of budgets is integer, in millionths; no method reads the machine's clock
// (the caller passes now, or the clock that a VirtualClock follows), but waits use timers; nothing here imports any
// other package of this module.
//
// Glossary. Request unit (RU): the currency of work. Request charge: the RU of one request. Provisioned throughput:
// RU/s bought for a collection or database. Physical partition: here a shard, one range of positions with a share of
// the RU/s. Rate limiting: refusing with code 16500, or delaying, while the budget is used up.
package ratelimit
