package authfuzz

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// draw returns a request whose tokens are replaced by names, of the user or of others. In from it records for each
// name whether it is the user's own. Names that differ between two servers stay numbered tokens, such as "@uuid/1/3",
// which bind replaces.
func (d *drawer) draw(from *request, w *world, u *user) *request {
	names := w.names(u)
	var sides func(n *node, whose side)
	sides = func(n *node, whose side) {
		if n.side != either {
			whose = n.side
		}
		if n.side = either; n.isText() {
			if n.side = whose; whose == either {
				n.side = own + side(d.IntN(2))
			}
		}
		for _, k := range n.kids {
			sides(k, whose)
		}
	}
	sides(from.body, own)
	for _, s := range from.sections {
		for _, k := range s.docs {
			sides(k, others)
		}
	}
	r := from.clone()
	draw := func(n *node) {
		if n.isText() {
			n.text = d.drawn(n.text, int(n.side-own), names)
		}
	}
	r.body.visit(draw)
	r.body.visit(func(n *node) {
		if n.typ != typeDoc || n.get("createUser") != nil || n.get("updateUser") != nil {
			return
		}
		for _, k := range n.kids {
			if k.text == loggedNever {
				k.text = "x" // replaces the password, which such a command need not keep out of the log
			}
		}
	})
	for _, s := range r.sections {
		for _, k := range s.docs {
			k.visit(draw)
		}
	}
	return r
}

// drawn returns a text of a request in which the token, such as @db, is replaced by a name of one side.
func (d *drawer) drawn(s string, side int, names map[string][2][]string) string {
	before, token, ok := strings.Cut(s, "@")
	if !ok || strings.Contains(token, "/") {
		return s
	}
	end := 0
	for end < len(token) && token[end] >= 'a' && token[end] <= 'z' {
		end++
	}
	token, rest := token[:end], token[end:]
	if list, ok := names[token]; ok {
		return before + pick(d, list[side]) + rest
	}
	switch token {
	case "uuid", "cursor", "lsid", "op", "fresh":
		return "@" + token + "/" + strconv.Itoa(side) + "/" + strconv.Itoa(d.IntN(8))
	}
	return s
}

// bind replaces the numbered tokens that draw has left in a request by the names of this server.
func (w *world) bind(r *request) *request {
	r = r.clone()
	bind := func(n *node) {
		parts := strings.Split(n.text, "/")
		if !n.isText() || len(parts) != 3 || n.text[0] != '@' {
			return
		}
		side, _ := strconv.Atoi(parts[1])
		i, _ := strconv.Atoi(parts[2])
		b := &node{}
		switch parts[0] {
		case "@uuid":
			b = uuidNode(w.uuids[side][i%len(w.uuids[side])])
		case "@cursor":
			b = leaf(typeInt64, binary.LittleEndian.AppendUint64(nil, uint64(w.cursors[i%len(w.cursors)]))...)
		case "@lsid":
			b = uuidNode(w.sessions[i%unnamed])
			if n.name == "lsid" || n.name == "" {
				b = doc(named("id", b))
			}
		case "@fresh":
			b = uuidNode(append([]byte(nil), w.sessions[0]...))
			b.data[5] ^= byte(1 + i)
		case "@op":
			v, _ := parse(`{a: ` + w.ops[0] + `}`)
			b = v.kids[0]
		default:
			return
		}
		*n = *named(n.name, b)
	}
	r.body.visit(bind)
	for _, s := range r.sections {
		for _, k := range s.docs {
			k.visit(bind)
		}
	}
	return r
}
