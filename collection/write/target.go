package write

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Target writes documents to one shard of one collection in one transaction. Not safe for concurrent use.
type Target struct {
	Coll  *catalog.Collection
	Shard *shard.Descriptor
	Txn   storage.Txn
	// Multikey is called if a document has arrays in an index that had none there yet. It must publish the mark of
	// the index before the transaction commits. Required.
	Multikey func(ix *catalog.Index, paths index.MultikeyPaths) error
	// Claim is called with the record key of each document before anything is written, and with the key of each entry
	// of a unique index before it is added or removed. An error ends the write. The key is valid during the call. nil
	// allows all keys.
	Claim func(key []byte) error
	// Session and TxnNumber of the client are written to log records; zero outside transactions and retryable
	// writes.
	Session   [16]byte
	TxnNumber int64
	// StmtID is the number of the statement of a retryable write.
	StmtID int32
	// Multi is set if Session and TxnNumber belong to a multi-document transaction. Owner is then the digest of the
	// user that owns the session.
	Multi bool
	Owner [32]byte
	// Bypass skips the validator (bypassDocumentValidation), except at LevelConstraint.
	Bypass bool
	// Silent suppresses log records: of a copy of a collection that is filled, and of writes that are never committed.
	Silent bool

	// Placeable returns the number of documents that may be added in insertion order, see place. It is called only for a
	// document that would be placed, and is nil for a copy, in which none is. Frontier is the collection's; nil if other
	// servers write to the store.
	Placeable func() int64
	Frontier  *Frontier

	// Docs and Bytes are the growth of the shard's documents.
	Docs, Bytes int64

	insertion
	memory
	scratch expr.Scratch
	log     changelog.Record
}

// memory is reused for the next document, and after Reset.
type memory struct {
	id, key []byte
	record  []byte
	last    []byte // the id behind which the next document is placed: see insertion
	placed  []byte // an encoded place
	undo    []byte
	docKey  *bson.Builder // for the document key
	oldKeys entrySet
	newKeys entrySet
}

// keepBytes limits each kind of memory that is kept by Reset.
const keepBytes = 64 << 10

// Reset empties the target for the next transaction, but keeps Multikey, Claim, Placeable and its memory.
func (t *Target) Reset() {
	m := t.memory
	if cap(m.record) > keepBytes {
		m.record = nil
	}
	if cap(m.last) > keepBytes {
		m.last = nil
	}
	if cap(m.undo) > keepBytes {
		m.undo = nil
	}
	if m.docKey != nil && cap(m.docKey.Since(0)) > keepBytes {
		m.docKey = nil
	}
	t.scratch.Close()
	m.oldKeys.reset()
	m.newKeys.reset()
	*t = Target{Multikey: t.Multikey, Claim: t.Claim, Placeable: t.Placeable, memory: m}
}

// Insert adds the document doc, which Prepare has returned, at position h. Errors: DuplicateKey (11000),
// DocumentValidationFailure (121), *ratelimit.CapReached, the errors of validator, Claim and index keys; in a clustered collection 5894900,
// 50819 and 50826; storage errors.
func (t *Target) Insert(env *mql.Env, doc bson.Raw, h keyspace.Hash) error {
	if err := env.Meter.CheckCapForSized(ratelimit.WriteNew, len(doc)); err != nil {
		return err
	}
	if err := t.validate(env, doc, nil); err != nil {
		return err
	}
	if err := t.recordKey(doc, h); err != nil {
		return err
	}
	if t.Coll.Options.Clustered {
		if err := checkClusteredID(doc.Get("_id")); err != nil {
			return err
		}
	}
	taken, err := t.Txn.Has(env.Context(), t.key)
	if err != nil {
		return err
	}
	if taken {
		env.Meter.Add(int(t.Shard.ID), ratelimit.Failure, 1)
		if t.Coll.Options.Clustered {
			if err := clusteredDuplicate(doc.Get("_id")); err != nil {
				return err
			}
		}
		return t.duplicate(t.Coll.IDIndex(), doc, entry{})
	}
	if err := t.place(env); err != nil {
		return err
	}
	if err := t.Txn.Set(t.key, doc); err != nil {
		return err
	}
	added, err := t.addEntries(env, doc, h)
	if err != nil {
		return err
	}
	shardNo := int(t.Shard.ID)
	env.Meter.WriteNew(shardNo, len(doc))
	env.Meter.Terms(shardNo, added+t.keyTerms(env, doc), 0)
	t.Docs++
	t.Bytes += int64(len(doc))
	t.log = changelog.Record{Op: changelog.Insert, Doc: doc, Bytes: int64(len(doc))}
	return t.append(env, h)
}

// Update replaces the document old, at position h, by doc, which has the same _id and position. op is Update or
// Replace; delta holds the changes of an Update, for change streams. Errors: BSONObjectTooLarge; those of Insert that
// do not concern the _id.
func (t *Target) Update(env *mql.Env, old, doc bson.Raw, h keyspace.Hash, op changelog.Op, delta bson.Raw) error {
	if err := env.Meter.CheckCapForSized(ratelimit.WriteNew, len(doc)); err != nil {
		return err
	}
	if err := t.validate(env, doc, old); err != nil {
		return err
	}
	if len(doc) > bson.MaxDocumentBytes {
		return mongoerr.DocumentTooLarge(len(doc), bson.MaxDocumentBytes)
	}
	if err := t.recordKey(old, h); err != nil {
		return err
	}
	if err := t.Txn.Set(t.key, doc); err != nil {
		return err
	}
	removed, added, err := t.changeEntries(env, old, doc, h)
	if err != nil {
		return err
	}
	shardNo := int(t.Shard.ID)
	env.Meter.Replaced(shardNo, len(old))
	env.Meter.WriteNew(shardNo, len(doc))
	env.Meter.Terms(shardNo, added, removed)
	grown := int64(len(doc) - len(old))
	t.Bytes += grown
	t.log = changelog.Record{Op: op, Delta: delta, Bytes: grown, Key: t.documentKey(old)}
	if op == changelog.Replace || t.Coll.Options.PrePostImages {
		t.log.Doc = doc
	}
	t.storeUndo(old, doc)
	return t.append(env, h)
}

