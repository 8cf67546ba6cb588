package authfuzz

import (
	"encoding/binary"
	"strconv"
	"strings"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// Types of BSON that the mutations create or inspect. Spec: bsonspec.org.
const (
	typeDouble    = 0x01
	typeText      = 0x02
	typeDoc       = 0x03
	typeArray     = 0x04
	typeBinary    = 0x05
	typeUndefined = 0x06
	typeObjectID  = 0x07
	typeBool      = 0x08
	typeDate      = 0x09
	typeNull      = 0x0a
	typeRegex     = 0x0b
	typeCode      = 0x0d
	typeSymbol    = 0x0e
	typeInt32     = 0x10
	typeTimestamp = 0x11
	typeInt64     = 0x12
	typeDecimal   = 0x13
	typeMaxKey    = 0x7f
	typeMinKey    = 0xff
)

// side selects the names that are drawn for a part of a request: those of the user, those of others, or either,
// chosen anew for each name.
type side uint8

const (
	either side = iota
	own
	others
)

// node is a value in a request, with the name of its field. A document is a list of nodes, so a name may come twice.
// A text may contain tokens, such as "@db", until the names are drawn.
type node struct {
	typ  byte
	name string
	text string // of a text, symbol or code
	data []byte // of any other leaf
	kids []*node
	side side
}

func text(s string) *node          { return &node{typ: typeText, text: s} }
func leaf(t byte, d ...byte) *node { return &node{typ: t, data: d} }
func int32Node(n int32) *node {
	return leaf(typeInt32, binary.LittleEndian.AppendUint32(nil, uint32(n))...)
}
func uuidNode(b []byte) *node {
	return leaf(typeBinary, append([]byte{byte(len(b)), 0, 0, 0, 4}, b...)...)
}
func named(name string, n *node) *node { n.name = name; return n }
func doc(kids ...*node) *node          { return &node{typ: typeDoc, kids: kids} }
func array(kids ...*node) *node        { return &node{typ: typeArray, kids: kids} }

// parse parses extended JSON, in the notation of the shell.
func parse(s string) (*node, error) {
	d, err := ejson.Parse(s)
	if err != nil {
		return nil, err
	}
	return fromDoc(d), nil
}

func mustParse(s string) *node {
	n, err := parse(s)
	if err != nil {
		panic(s + ": " + err.Error())
	}
	return n
}

func fromDoc(d cbson.Raw) *node {
	n := doc()
	for name, v := range d.Fields() {
		n.kids = append(n.kids, named(string(name), fromValue(v)))
	}
	return n
}

func fromValue(v cbson.Value) *node {
	n := &node{typ: byte(v.Type)}
	switch n.typ {
	case typeDoc:
		d, _ := v.Doc()
		n.kids = fromDoc(d).kids
	case typeArray:
		a, _ := v.Array()
		for v := range a.Values() {
			n.kids = append(n.kids, fromValue(v))
		}
	case typeText, typeSymbol, typeCode:
		n.text = strings.Clone(string(v.Data[4 : len(v.Data)-1]))
	default:
		n.data = append([]byte(nil), v.Data...)
	}
	return n
}

func (n *node) isText() bool { return n.typ == typeText || n.typ == typeSymbol || n.typ == typeCode }
func (n *node) isNumber() bool {
	return n.typ == typeDouble || n.typ == typeInt32 || n.typ == typeInt64 || n.typ == typeDecimal
}
func (n *node) isInner() bool { return n.typ == typeDoc || n.typ == typeArray }

func (n *node) clone() *node {
	c := *n
	c.kids = make([]*node, len(n.kids))
	for i, k := range n.kids {
		c.kids[i] = k.clone()
	}
	return &c
}

// get returns the first field with a name in a document, nil if there is none.
func (n *node) get(name string) *node {
	for _, k := range n.kids {
		if k.name == name {
			return k
		}
	}
	return nil
}

// visit calls f for n and all nodes below it.
func (n *node) visit(f func(*node)) {
	f(n)
	for _, k := range n.kids {
		k.visit(f)
	}
}

// insert inserts a field at an index.
func (n *node) insert(at int, k *node) {
	n.kids = append(n.kids[:at:at], append([]*node{k}, n.kids[at:]...)...)
}

func (n *node) remove(at int) { n.kids = append(n.kids[:at:at], n.kids[at+1:]...) }

// tokens reports whether a value, or a value inside it, contains a token that stands for a name.
func (n *node) tokens() bool {
	found := false
	n.visit(func(n *node) { found = found || strings.Contains(n.text, "@") })
	return found
}

// append encodes the value.
func (n *node) append(b []byte) []byte {
	switch {
	case n.isInner():
		at := len(b)
		b = append(b, 0, 0, 0, 0)
		for i, k := range n.kids {
			name := k.name
			if n.typ == typeArray {
				name = strconv.Itoa(i)
			}
			b = append(append(append(b, k.typ), name...), 0)
			b = k.append(b)
		}
		b = append(b, 0)
		binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at))
		return b
	case n.isText():
		b = binary.LittleEndian.AppendUint32(b, uint32(len(n.text)+1))
		return append(append(b, n.text...), 0)
	}
	return append(b, n.data...)
}

// String returns the document as extended JSON.
func (n *node) String() string { return ejson.String(cbson.Raw(n.append(nil))) }

// section is a document sequence of a request.
type section struct {
	name string
	docs []*node
}

// request is one message.
type request struct {
	body     *node
	sections []section
	what     string // the command, and its stages or action; identifies findings
}

func (r *request) clone() *request {
	c := &request{body: r.body.clone(), what: r.what}
	for _, s := range r.sections {
		n := section{name: s.name}
		for _, d := range s.docs {
			n.docs = append(n.docs, d.clone())
		}
		c.sections = append(c.sections, n)
	}
	return c
}

// String returns the request as extended JSON, with each document sequence after its name, for reports.
func (r *request) String() string {
	out := r.body.String()
	for _, s := range r.sections {
		out += " + sequence " + s.name + ":"
		for _, d := range s.docs {
			out += " " + d.String()
		}
	}
	return out
}

// frame encodes the request as OP_MSG. Spec: message/OP_MSG.
func (r *request) frame() []byte {
	b := make([]byte, 21, 512) // header, flags, section of kind 0
	b = r.body.append(b)
	for _, s := range r.sections {
		b = append(b, 1)
		at := len(b)
		b = append(b, 0, 0, 0, 0)
		b = append(append(b, s.name...), 0)
		for _, d := range s.docs {
			b = d.append(b)
		}
		binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at))
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	binary.LittleEndian.PutUint32(b[12:], opMsg)
	return b
}
