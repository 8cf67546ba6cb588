package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"iter"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// sequencesMax is the maximum number of document sequences in a message; commands use two at
// most.
const sequencesMax = 16

// requestLimits are the limits of the documents in a message: a command may have 200 nested levels below its root
// document. Manual: reference/limits (Nested Depth for BSON Documents).
var requestLimits = bson.Limits{Depth: bson.MaxDepth + 1}

// Message is a request that a client sent; in tests of the client's side also a reply. Its bytes are in the memory of
// the Reader, and are valid until the Reader's next Read or Release.
type Message struct {
	Header     Header // OpCode is the opcode inside OP_COMPRESSED
	Flags      Flags
	Body       bson.Raw   // body, query, or first document of an OP_REPLY; of other opcodes the command made from them
	Sequences  []Sequence // of an OP_MSG
	Namespace  []byte     // of an older opcode: database and .$cmd, or the collection of an OP_QUERY
	Compressed bool       // it was an OP_COMPRESSED, so the reply is one, too
	Compressor Compressor // the method, if Compressed

	// Repeat counts the replies that were already sent to this request. It is above 0 only while the server runs an
	// exhaust request again for a further reply.
	Repeat int

	space [2]Sequence // memory of Sequences
}

// Sequence is a document sequence: the elements of an array field that are sent outside of
// the body.
type Sequence struct {
	Name  []byte // the field that it replaces
	Data  []byte // the documents, one after the other, each validated
	Count int    // number of documents
}

// Docs ranges over the documents; each aliases the message.
func (s Sequence) Docs() iter.Seq[bson.Raw] {
	return func(yield func(bson.Raw) bool) {
		for rest := s.Data; len(rest) > 0; {
			var d bson.Raw
			if d, rest = cutDoc(rest); !yield(d) {
				return
			}
		}
	}
}

// AppendDocs appends the documents of the sequence to dst. The caller first checks Count against the limit of the
// command, because a message can hold ten million empty documents.
func (s Sequence) AppendDocs(dst []bson.Raw) []bson.Raw {
	for rest := s.Data; len(rest) > 0; {
		var d bson.Raw
		d, rest = cutDoc(rest)
		dst = append(dst, d)
	}
	return dst
}

// cutDoc splits the first document off validated bytes.
func cutDoc(b []byte) (bson.Raw, []byte) {
	n := int(binary.LittleEndian.Uint32(b))
	return bson.Raw(b[:n:n]), b[n:]
}

// Sequence returns the document sequence of that name.
func (m *Message) Sequence(name string) (Sequence, bool) {
	for _, s := range m.Sequences {
		if string(s.Name) == name {
			return s, true
		}
	}
	return Sequence{}, false
}

// WantsReply reports whether the sender expects an answer.
func (m *Message) WantsReply() bool { return m.Flags&MoreToCome == 0 }

// Database returns the database of the command: the field $db of an OP_MSG, or the first part of the namespace of an
// older opcode; "" if there is none.
func (m *Message) Database() string {
	if m.Header.OpCode != OpMsg {
		db, _, _ := bytes.Cut(m.Namespace, []byte{'.'})
		return string(db)
	}
	db, _ := m.Body.Get("$db").Str()
	return db
}

// reset clears the message.
func (m *Message) reset() { *m = Message{} }

// parse reads a whole, uncompressed message from b.
//
// Errors: ErrFrame if the connection cannot continue; *mongoerr.Error if the sender can get an answer (Header and
// Flags are set then).
func (m *Message) parse(b []byte) error {
	m.Header = parseHeader(b)
	switch m.Header.OpCode {
	case OpMsg:
		return m.parseMsg(b)
	case OpQuery:
		return m.parseQuery(b[HeaderSize:])
	case OpReply:
		return m.parseReply(b[HeaderSize:])
	case OpGetMore:
		m.parseGetMore(b[HeaderSize:])
	case OpKillCursors:
		m.parseKillCursors(b[HeaderSize:])
	}
	return nil // the server decides what to do with other opcodes
}

// castagnoli is the polynomial of OP_MSG checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parseMsg reads flags, checksum and sections.
func (m *Message) parseMsg(b []byte) error {
	if len(b) < HeaderSize+4 {
		return broken("OP_MSG of %d bytes", len(b))
	}
	m.Flags = Flags(binary.LittleEndian.Uint32(b[HeaderSize:]))
	if bad := m.Flags & requiredBits &^ (ChecksumPresent | MoreToCome); bad != 0 {
		return broken("unknown OP_MSG flag bits %#x", uint32(bad))
	}
	end := len(b)
	if m.Flags&ChecksumPresent != 0 {
		if end -= 4; end < HeaderSize+4 {
			return broken("OP_MSG without room for its checksum")
		}
		if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
			return mongoerr.New(mongoerr.ChecksumMismatch, "OP_MSG checksum does not match contents")
		}
	}
	m.Sequences = m.space[:0]
	for rest := b[HeaderSize+4 : end]; len(rest) > 0; {
		kind := rest[0]
		var err error
		switch rest = rest[1:]; kind {
		case 0:
			rest, err = m.parseBody(rest)
		case 1:
			rest, err = m.parseSequence(rest)
		default:
			err = mongoerr.New(40432, "Unknown section kind %d", kind)
		}
		if err != nil {
			return err
		}
	}
	if m.Body == nil {
		return mongoerr.New(40587, "OP_MSG messages must have a body")
	}
	for _, s := range m.Sequences {
		if _, ok := m.Body.Lookup(string(s.Name)); ok {
			return mongoerr.New(40433, "Duplicate field between body and document sequence %s", s.Name)
		}
	}
	return nil
}

// parseBody reads a section of kind 0, the body, from b, which begins after the kind byte. It returns the bytes
// after the section.
func (m *Message) parseBody(b []byte) ([]byte, error) {
	if m.Body != nil {
		return nil, mongoerr.New(40430, "Multiple body sections in message")
	}
	doc, err := bson.Parse(b, requestLimits)
	if err != nil {
		return nil, documentError(err)
	}
	m.Body = doc
	return b[len(doc):], nil
}

// parseSequence reads a section of kind 1, a document sequence, from b, which begins after the kind byte. It returns
// the bytes after the section.
func (m *Message) parseSequence(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, broken("document sequence without size")
	}
	size := int(int32(binary.LittleEndian.Uint32(b)))
	if size < 5 || size > len(b) {
		return nil, broken("document sequence of %d bytes in %d", size, len(b))
	}
	rest := b[size:]
	n := bytes.IndexByte(b[4:size], 0)
	if n < 0 {
		return nil, broken("document sequence without name")
	}
	s := Sequence{Name: b[4 : 4+n], Data: b[4+n+1 : size]}
	if len(m.Sequences) == sequencesMax {
		return nil, broken("more than %d document sequences", sequencesMax)
	}
	if _, ok := m.Sequence(string(s.Name)); ok {
		return nil, mongoerr.New(40431, "Duplicate document sequence: %s", s.Name)
	}
	for d := s.Data; len(d) > 0; s.Count++ {
		doc, err := bson.Parse(d, requestLimits)
		if err != nil {
			return nil, documentError(err)
		}
		d = d[len(doc):]
	}
	m.Sequences = append(m.Sequences, s)
	return rest, nil
}
