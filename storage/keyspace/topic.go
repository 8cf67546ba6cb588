package keyspace

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cantledb/cantle/storage"
)

// A topic is data besides the catalog, such as users or settings, of which each server over one store keeps a copy
// in memory. If servers share the store, a transaction that changes such data also changes a note (TouchTopic), and
// the peers that find the note changed load the data again.
const (
	// ChangePrefix is the prefix of the names of all notes by which a server shows its peers that data have
	// changed, such as the note of a topic. Notes are metadata of the kind MetaVersion.
	ChangePrefix = "change."
	topicPrefix  = ChangePrefix + "topic."
)

// TopicKey returns the key of the note that counts the changes of a topic.
func TopicKey(topic string) []byte { return AppendMeta(nil, MetaVersion, []byte(topicPrefix+topic)) }

// TouchTopic increments in a transaction the number of changes of a topic, so that peers load its data again; two
// such transactions at the same time conflict. In an exclusive store it writes nothing, because no peer reads the
// note.
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
