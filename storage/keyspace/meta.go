package keyspace

import "github.com/cantledb/cantle/storage"

// First bytes of the families.
const (
	familyMeta   = 'm'
	familyRecord = 'r'
	familyIndex  = 'i'
)

// MetaKind is a kind of server metadata, the second byte of its keys. Each kind has its own names or ids.
type MetaKind byte

// The kinds of metadata.
const (
	MetaCollection  MetaKind = 'c' // catalog entry, by id
	MetaDatabase    MetaKind = 'd' // catalog entry, by name
	MetaHistory     MetaKind = 'h' // history of the load of partitions, by time
	MetaJob         MetaKind = 'j' // background jobs and their progress
	MetaLedger      MetaKind = 'l' // what commands have cost, by hour
	MetaCounter     MetaKind = 'n' // id generators and statistics
	MetaQuota       MetaKind = 'q' // how much of shared budgets each server needs, by server
	MetaRole        MetaKind = 'r'
	MetaSetting     MetaKind = 's' // server-wide settings and identity
	MetaTransaction MetaKind = 't' // retryable-write and transaction records, by session
	MetaUser        MetaKind = 'u'
	MetaVersion     MetaKind = 'v' // catalog version
	MetaSurvey      MetaKind = 'y' // calls between servers, and their answers
)

// AppendMeta appends to dst the key of the metadata with a kind and a name.
func AppendMeta(dst []byte, kind MetaKind, name []byte) []byte {
	return append(append(dst, familyMeta, byte(kind)), name...)
}

// MetaRange returns the range of the keys of all metadata of a kind.
func MetaRange(kind MetaKind) storage.Range { return PrefixRange([]byte{familyMeta, byte(kind)}) }

// MetaPrefixRange returns the range of the keys of all metadata of a kind whose names begin with prefix.
func MetaPrefixRange(kind MetaKind, prefix []byte) storage.Range {
	return PrefixRange(AppendMeta(nil, kind, prefix))
}

// SplitMeta splits the key of metadata into its kind and its name; name aliases key.
func SplitMeta(key []byte) (kind MetaKind, name []byte, ok bool) {
	if len(key) < 2 || key[0] != familyMeta {
		return 0, nil, false
	}
	return MetaKind(key[1]), key[2:], true
}
