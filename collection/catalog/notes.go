package catalog

import (
	"context"
	"encoding/binary"
	"maps"
	"strings"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// notePrefix begins the keys of the servers' notes, the rows by which a server shows its peers that it has changed
// the catalog. Notes of topics are stored beside them.
const notePrefix = keyspace.ChangePrefix + "by."

// noteKey returns the key of this server's note.
func (o *peerSync) noteKey() []byte {
	id := o.members.Member()
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, append([]byte(notePrefix), id[:]...))
}

// txnNoteKey returns the key for the note of a change inside a larger transaction. That transaction may have begun
// before the newest change of this server, so that writing noteKey, as every other change does, would conflict. The
// next change outside such a transaction deletes the note.
func (o *peerSync) txnNoteKey() []byte {
	return binary.BigEndian.AppendUint64(o.noteKey(), o.noteCount)
}

// nameKey returns the key that a change locks to give a name to a collection or to take it away, so that changes of
// two servers with the same name conflict. Names of databases are locked by databaseNameKey, where names that differ
// only in case have the same key.
func nameKey(ns collection.Namespace) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, []byte("name."+ns.String()))
}

func databaseNameKey(name string) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, []byte("database."+strings.ToLower(name)))
}

// peerNotes holds what a change writes for the peers.
type peerNotes struct {
	rows map[keyspace.CollectionID]entryRow // of all entries
	note []byte                             // key of the note that it writes
	gone [][]byte                           // keys of notes that it has deleted
}

// prepareForPeers adds to the transaction of a change what peers need: it locks the names that the change gives to
// collections or takes from them, and those of new databases, and writes the note that shows peers the change, under
// txnNoteKey if aside is true because the change is part of a larger transaction. The caller holds mu.
func (m *Mutation) prepareForPeers(ctx context.Context, o *peerSync, aside bool) (peerNotes, error) {
	if o.exclusive {
		return peerNotes{}, nil // no peer reads notes or takes names
	}
	var keys [][]byte
	for id, c := range m.puts {
		was := m.base.byID.get(id)
		if was == nil || was.Namespace != c.Namespace {
			keys = append(keys, nameKey(c.Namespace))
		}
		if was != nil && was.Namespace != c.Namespace {
			keys = append(keys, nameKey(was.Namespace))
		}
	}
	for id := range m.drops {
		if was := m.base.byID.get(id); was != nil {
			keys = append(keys, nameKey(was.Namespace))
		}
	}
	for name := range m.dbPuts {
		if m.base.databases.get(name) == nil {
			keys = append(keys, databaseNameKey(name))
		}
	}
	if len(keys) > 0 {
		if err := m.txn.Lock(ctx, keys...); err != nil {
			return peerNotes{}, err
		}
	}
	o.noteCount++
	s := peerNotes{rows: maps.Clone(o.rows), note: o.noteKey(), gone: o.staleNotes}
	for id, c := range m.puts {
		s.rows[id] = entryRow(encodeCollection(c))
	}
	for id := range m.drops {
		delete(s.rows, id)
	}
	if aside {
		s.note, s.gone = o.txnNoteKey(), nil
		o.staleNotes = append(o.staleNotes, s.note)
	}
	for _, key := range s.gone {
		if err := m.txn.Delete(key); err != nil {
			return peerNotes{}, err
		}
	}
	return s, m.txn.Set(s.note, binary.BigEndian.AppendUint64(nil, o.noteCount))
}

// recordOwnChange records the notes and rows that a change of this server has written, after it was committed at ts,
// so that this server does not take them for changes of a peer. The caller holds mu.
func (o *peerSync) recordOwnChange(s peerNotes, ts storage.Timestamp) {
	if s.note == nil {
		return
	}
	o.lastOwnChange = max(o.lastOwnChange, ts)
	o.rows = s.rows
	o.notes = maps.Clone(o.notes)
	if o.notes == nil {
		o.notes = map[string]string{}
	}
	o.notes[string(s.note)] = string(binary.BigEndian.AppendUint64(nil, o.noteCount))
	for _, key := range s.gone {
		delete(o.notes, string(key))
	}
	o.staleNotes = o.staleNotes[len(s.gone):]
}
