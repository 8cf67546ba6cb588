package write

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Erase takes a document and its index entries out of the transaction without a trace:
// nothing is counted, logged or charged. For states that are never committed.
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

// Restore puts a document and its index entries into the transaction, as Erase takes
// them out. Errors: DuplicateKey (11000), and those of index keys.
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
