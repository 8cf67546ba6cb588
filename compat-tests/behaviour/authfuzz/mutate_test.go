package authfuzz

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
)

// drawer makes requests.
type drawer struct {
	*rand.Rand
	corpus *corpus
	open   *pool    // accepted requests of the user
	about  []string // commands that the user's role allows
}

// pool holds requests that a user was allowed to run, by the command or stage that each is about. Such requests are
// mutated further.
type pool struct {
	by    map[string][]*request
	whats []string
}

// poolEach is the maximum number of requests about one command or stage in a pool.
const poolEach = 12

// add adds an accepted request to the pool, with its tokens instead of drawn names. Requests without tokens, and slow
// ones, are left out.
func (p *pool) add(r *request, d *drawer) {
	if !r.body.tokens() || slow[r.what] {
		return
	}
	switch list := p.by[r.what]; {
	case list == nil:
		p.whats = append(p.whats, r.what)
		p.by[r.what] = []*request{r}
	case len(list) < poolEach:
		p.by[r.what] = append(list, r)
	default:
		list[d.IntN(len(list))] = r
	}
}

// further returns a request that was accepted before, with one or two more mutations, in which some names are
// replaced by those of others.
func (d *drawer) further() *request {
	r := pick(d, d.open.by[pick(d, d.open.whats)]).clone()
	first := r.body.kids[0]
	r.body.visit(func(n *node) {
		if n != first && n.isText() && strings.Contains(n.text, "@") && n.name != "$db" && d.IntN(2) == 0 {
			n.side = others
		}
	})
	for n := 1 + d.IntN(2); n > 0; n-- {
		d.mutate(r)
	}
	return r
}

func pick[T any](d *drawer, list []T) T { return list[d.IntN(len(list))] }

// request returns a valid request with up to three mutations or, in two of five cases, one of further. Its names are
// still tokens.
func (d *drawer) request() *request {
	if len(d.open.whats) > 0 && d.IntN(5) < 2 {
		return d.further()
	}
	r := &request{}
	switch {
	case len(d.about) > 0 && d.IntN(2) == 0:
		r.what = pick(d, d.about)
		r.body = pick(d, d.corpus.listed[r.what]).clone()
		if r.what == "aggregate" {
			r.body, r.what = d.pipeline()
		}
	case d.IntN(3) == 0:
		r.body, r.what = d.pipeline()
	default:
		r.body = pick(d, d.corpus.lines).clone()
		r.what = r.body.kids[0].name
		if slow[r.what] && d.IntN(30) > 0 {
			return d.request()
		}
		if d.IntN(4) == 0 {
			r.body = pick(d, d.corpus.commands[r.what]).clone()
		}
		if first := r.body.kids[0]; r.what == "customAction" || r.what == "explain" {
			r.what += " " + first.text
			if len(first.kids) > 0 {
				r.what += first.kids[0].name
			}
		}
	}
	for n := d.IntN(4); n > 0; n-- {
		d.mutate(r)
	}
	r.body.side = pick(d, []side{own, own, own, either, either, either, others})
	return r
}

// slow are commands whose reply is delayed for seconds after failures.
var slow = map[string]bool{"saslStart": true, "saslContinue": true, "authenticate": true}

// pipeline returns an aggregate of one or two stages.
func (d *drawer) pipeline() (body *node, what string) {
	s := d.stage()
	list := array()
	if d.IntN(4) == 0 && s.text == "" {
		if before := d.stage(); before.text == "" {
			list.kids = append(list.kids, before)
		}
	}
	db, coll, is := strings.Cut(s.text, ".")
	target := int32Node(1)
	switch {
	case db == "":
		db, target = "@db", text("@coll")
	case is:
		target = text(coll)
	}
	s.text = ""
	list.kids = append(list.kids, s)
	return doc(named("aggregate", target), named("pipeline", list), named("cursor", doc()), named("$db", text(db))), s.kids[0].name
}

// stage returns a valid stage.
func (d *drawer) stage() *node {
	s := pick(d, d.corpus.stageLines)
	if d.IntN(4) == 0 {
		s = pick(d, d.corpus.stages[s.kids[0].name])
	}
	return s.clone()
}

// mutate makes one random mutation.
func (d *drawer) mutate(r *request) {
	switch d.IntN(28) {
	case 0, 1, 2, 3, 4, 5, 6:
		d.repeat(r.body)
	case 7, 8:
		d.ghost(r.body)
	case 9, 10, 11:
		d.replace(r.body)
	case 12, 13, 14:
		d.number(r.body)
	case 15:
		d.retype(r.body)
	case 16, 17, 18:
		d.drop(r.body)
	case 19, 20:
		d.reorder(r.body)
	case 21:
		d.graft(r)
	case 22:
		d.nest(r.body)
	case 23:
		d.wrapPipeline(r.body)
	case 24:
		d.wrapCommand(r)
	case 25:
		d.generic(r.body)
	case 26, 27:
		d.sequence(r)
	}
}

