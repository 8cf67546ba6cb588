package verify

import (
	"bytes"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Places holds the findings for the insertion order of a collection.
type Places struct {
	Placed int64 // documents with a place of their own
	// Wrong is the number of places that no document has, or that one document has twice or only by one of its two keys.
	Wrong  int64
	Listed []bson.Raw // {recordId} of the first of these
}

// places compares both keys of each placed document with each other and with the record.
func (x *checker) places() error {
	if !x.coll.KeepsInsertionOrder() {
		return nil
	}
	if err := x.each(keyspace.PlaceOfRange(x.coll.ID), func(key, place []byte) error {
		id, ok := keyspace.SplitPlaceOf(key)
		if !ok {
			return x.wrongPlace(key)
		}
		x.v.Places.Placed++
		found, err := x.reads(keyspace.AppendPlaced(nil, x.coll.ID, place, id))
		if found && err == nil {
			found, err = x.reads(keyspace.AppendRecord(nil, x.coll.ID, keyspace.HashMin, id))
		}
		if found || err != nil {
			return err
		}
		return x.wrongPlace(id)
	}); err != nil {
		return err
	}
	return x.each(keyspace.PlacedRange(x.coll.ID), func(key, value []byte) error {
		place, id, ok := keyspace.SplitPlaced(key, value)
		if !ok {
			return x.wrongPlace(key)
		}
		own, err := x.r.Get(x.ctx, keyspace.AppendPlaceOf(nil, x.coll.ID, id), nil)
		if err == nil && bytes.Equal(own, place) || x.unread(err) {
			return nil
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		return x.wrongPlace(id)
	})
}

// reads reports whether a key exists, or cannot be read.
func (x *checker) reads(key []byte) (bool, error) {
	found, err := x.r.Has(x.ctx, key)
	if x.unread(err) {
		return true, nil
	}
	return found, err
}

func (x *checker) wrongPlace(id []byte) error {
	if x.v.Places.Wrong++; len(x.v.Places.Listed) < findingsMax {
		b := bson.NewBuilder(nil)
		b.Binary("recordId", 0, id)
		x.v.Places.Listed = append(x.v.Places.Listed, b.Doc())
	}
	return nil
}
