package keyspace

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cantledb/cantle/storage"
)

// A topic is data besides the catalog that each server over one store keeps in memory: users,
// settings. A transaction that changes such data also touches the topic, and the peers then load
// the data again.
const (
	// ChangePrefix is the prefix of the names of all notes of changes, of the kind MetaVersion.
	ChangePrefix = "change."
	topicPrefix  = ChangePrefix + "topic."
)

// TopicKey returns the key of the note that a topic has changed.
func TopicKey(topic string) []byte { return AppendMeta(nil, MetaVersion, []byte(topicPrefix+topic)) }

// TouchTopic records in a transaction that a topic has changed; two such transactions at the same
// time conflict. In an exclusive store it writes nothing, because no peer reads the note.
func TouchTopic(ctx context.Context, s storage.Store, t storage.Txn, topic string) error {
	if storage.Exclusive(s) {
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
