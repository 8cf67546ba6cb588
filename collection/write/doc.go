// Package write puts one document into one shard inside one transaction: it
// checks it, keeps every index in step, appends the change-log record and
// counts what the price list charges.
//
//	Prepare (once per inserted document) ──► Target.Insert / Update / Delete ──► storage.Txn
//
// A Target is for one collection, one shard and one transaction; the caller
// commits. Everything it writes is one atomic commit: document, index entries,
// log record. Target.Docs and Target.Bytes say by how much the shard grows if that
// commit succeeds.
package write
