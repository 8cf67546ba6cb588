package keyspace

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cantledb/cantle/storage"
)

// A topic is something that each of several processes over one store keeps in memory beside
// the catalog: users, settings. Who changes it touches it in the same transaction, and the others
// load it again.
const (
	// ChangePrefix begins the names of all notes of changes, of the kind MetaVersion.
	ChangePrefix = "change."
	topicPrefix  = ChangePrefix + "topic."
)

// TopicKey is the key of the note that a topic has changed.
func TopicKey(topic string) []byte { return AppendMeta(nil, MetaVersion, []byte(topicPrefix+topic)) }

// TouchTopic notes in a transaction that a topic has changed, where other processes use the
// store; two such transactions at the same time conflict.
func TouchTopic(ctx context.Context, s storage.Store, t storage.Txn, topic string) error {
	if storage.AsShared(s) == nil {
		return nil
	}
	v, err := t.Get(ctx, TopicKey(topic), nil)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	n := uint64(1)
	if len(v) == 8 {
		n = binary.BigEndian.Uint64(v) + 1
	}
	return t.Set(TopicKey(topic), binary.BigEndian.AppendUint64(nil, n))
}