// spot is the position of a value in a request: the document or array that contains it, and the index there.
type spot struct {
	in *node
	at int
}

func (s spot) node() *node { return s.in.kids[s.at] }

// spots returns all positions that keep accepts.
func spots(n *node, keep func(in, k *node) bool) []spot {
	var out []spot
	n.visit(func(n *node) {
		for i, k := range n.kids {
			if keep(n, k) {
				out = append(out, spot{n, i})
			}
		}
	})
	return out
}

// field draws a field of a document in a request; fields that contain names are drawn more often. ok is false if
// there is none.
func (d *drawer) field(body *node) (spot, bool) {
	list := spots(body, func(in, k *node) bool { return in.typ == typeDoc && k.tokens() })
	if len(list) == 0 || d.IntN(3) == 0 {
		list = spots(body, func(in, _ *node) bool { return in.typ == typeDoc })
	}
	if len(list) == 0 {
		return spot{}, false
	}
	return pick(d, list), true
}

// repeat makes a field of a request come twice: once with a permitted name and once with a forbidden one. The server
// must not authorize one and run the other.
func (d *drawer) repeat(body *node) {
	s, ok := d.field(body)
	if !ok {
		return
	}
	first, second := s.node(), s.node().clone()
	second.side = others
	if d.IntN(4) > 0 {
		first.side = own
	}
	switch {
	case second.tokens():
		if d.IntN(5) == 0 {
			d.change(second)
		}
	case second.typ == typeBool:
		second.data = []byte{1 - second.data[0]}
	case d.IntN(2) == 0 || second.isInner():
		d.change(second)
	default:
		*second = *named(second.name, d.odd())
	}
	at := s.at
	switch d.IntN(6) {
	case 0, 1: // before
	case 2:
		at = len(s.in.kids)
	default:
		at++
	}
	if s.in == body && at == 0 {
		at = 1 // the first field must stay the command
	}
	s.in.insert(at, second)
}

// change changes a value below n, or n itself.
func (d *drawer) change(n *node) {
	if n.isInner() && len(n.kids) > 0 && d.IntN(3) > 0 {
		d.change(pick(d, n.kids))
		return
	}
	if n.typ == typeBool {
		n.data = []byte{1 - n.data[0]}
		return
	}
	*n = *named(n.name, d.odd())
}

// ghost inserts, before or after a field of a request, another field of the same name with an odd value such as null.
func (d *drawer) ghost(body *node) {
	s, ok := d.field(body)
	if !ok {
		return
	}
	at := s.at + d.IntN(2)
	if s.in == body && at == 0 {
		at = 1
	}
	s.in.insert(at, named(s.node().name, d.odd()))
}

// replace replaces a value by another one.
func (d *drawer) replace(body *node) {
	all := d.IntN(2) == 0
	list := spots(body, func(_, k *node) bool { return k.name != "$db" && (all || k.tokens()) })
	if len(list) > 0 {
		n := pick(d, list).node()
		*n = *named(n.name, d.odd())
	}
}

// number replaces a number by an odd one.
func (d *drawer) number(body *node) {
	if list := spots(body, func(_, k *node) bool { return k.isNumber() }); len(list) > 0 {
		n, odd := pick(d, list).node(), d.oddNumber()
		for _, s := range list {
			if all := d.IntN(4) == 0; all || s.node() == n {
				*s.node() = *named(s.node().name, odd.clone())
			}
		}
	}
}

// retype sends a text as another type.
func (d *drawer) retype(body *node) {
	list := spots(body, func(_, k *node) bool { return k.isText() })
	if len(list) == 0 {
		return
	}
	n := pick(d, list).node()
	switch d.IntN(5) {
	case 0, 1:
		n.typ = typeSymbol
	case 2:
		n.typ = typeCode
	case 3:
		*n = *named(n.name, text("@uuid"))
	case 4:
		n.text += pick(d, []string{"\x00", " ", ".own", ".gold", "\x00x", "$"})
	}
}

// drop removes a field or an element.
func (d *drawer) drop(body *node) {
	list := spots(body, func(in, k *node) bool { return k.name != "$db" && (in != body || k != body.kids[0]) })
	if len(list) > 0 {
		s := pick(d, list)
		s.in.remove(s.at)
	}
}

