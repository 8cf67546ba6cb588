package disk

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/checkup"
)

// state holds all data that a server returns, as texts by their names, for example "docs shop.orders 7" or "index
// shop.orders v_1", so that two states can be compared.
type state map[string]string

// resumes waits until the jobs that a server resumes at its start have ended, such as index builds and rewrites of
// collections, and reports whether they have within some 20 seconds.
func (m *machine) resumes() bool {
	busy := func(c *catalog.Collection) bool {
		return c.Rewriting != nil || slices.ContainsFunc(c.Indexes, func(ix *catalog.Index) bool { return ix.State == catalog.IndexBuilding })
	}
	for range 2000 {
		if !slices.ContainsFunc(m.daemon.Jobs().Catalog.Peek().Collections(""), busy) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// observe reads everything from a server.
func (m *machine) observe() (state, error) {
	out := state{}
	dbs, err := m.run("admin", bson.D{{Key: "listDatabases", Value: 1}, {Key: "nameOnly", Value: true}})
	if err != nil {
		return nil, err
	}
	list, _ := dbs.Lookup("databases").Array().Values()
	for _, v := range list {
		name := v.Document().Lookup("name").StringValue()
		if name != "admin" && name != "config" && name != "local" {
			if err := m.database(out, name); err != nil {
				return nil, err
			}
		}
	}
	users, err := m.run("admin", bson.D{{Key: "usersInfo", Value: bson.D{{Key: "forAllDBs", Value: true}}}})
	if err != nil {
		return nil, err
	}
	list, _ = users.Lookup("users").Array().Values()
	for _, v := range list {
		u := v.Document()
		out["user "+u.Lookup("_id").StringValue()] = u.Lookup("roles").String()
	}
	keys, err := m.all("config", bson.D{{Key: "find", Value: "collections"}})
	if err != nil {
		return nil, err
	}
	for _, doc := range keys {
		if ns := doc.Lookup("_id").StringValue(); !strings.HasPrefix(ns, "config.") {
			out["key "+ns] = doc.Lookup("key").String()
		}
	}
	return out, nil
}

// database reads the collections of a database.
func (m *machine) database(out state, db string) error {
	colls, err := m.all(db, bson.D{{Key: "listCollections", Value: 1}})
	if err != nil {
		return err
	}
	for _, info := range colls {
		name := info.Lookup("name").StringValue()
		ns := db + "." + name
		kind := info.Lookup("type").StringValue()
		if strings.HasPrefix(name, "system.") {
			continue
		}
		out["collection "+ns] = kind
		if v, err := info.LookupErr("options", "validator"); err == nil {
			out["validator "+ns] = v.String()
		}
		docs, err := m.all(db, bson.D{{Key: "find", Value: name}})
		if err != nil {
			return fmt.Errorf("%s: %w", ns, err)
		}
		for _, doc := range docs {
			key := "docs " + ns + " " + doc.Lookup("_id").String()
			if _, twice := out[key]; twice {
				return fmt.Errorf("%s is there twice", key)
			}
			out[key] = string(doc)
		}
		if kind != "collection" {
			continue
		}
		indexes, err := m.all(db, bson.D{{Key: "listIndexes", Value: name}})
		if err != nil {
			return fmt.Errorf("%s: %w", ns, err)
		}
		for _, ix := range indexes {
			out["index "+ns+" "+ix.Lookup("name").StringValue()] = ix.Lookup("key").String() + flagsOf(ix)
		}
	}
	return nil
}

// flagsOf returns those of the options unique, prepareUnique and hidden that are true in an index definition.
func flagsOf(ix bson.Raw) (flags string) {
	for _, name := range [...]string{"unique", "prepareUnique", "hidden"} {
		if v, err := ix.LookupErr(name); err == nil && v.Boolean() {
			flags += " " + name
		}
	}
	return flags
}

// check runs the consistency check over the store.
func (m *machine) check() (found []string) {
	report := &checkup.Report{Now: time.Now}
	if _, err := report.Contents(context.Background(), m.store, func(int64) error { return nil }); err != nil {
		return []string{"check: " + err.Error()}
	}
	for _, f := range report.Findings {
		found = append(found, fmt.Sprintf("check: %s %s: %s (%d)", f.Kind, f.Where, f.What, f.Count))
	}
	return found
}

// apply makes changes in the state.
func (s state) apply(changes []change) {
	for _, c := range changes {
		if c.value == "" {
			delete(s, c.key)
		} else {
			s[c.key] = c.value
		}
	}
}

// clone returns a copy.
func (s state) clone() state {
	out := make(state, len(s))
	for k, v := range s {
		out[k] = v
	}
	return out
}

// compare returns the differences of the state from the expected one. Each change of a pending step may be there
// or not; the changes of an atomic step must be there together or not at all.
func (s state) compare(want state, pending []*step) (wrong []string) {
	open := map[string][]string{} // key → further allowed values
	for i, p := range pending {
		before, after := 0, 0
		for _, c := range p.changes {
			open[c.key] = append(open[c.key], c.value)
			if s[c.key] == want[c.key] || makes(pending[:i], c.key, s[c.key]) {
				before++
			}
			if s[c.key] == c.value || makes(pending[i+1:], c.key, s[c.key]) {
				after++
			}
		}
		if p.whole && before < len(p.changes) && after < len(p.changes) {
			wrong = append(wrong, fmt.Sprintf("%s is half there: of %d changes %d are not and %d are", p.name, len(p.changes), before, after))
		}
	}
	allowed := func(key string) bool {
		for _, v := range open[key] {
			if s[key] == v {
				return true
			}
		}
		return false
	}
	for key, value := range want {
		if s[key] != value && !allowed(key) {
			wrong = append(wrong, fmt.Sprintf("%s is %s, not %s", key, show(s[key]), show(value)))
		}
	}
	for key, value := range s {
		if _, ok := want[key]; !ok && !allowed(key) {
			wrong = append(wrong, fmt.Sprintf("%s is there: %s", key, show(value)))
		}
	}
	sort.Strings(wrong)
	return wrong
}

// makes reports whether one of the pending steps gives a key that value. A lane can have several pending steps if
// it continued while the disk was being copied.
func makes(steps []*step, key, value string) bool {
	for _, s := range steps {
		for _, c := range s.changes {
			if c.key == key && c.value == value {
				return true
			}
		}
	}
	return false
}

// show prints a value for people.
func show(v string) string {
	if v == "" {
		return "missing"
	}
	if doc := bson.Raw(v); doc.Validate() == nil {
		v = doc.String()
	}
	return fmt.Sprintf("%.120s", v)
}
