package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Owner identifies the user to which a session belongs: the SHA-256 of "user@db", or of the empty string without
// authentication. Manual: reference/command/startSession (uid).
type Owner [32]byte

// OwnerOf returns the Owner for a user's name and database; both are empty without a user. If db contains an @, two
// users could have the same text "user@db"; then the digest is made from "db\x00user", which is unique.
func OwnerOf(name, db string) Owner {
	switch {
	case name == "" && db == "":
		return sha256.Sum256(nil)
	case strings.ContainsRune(db, '@'):
		return sha256.Sum256([]byte(db + "\x00" + name))
	}
	return sha256.Sum256([]byte(name + "@" + db))
}

// ID identifies a logical session by the UUID that the client chose and by the user that owns the session, so that
// two users cannot share one. The zero ID means no session.
type ID struct {
	UUID  [16]byte
	Owner Owner
}

// IsZero reports whether id is no session.
func (id ID) IsZero() bool { return id == ID{} }

// Stripe returns in which of the n parts of a table of sessions, each with its own lock, this session is. It uses
// all bytes of the UUID, because UUIDs made from time and place differ in a few bytes only.
func (id ID) Stripe(n int) int {
	mixed := (binary.LittleEndian.Uint64(id.UUID[:8]) ^ binary.LittleEndian.Uint64(id.UUID[8:])) * 0x9e3779b97f4a7c15
	return int((mixed >> 32) % uint64(n))
}

// String prints the UUID.
func (id ID) String() string {
	var b [36]byte
	for i, at := 0, 0; i < 16; i++ {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b[at] = '-'
			at++
		}
		hex.Encode(b[at:], id.UUID[i:i+1])
		at += 2
	}
	return string(b[:])
}

// NewID returns a new session id for the command startSession: a random (version 4) UUID with the owner o.
func NewID(o Owner) ID {
	id := ID{Owner: o}
	rand.Read(id.UUID[:]) // never fails
	id.UUID[6] = id.UUID[6]&0x0f | 0x40
	id.UUID[8] = id.UUID[8]&0x3f | 0x80
	return id
}

// Append appends {id: UUID} as a field with the given name: the form that lsid has for clients.
func (id ID) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.Binary("id", 4, id.UUID[:])
	b.End()
}

// plainID reads an lsid that has nothing but a UUID, as drivers send it, without allocating memory. For any other
// lsid, plain is false, and the caller uses ParseID, which makes the error texts.
func plainID(v bson.Value, o Owner) (id ID, plain bool) {
	doc, _ := v.Doc()
	it := doc.Iter()
	if !it.Next() || string(it.Name) != "id" {
		return ID{}, false
	}
	sub, b, ok := it.Value.Binary()
	if !ok || sub != 4 || len(b) != len(id.UUID) || it.Next() {
		return ID{}, false
	}
	return ID{UUID: [16]byte(b), Owner: o}, true
}

// ParseID reads an lsid document. Its field id is a UUID; uid, which only privileged users send, must be a digest,
// and replaces the owner o; the caller checks the privilege. field is the name of the document in error texts. Errors:
// TypeMismatch, IDLFailedToParse, IDLUnknownField, IDLDuplicateField, InvalidUUID, UnsupportedFormat, InvalidOptions.
func ParseID(v bson.Value, o Owner, field string) (ID, error) {
	doc, ok := v.Doc()
	if !ok {
		return ID{}, mongoerr.WrongType(field, v.Type.String(), "object")
	}
	if name, twice := doc.Repeated(); twice {
		return ID{}, mongoerr.RepeatedField(field + "." + string(name))
	}
	id := ID{Owner: o}
	found := false
	for it := doc.Iter(); it.Next(); {
		switch string(it.Name) {
		case "id":
			if it.Value.IsNullish() {
				continue
			}
			sub, b, ok := it.Value.Binary()
			if !ok {
				return ID{}, mongoerr.WrongType(field+".id", it.Value.Type.String(), "binData")
			}
			if sub != 4 {
				return ID{}, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.id' is the wrong binData subtype %d, expected type 'UUID'", field, sub)
			}
			if len(b) != 16 {
				return ID{}, mongoerr.New(mongoerr.InvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype")
			}
			copy(id.UUID[:], b)
			found = true
		case "uid":
			_, b, ok := it.Value.Binary()
			if !ok {
				return ID{}, mongoerr.WrongType(field+".uid", it.Value.Type.String(), "binData")
			}
			if len(b) != len(id.Owner) {
				return ID{}, mongoerr.New(mongoerr.UnsupportedFormat, "Unsupported SHA256Block hash length: %d", len(b))
			}
			copy(id.Owner[:], b)
		case "txnNumber", "txnUUID":
			return ID{}, mongoerr.New(mongoerr.InvalidOptions, "Internal sessions are only allowed for internal clients")
		default:
			return ID{}, mongoerr.UnknownField(field + "." + string(it.Name))
		}
	}
	if !found {
		return ID{}, mongoerr.MissingField(field + ".id")
	}
	return id, nil
}
