package wire

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
)

// queryFailure is the flag of an OP_REPLY that carries an error.
const queryFailure = 1 << 1

// replyHead is the number of bytes between the header and the documents of an OP_REPLY:
// flags, cursor id, starting from, number returned.
const replyHead = 20

// parseQuery reads an OP_QUERY from b, the bytes after its header: flags, namespace, skip, limit, query, and perhaps
// a projection, which it ignores. If the query is wrapped as {$query: {…}, $readPreference: …}, Body is the inner
// document.
func (m *Message) parseQuery(b []byte) error {
	if len(b) < 4 {
		return broken("OP_QUERY of %d bytes", len(b))
	}
	b = b[4:]
	n := bytes.IndexByte(b, 0)
	if n < 0 || len(b) < n+1+8 {
		return broken("OP_QUERY without namespace")
	}
	m.Namespace = b[:n]
	doc, err := bson.Parse(b[n+1+8:], requestLimits)
	if err != nil {
		return documentError(err)
	}
	for _, name := range [...]string{"$query", "query"} {
		if f, ok := doc.First(); ok && string(f.Name) == name {
			if inner, ok := f.Value.Doc(); ok {
				doc = inner
			}
		}
	}
	m.Body = doc
	return nil
}

// IsHello reports whether the message is hello or its older form isMaster, by which a client opens a connection or
// monitors the server. Except at addresses that behave like an early version of Cosmos DB, it is the only command that
// is served as an OP_QUERY. Manual: reference/command/hello. Spec: mongodb-handshake.
func (m *Message) IsHello() bool {
	if m.Header.OpCode == OpQuery && !bytes.HasSuffix(m.Namespace, []byte(".$cmd")) {
		return false
	}
	f, ok := m.Body.First()
	if !ok {
		return false
	}
	switch string(f.Name) {
	case "hello", "isMaster", "ismaster":
		return true
	}
	return false
}

// parseReply reads an OP_REPLY from b, the bytes after its header; only clients in tests receive it.
func (m *Message) parseReply(b []byte) error {
	if len(b) < replyHead {
		return broken("OP_REPLY of %d bytes", len(b))
	}
	doc, err := bson.Parse(b[replyHead:], requestLimits)
	if err != nil {
		return documentError(err)
	}
	m.Body = doc
	return nil
}