// reorder changes the order of fields.
func (d *drawer) reorder(body *node) {
	list := spots(body, func(_, k *node) bool { return k.isInner() && len(k.kids) > 1 })
	if len(list) == 0 || d.IntN(4) == 0 {
		rest := body.kids[1:]
		d.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		return
	}
	kids := pick(d, list).node().kids
	d.Shuffle(len(kids), func(i, j int) { kids[i], kids[j] = kids[j], kids[i] })
}

// graft inserts a field of another request of the same command.
func (d *drawer) graft(r *request) {
	from := r.what
	if d.corpus.commands[from] == nil {
		from = pick(d, d.corpus.names)
	}
	var inners []*node
	pick(d, d.corpus.commands[from]).visit(func(n *node) {
		if n.typ == typeDoc {
			inners = append(inners, n)
		}
	})
	in := pick(d, inners)
	if len(in.kids) == 0 {
		return
	}
	k := pick(d, in.kids).clone()
	docs := []*node{r.body}
	r.body.visit(func(n *node) {
		if n.typ == typeDoc && n != r.body {
			docs = append(docs, n)
		}
	})
	to := pick(d, docs)
	at := d.IntN(len(to.kids) + 1)
	if to == r.body && at == 0 {
		at = 1
	}
	to.insert(at, k)
}

// nest wraps a value of a request in an array or a document, or unwraps it.
func (d *drawer) nest(body *node) {
	list := spots(body, func(_, k *node) bool { return k.name != "$db" })
	if len(list) == 0 {
		return
	}
	s := pick(d, list)
	n := s.node()
	switch {
	case n.isInner() && len(n.kids) > 0 && d.IntN(2) == 0:
		*n = *named(n.name, n.kids[0])
	case d.IntN(2) == 0:
		inner := n.clone()
		*n = *named(n.name, array(inner))
	default:
		inner := named(pick(d, []string{"coll", "db", "user", "role", "into", "from", "ns", "name", "a"}), n.clone())
		*n = *named(n.name, doc(inner))
	}
}

// wrapPipeline wraps a pipeline in another one.
func (d *drawer) wrapPipeline(body *node) {
	list := spots(body, func(_, k *node) bool { return k.name == "pipeline" && k.typ == typeArray })
	if len(list) == 0 {
		return
	}
	n := pick(d, list).node()
	inner := named("pipeline", array(n.kids...))
	coll := func(name string) *node { return named(name, text("@coll")) }
	stage := func(name string, arg *node) *node { return doc(named(name, arg)) }
	switch d.IntN(6) {
	case 0:
		n.kids = []*node{stage("$facet", doc(named("a", array(n.kids...))))}
	case 1:
		n.kids = []*node{stage("$lookup", doc(coll("from"), inner, named("as", text("y"))))}
	case 2:
		n.kids = []*node{stage("$unionWith", doc(coll("coll"), inner))}
	case 3:
		n.kids = append([]*node{stage("$documents", array(doc(named("a", int32Node(1)))))}, n.kids...)
	case 4:
		n.kids = append(n.kids, stage("$out", text("@new")))
	case 5:
		n.kids = append(n.kids, d.stage())
		n.kids[len(n.kids)-1].text = ""
	}
}

// wrapCommand puts the command of a request into another one: into explain, applyOps, or the pipeline of a view.
func (d *drawer) wrapCommand(r *request) {
	db := r.body.get("$db")
	if db == nil {
		return
	}
	inner := r.body.clone()
	for i, k := range inner.kids {
		if k.name == "$db" {
			inner.remove(i)
			break
		}
	}
	pipeline := inner.get("pipeline")
	if pipeline == nil {
		pipeline = array(doc(named("$unionWith", text("@coll"))))
	}
	pipeline = named("pipeline", pipeline.clone())
	viewOn := named("viewOn", text("@coll"))
	var outer *node
	switch d.IntN(6) {
	case 0, 1, 2:
		outer = doc(named("explain", inner), named("verbosity", text("executionStats")))
	case 3:
		outer = doc(named("create", text("@new")), viewOn, pipeline)
	case 4:
		outer = doc(named("collMod", text("@view")), viewOn, pipeline)
		if d.IntN(3) == 0 {
			outer.remove(1)
		}
	case 5:
		outer = doc(named("applyOps", array(doc(named("op", text("c")), named("ns", text("@cmd")), named("o", inner)))))
		db = text("admin")
	}
	outer.kids = append(outer.kids, named("$db", db.clone()))
	r.body = outer
}

