package peers

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

const (
	callRows   = 'q'
	answerRows = 'a'
)

// callID identifies a call: the caller and the time of the call.
type callID struct {
	caller storage.MemberID
	sentAt storage.Timestamp
}

// callIDLen is the length in bytes of the part that the names of all rows of a call have in common. In their keys the
// names come after keyspace.MetaSurvey:
//
//	call      'q' ‖ caller(16) ‖ sentAt(8)                → kind ‖ 0 ‖ body
//	answer    'a' ‖ caller(16) ‖ sentAt(8) ‖ answerer(16) → 0 ‖ body, or 1 ‖ why there is none
const callIDLen = 1 + len(storage.MemberID{}) + 8

func (id callID) name(of byte) []byte {
	return binary.BigEndian.AppendUint64(append([]byte{of}, id.caller[:]...), uint64(id.sentAt))
}

func (id callID) callKey() []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaSurvey, id.name(callRows))
}

func (id callID) answerKey(by storage.MemberID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaSurvey, append(id.name(answerRows), by[:]...))
}

// answerRange returns the range of all answers to a call.
func (id callID) answerRange() storage.Range {
	return keyspace.MetaPrefixRange(keyspace.MetaSurvey, id.name(answerRows))
}

// readCallName decodes the name of a row: id is the ID of the call; by is the peer that answered, zero in the row of
// the call itself. Errors: ErrCorruption.
func readCallName(name []byte) (id callID, by storage.MemberID, err error) {
	if len(name) < callIDLen || len(name) != callIDLen && len(name) != callIDLen+len(by) {
		return id, by, fmt.Errorf("the name of a question to other servers: %w", storage.ErrCorruption)
	}
	copy(id.caller[:], name[1:])
	id.sentAt = storage.Timestamp(binary.BigEndian.Uint64(name[callIDLen-8:]))
	copy(by[:], name[callIDLen:])
	return id, by, nil
}

// eachCallRow calls fn for each row of calls or answers in a key range, until fn returns an error: by is the peer
// that answered. value is valid only until fn returns. Errors: ErrCorruption; errors of fn and of the store.
func eachCallRow(ctx context.Context, r storage.Reader, in storage.Range, fn func(id callID, by storage.MemberID, value []byte) error) error {
	return storage.Each(ctx, r, in, func(key, value []byte) error {
		_, name, _ := keyspace.SplitMeta(key)
		id, by, err := readCallName(name)
		if err != nil {
			return err
		}
		return fn(id, by, value)
	})
}

// removeCallRows deletes, in the transaction t, the rows of calls and answers in a key range, for whose calls which
// returns true. Errors: ErrCorruption; errors of the store.
func removeCallRows(ctx context.Context, t storage.Txn, in storage.Range, which func(callID) bool) error {
	var keys [][]byte
	err := storage.Each(ctx, t, in, func(key, _ []byte) error {
		_, name, _ := keyspace.SplitMeta(key)
		id, _, err := readCallName(name)
		if err == nil && which(id) {
			keys = append(keys, bytes.Clone(key))
		}
		return err
	})
	for i := 0; i < len(keys) && err == nil; i++ {
		err = t.Delete(keys[i])
	}
	return err
}

// encodeAnswer returns the row for the results of an answering function.
func encodeAnswer(body []byte, err error) []byte {
	switch {
	case err == nil && len(body) > answerMax:
		err = fmt.Errorf("the answer has %d bytes, at most %d", len(body), answerMax)
		fallthrough
	case err != nil:
		text := err.Error()
		return append([]byte{1}, text[:min(len(text), errorMax)]...)
	}
	return append([]byte{0}, body...)
}

// decodeAnswer decodes the row of a peer's answer; body aliases the row. Errors: the error that the peer sent instead
// of an answer; an error for an empty row.
func decodeAnswer(v []byte) (body []byte, err error) {
	switch {
	case len(v) == 0:
		return nil, errors.New("the answer has another form: it is of another release")
	case v[0] == 0:
		return v[1:], nil
	}
	return nil, errors.New(string(v[1:]))
}