// Delete removes the document old at position h.
func (t *Target) Delete(env *mql.Env, old bson.Raw, h keyspace.Hash) error {
	if err := env.Meter.CheckCapForSized(ratelimit.WriteOld, len(old)); err != nil {
		return err
	}
	if err := t.recordKey(old, h); err != nil {
		return err
	}
	if err := t.Txn.Delete(t.key); err != nil {
		return err
	}
	if err := t.removePlace(env); err != nil {
		return err
	}
	removed, err := t.removeEntries(env, old, h)
	if err != nil {
		return err
	}
	shardNo := int(t.Shard.ID)
	env.Meter.WriteOld(shardNo, len(old))
	env.Meter.Terms(shardNo, 0, removed+t.keyTerms(env, old))
	t.Docs--
	t.Bytes -= int64(len(old))
	t.log = changelog.Record{Op: changelog.Delete, Key: t.documentKey(old), Bytes: -int64(len(old))}
	t.storeUndo(old, nil)
	return t.append(env, h)
}

// storeUndo puts into the log record, unless Silent, the document old if the collection has pre-images, else the
// changes that restore old from doc. doc is nil after a delete.
func (t *Target) storeUndo(old, doc bson.Raw) {
	switch {
	case t.Silent:
	case t.Coll.Options.PrePostImages:
		t.log.Pre = old
	default:
		t.undo = changelog.AppendUndo(t.undo[:0], old, doc)
		t.log.Undo = t.undo
	}
}

// keyTerms returns the weight, for the charge, of index entries of _id and shard key, which every document has,
// whether they have entries of their own in this collection or not.
func (t *Target) keyTerms(env *mql.Env, doc bson.Raw) int64 {
	n := env.Meter.TermWeight(len(t.id))
	if t.Coll.Sharded() && !t.Coll.Key.IsID() {
		t.record = t.Coll.Key.AppendLogical(t.record[:0], doc)
		n += env.Meter.TermWeight(len(t.record))
	}
	return n
}

// recordKey sets id and key for the document doc at position h, and claims the key. Errors: InternalError for a
// document without _id; the errors of Claim.
func (t *Target) recordKey(doc bson.Raw, h keyspace.Hash) error {
	if _, ok := doc.Lookup("_id"); !ok {
		return mongoerr.New(mongoerr.InternalError, "a document without _id reached the store of %s", t.Coll.Namespace)
	}
	if t.key == nil {
		t.id, t.key = make([]byte, 0, 32), make([]byte, 0, 64)
	}
	t.id = t.Coll.AppendID(t.id[:0], doc)
	t.key = keyspace.AppendRecord(t.key[:0], t.Coll.ID, h, t.id)
	return t.claim(t.key)
}

// claim calls Claim, which may reject the key.
func (t *Target) claim(key []byte) error {
	if t.Claim == nil {
		return nil
	}
	return t.Claim(key)
}

// documentKey returns the fields that identify a document in an update or delete event: its shard key and _id. The
// result is valid until the next call.
func (t *Target) documentKey(doc bson.Raw) bson.Raw {
	if t.docKey == nil {
		t.docKey = bson.NewBuilder(nil)
	}
	t.docKey.Reset(t.docKey.Since(0)[:0])
	t.Coll.Key.AppendDocumentKey(t.docKey, doc)
	return t.docKey.Doc()
}

// append writes the log record prepared in t.log.
func (t *Target) append(env *mql.Env, h keyspace.Hash) error {
	if t.Silent {
		return nil
	}
	t.log.Collection, t.log.Position, t.log.ID = t.Coll.ID, h, t.id
	t.log.Session, t.log.TxnNumber, t.log.StmtID = t.Session, t.TxnNumber, t.StmtID
	t.log.Multi, t.log.Owner, t.log.Wall = t.Multi, t.Owner, env.NowMillis
	t.record = t.log.Append(t.record[:0])
	return t.Txn.AppendLog(changelog.Stream, t.record)
}

// validate applies the validator of the collection to doc, unless Bypass (except with LevelConstraint), level "off" or
// action "warn" disables it. old is the previous version, nil for an insert: with level "moderate", an invalid document
// may remain invalid. Manual: core/schema-validation. Errors: DocumentValidationFailure (121); the errors of the
// validator's expressions.
func (t *Target) validate(env *mql.Env, doc, old bson.Raw) error {
	o := &t.Coll.Options
	if o.Validator == nil || t.Bypass && o.ValidationLevel != catalog.LevelConstraint || o.ValidationLevel == "off" || o.ValidationAction == "warn" {
		return nil
	}
	env = env.WithCollation(o.Collation) // a statement's collation applies only to its filter and its update
	t.scratch.Reset()
	ok, err := o.Validator.Matches(env, doc, &t.scratch)
	if ok || err != nil {
		return err
	}
	if old != nil && o.ValidationLevel == "moderate" {
		t.scratch.Reset()
		if ok, err := o.Validator.Matches(env, old, &t.scratch); !ok || err != nil {
			return err
		}
	}
	env.Meter.Add(int(t.Shard.ID), ratelimit.Failure, 1)
	return validationFailure(env, o.Validator, doc, &t.scratch)
}
