package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// killCursorsMax bounds the cursors of one OP_KILL_CURSORS.
const killCursorsMax = 10000

// cursorNotFound is the flag of an OP_REPLY to an OP_GET_MORE whose cursor does not exist.
const cursorNotFound = 1 << 0

// parseGetMore converts b, the bytes of an OP_GET_MORE after its header (zero, namespace, number to return, cursor),
// into a getMore command, and sets it as m.Body, in memory of its own. If b is invalid, Body stays nil. Manual:
// legacy-opcodes.
func (m *Message) parseGetMore(b []byte) {
	if len(b) < 4 {
		return
	}
	namespace, rest, ok := bytes.Cut(b[4:], []byte{0})
	db, name, dotted := bytes.Cut(namespace, []byte{'.'})
	if !ok || !dotted || len(rest) != 4+8 {
		return
	}
	m.Namespace = append(append([]byte(nil), db...), ".$cmd"...)
	out := bson.NewBuilder(nil)
	out.Int64("getMore", int64(binary.LittleEndian.Uint64(rest[4:])))
	out.String("collection", string(name))
	if n := int32(binary.LittleEndian.Uint32(rest)); n > 0 {
		out.Int32("batchSize", n)
	}
	m.Body = out.Doc()
}

// parseKillCursors converts b, the bytes of an OP_KILL_CURSORS after its header (zero, number of cursors, cursors),
// into a killCursors command, and sets it as m.Body. The collection in this command has no meaning. If b is invalid,
// Body stays nil. The opcode has no reply. Manual: legacy-opcodes.
func (m *Message) parseKillCursors(b []byte) {
	m.Flags = MoreToCome
	if len(b) < 8 {
		return
	}
	n, ids := binary.LittleEndian.Uint32(b[4:]), b[8:]
	if n > killCursorsMax || len(ids) != int(n)*8 {
		return
	}
	m.Namespace = []byte("admin.$cmd")
	out := bson.NewBuilder(nil)
	out.String("killCursors", "cursors") // any valid name
	out.BeginArray("cursors")
	for ; len(ids) > 0; ids = ids[8:] {
		out.Int64("", int64(binary.LittleEndian.Uint64(ids)))
	}
	out.End()
	m.Body = out.Doc()
}

// finishBatch converts the reply to a getMore command into the reply to an OP_GET_MORE, in which the documents of
// the batch follow one another. b is the message with the command's reply; finishBatch overwrites it and returns the
// new message.
func (r *Reply) finishBatch(b []byte) []byte {
	body := bson.Raw(b[queryHead:])
	if r.fail {
		if code, _ := body.Get("code").AsInt64(); mongoerr.Code(code) == mongoerr.CursorNotFound {
			b[HeaderSize] = cursorNotFound
			return b[:queryHead]
		}
		text, _ := body.Get("errmsg").Str()
		code, _ := body.Get("code").AsInt64()
		out := bson.NewBuilder(nil)
		out.String("$err", text)
		out.Int32("code", int32(code))
		b[HeaderSize], b[queryHead-4] = queryFailure, 1
		return append(b[:queryHead], out.Doc()...)
	}
	cursor, _ := body.Get("cursor").Doc()
	id, _ := cursor.Get("id").Int64()
	batch, _ := cursor.Get("nextBatch").Array()
	end, n := queryHead, 0
	for it := batch.Iter(); it.Next(); n++ {
		doc, _ := it.Value.Doc()
		end += copy(b[end:], doc) // a document moves towards the beginning
	}
	binary.LittleEndian.PutUint64(b[HeaderSize+4:], uint64(id))
	binary.LittleEndian.PutUint32(b[queryHead-4:], uint32(n))
	return b[:end]
}
