// Package write writes one document to one shard in one transaction: it validates the document,
// maintains every index, appends the change-log record and counts the work for the charge.
//
//	Prepare (once per inserted document) ──► Target.Insert / Update / Delete ──► storage.Txn
//
// A Target is for one collection, one shard and one transaction; the caller commits. Everything it
// writes is one atomic commit: document, index entries, log record. Target.Docs and Target.Bytes count
// by how much the shard grows if the commit succeeds.
package write
