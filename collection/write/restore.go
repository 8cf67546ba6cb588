package write

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Erase removes a document and its index entries in the transaction, without counting, logging or charging anything.
// It is for transactions that are never committed, which show the past.
func (t *Target) Erase(env *mql.Env, doc bson.Raw, h keyspace.Hash) error {
	if err := t.recordKey(doc, h); err != nil {
		return err
	}
	if err := t.Txn.Delete(t.key); err != nil {
		return err
	}
	_, err := t.removeEntries(env, doc, h)
	return err
}

// Restore adds a document and its index entries in the transaction, without counting, logging or charging anything;
// it is the inverse of Erase. Errors: DuplicateKey (11000), and the errors of index keys.
func (t *Target) Restore(env *mql.Env, doc bson.Raw, h keyspace.Hash) error {
	if err := t.recordKey(doc, h); err != nil {
		return err
	}
	if err := t.Txn.Set(t.key, doc); err != nil {
		return err
	}
	_, err := t.addEntries(env, doc, h)
	return err
}
