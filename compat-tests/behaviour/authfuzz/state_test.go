package authfuzz

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson/ejson"
)

// state holds everything in the server that a request of a user can change, as texts by keys such as "documents
// vault.gold".
type state map[string]string

// keys returns the keys of both states.
func (s state) keys(t state) map[string]bool {
	out := map[string]bool{}
	for k := range maps.Keys(s) {
		out[k] = true
	}
	for k := range maps.Keys(t) {
		out[k] = true
	}
	return out
}

// state reads the state through the administrator's connection.
func (w *world) state() (state, error) {
	s := state{}
	reply, err := w.root.do("admin", `{listDatabases: 1, nameOnly: true}`)
	if err != nil {
		return nil, err
	}
	list, _ := reply.Get("databases").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		name, _ := d.Get("name").Str()
		s["database "+name] = "is there"
		if name != "local" {
			if err := w.database(s, name); err != nil {
				return nil, err
			}
		}
	}
	if err := w.settings(s); err != nil {
		return nil, err
	}
	if err := w.activity(s); err != nil {
		return nil, err
	}
	if err := w.people(s); err != nil {
		return nil, err
	}
	for key := range w.volatile {
		delete(s, key)
	}
	return s, nil
}

// kept are the server's own collections in whose documents no user may cause a change. Users and roles are checked
// one by one; the contents of other such collections are visible elsewhere in the state.
var kept = []string{"admin.system.version", "config.settings", "config.tags", "config.shards"}

// beyond matches names, in the definition of a view, of collections and databases that the view's owner may not read.
var beyond = regexp.MustCompile(`"(gold|view|ruled|vault|admin|config|local|system\..*|Zq.*)"`)

// database reads the collections of a database.
func (w *world) database(s state, db string) error {
	reply, err := w.root.do(db, `{listCollections: 1, cursor: {batchSize: 10000}}`)
	if err != nil {
		return err
	}
	for c := range batch(reply) {
		name, _ := c.Get("name").Str()
		ns := db + "." + name
		if strings.HasPrefix(ns, "config.sampledQueries") { // the server writes sampled queries there (configureQueryAnalyzer)
			continue
		}
		s["collection "+ns] = ejson.String(c)
		kind, _ := c.Get("type").Str()
		if kind == "view" && db == "mine" && name != "view" && beyond.MatchString(ejson.ValueString(c.Get("options"))) {
			s["beyond "+ns] = "it shows what its maker may not see"
		}
		if kind != "view" {
			if reply, err := w.root.do(db, `{listIndexes: "%s", cursor: {batchSize: 10000}}`, name); err == nil {
				s["indexes "+ns] = ejson.ValueString(reply.Get("cursor"))
			}
		}
		if slices.Contains(kept, ns) || name == "system.js" {
			reply, err := w.root.do(db, `{find: "%s", batchSize: 10000, sort: {_id: 1}}`, name)
			if err == nil {
				s["documents "+ns] = ejson.ValueString(reply.Get("cursor"))
			}
		}
	}
	if reply, err = w.root.do(db, `{dbHash: 1}`); err != nil {
		return err
	}
	hashes, _ := reply.Get("collections").Doc()
	for name, v := range hashes.Fields() {
		if n := string(name); n != "system.views" && !strings.HasPrefix(n, "sampledQueries") { // see listCollections
			s["documents "+db+"."+string(name)] = ejson.ValueString(v)
		}
	}
	if db == "mine" {
		for coll, n := range map[string]int{"gold": mineGold, "own": ownDocuments} {
			reply, err := w.root.do(db, `{count: "%s", query: {_id: {$gte: 0, $lt: %d}}}`, coll, n)
			if err != nil {
				return err
			}
			if have, _ := reply.Get("n").AsInt64(); have < int64(n) {
				s["kept mine."+coll] = "not all"
			}
		}
	}
	if reply, err = w.root.do(db, `{profile: -1}`); err == nil { // not of config, which has no profiler
		s["profile "+db] = ejson.ValueString(reply.Get("was"))
	}
	return nil
}

// settings reads parameters and the like.
func (w *world) settings(s state) error {
	for _, cmd := range []string{`{getParameter: "*"}`, `{getClusterParameter: "*"}`, `{getDefaultRWConcern: 1}`, `{balancerStatus: 1}`, `{listShards: 1}`,
		`{aggregate: 1, pipeline: [{$querySettings: {}}], cursor: {}}`} {
		reply, err := w.root.do("admin", "%s", cmd)
		if err != nil {
			return err
		}
		for name, v := range reply.Fields() {
			if slices.Contains([]string{"$clusterTime", "operationTime", "localUpdateWallClockTime", "updateOpTime", "numBalancerRounds"}, string(name)) {
				continue
			}
			s["setting "+cmd+" "+string(name)] = ejson.ValueString(v)
		}
	}
	reply, err := w.root.do("vault", `{planCacheListFilters: "gold"}`)
	if err != nil {
		return err
	}
	s["setting filters"] = ejson.ValueString(reply.Get("filters"))
	return nil
}

// activity reads the activity of another user, which must go on.
func (w *world) activity(s state) error {
	reply, err := w.root.do("admin", `{aggregate: 1, pipeline: [{$currentOp: {allUsers: true, idleSessions: true, idleCursors: true}}, {$project: {type: 1, lsid: 1, cursor: {cursorId: 1}, transaction: {parameters: {txnNumber: 1}}}}], cursor: {batchSize: 10000}}`)
	if err != nil {
		return err
	}
	cursor, _ := reply.Get("cursor").Doc()
	for i, n := range w.sessions[:unnamed] {
		s[fmt.Sprintf("session %d of somebody else", i)] = fmt.Sprint(bytes.Contains(cursor, n))
	}
	for i, id := range w.cursors {
		s[fmt.Sprintf("cursor %d of somebody else", i)] = fmt.Sprint(bytes.Contains(cursor, binary.LittleEndian.AppendUint64(nil, uint64(id))))
	}
	s["operation of somebody else"] = fmt.Sprint(!w.ended.Load())
	return nil
}

// people reads users and roles into the state. For the database realm, which has a user administrator among the
// tested users, it also reads the privileges of that database's users and roles in other databases: the administrator
// must not grant those.
func (w *world) people(s state) error {
	for _, kind := range []string{"user", "role"} {
		reply, err := w.root.do("admin", `{find: "system.%ss", batchSize: 10000}`, kind)
		if err != nil {
			return err
		}
		for d := range batch(reply) {
			name, _ := d.Get(kind).Str()
			db, _ := d.Get("db").Str()
			s[kind+" "+db+"."+name] = ejson.String(d)
			if db != "realm" {
				continue
			}
			roles, _ := d.Get("roles").Array()
			for v := range roles.Values() {
				role, _ := v.Doc()
				if of, _ := role.Get("db").Str(); of != "realm" {
					s["right beyond realm of "+name+": "+ejson.String(role)] = "is there"
				}
			}
			privileges, _ := d.Get("privileges").Array()
			for v := range privileges.Values() {
				p, _ := v.Doc()
				resource, _ := p.Get("resource").Doc()
				if of, _ := resource.Get("db").Str(); of != "realm" {
					s["right beyond realm of role "+name+": "+ejson.String(p)] = "is there"
				}
			}
		}
	}
	return nil
}