// generic adds arguments that any command may have.
func (d *drawer) generic(body *node) {
	add := pick(d, []string{
		`{lsid: {id: "@lsid"}}`, `{lsid: {id: "@lsid"}, txnNumber: {$numberLong: "1"}, autocommit: false}`,
		`{lsid: {id: "@fresh"}, txnNumber: {$numberLong: "1"}, autocommit: false, startTransaction: true}`,
		`{lsid: {id: "@lsid", uid: {$binary: {base64: "AAAA", subType: "00"}}}}`,
		`{readConcern: {level: "snapshot"}}`, `{readConcern: {level: "local"}}`, `{writeConcern: {w: 1}}`, `{comment: "c"}`, `{maxTimeMS: 5000}`,
		`{apiVersion: "1"}`, `{let: {a: 1}}`, `{bypassDocumentValidation: true}`, `{collectionUUID: "@uuid"}`, `{allowDiskUse: true}`, `{hint: "@index"}`,
		`{$readPreference: {mode: "secondary"}}`, `{$impersonatedUsers: [{user: "root", db: "admin"}]}`, `{$audit: {$impersonatedUser: {user: "root", db: "admin"}}}`,
		`{$tenant: {$oid: "000000000000000000000001"}}`, `{$db: "@db"}`, `{fromMongos: true}`, `{needsMerge: true}`,
	})
	for _, k := range mustParse(add).kids {
		body.insert(1+d.IntN(len(body.kids)), k)
	}
}

// sequence moves an array of documents from the body of a request into a document sequence of the message; in some
// cases the body keeps the field, too.
func (d *drawer) sequence(r *request) {
	list := spots(r.body, func(in, k *node) bool { return in == r.body && k.typ == typeArray && k != r.body.kids[0] })
	if len(list) == 0 {
		return
	}
	s := pick(d, list)
	n := s.node()
	docs := section{name: n.name}
	for _, k := range n.kids {
		if k.typ == typeDoc {
			docs.docs = append(docs.docs, k.clone())
		}
	}
	for _, k := range docs.docs {
		k.side = others
	}
	r.sections = append(r.sections, docs)
	switch d.IntN(4) {
	case 0: // in both
		n.side = own
	case 1:
		n.kids, n.side = nil, own
	default:
		s.in.remove(s.at)
	}
	if d.IntN(8) == 0 {
		r.sections = append(r.sections, docs)
	}
}

// odd returns a value that is valid nowhere.
func (d *drawer) odd() *node {
	switch d.IntN(14) {
	case 0, 1:
		return leaf(typeNull)
	case 2, 3, 4:
		return d.oddNumber()
	case 5, 6:
		return text(pick(d, []string{"@coll", "@db", "@ns", "@user", "@role", "", "*", "1", "$$ROOT", "@new"}))
	case 7:
		return &node{typ: typeSymbol, text: pick(d, []string{"@coll", "@db", "@ns", "@role"})}
	case 8:
		return text("@uuid")
	case 9:
		return leaf(typeBool, byte(d.IntN(2)))
	case 10:
		return mustParse(pick(d, []string{`{}`, `{db: "@db", coll: "@coll"}`, `{user: "@user", db: "@db"}`, `{role: "@role", db: "@db"}`, `{inline: 1}`}))
	case 11:
		return mustParse(pick(d, []string{`{a: []}`, `{a: ["@coll"]}`, `{a: [{db: "@db", coll: "@coll"}]}`, `{a: [null]}`, `{a: [{role: "@role", db: "@db"}]}`})).kids[0]
	case 12:
		return pick(d, []*node{leaf(typeUndefined), leaf(typeMinKey), leaf(typeMaxKey), leaf(typeDate, make([]byte, 8)...), leaf(typeObjectID, make([]byte, 12)...),
			leaf(typeTimestamp, make([]byte, 8)...), leaf(typeRegex, '.', '*', 0, 0)}).clone()
	}
	return &node{typ: typeCode, text: pick(d, []string{"@coll", "@db", "function() { return 1 }"})}
}

// oddNumber returns a number that no driver would send.
func (d *drawer) oddNumber() *node {
	double := func(f float64) *node {
		return leaf(typeDouble, binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))...)
	}
	long := func(n int64) *node { return leaf(typeInt64, binary.LittleEndian.AppendUint64(nil, uint64(n))...) }
	switch d.IntN(8) {
	case 0, 1, 2:
		return double(pick(d, []float64{0.4, -0.4, 0.6, 1.5, math.NaN(), math.Inf(1), math.Copysign(0, -1), 1, 0}))
	case 3, 4:
		return int32Node(pick(d, []int32{0, 1, -1, 2, math.MaxInt32}))
	case 5:
		return long(pick(d, []int64{0, 1, -1, math.MinInt64, 1 << 32}))
	}
	dec, _ := parse(`{a: {$numberDecimal: "` + pick(d, []string{"0", "1", "NaN", "0.4", "-0.4", "1E-6000", "0E+3"}) + `"}}`)
	return dec.kids[0]
}
