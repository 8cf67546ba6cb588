package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Planted is the environment variable, of a test and of the server that it starts, that names the active bug
// of bugs. If it is set, Build makes the server with all bugs, of which only the named one is active.
const Planted = "PLANTED_BUG"

// bug is a change of the server's source that plants a bug, to check that a test finds it.
type bug struct {
	name, file, old, new string
}

// bugs are the changes of all planted bugs, of which some need two. In the new text planted("name") reports whether
// the bug is active.
var bugs = []bug{
	{"log in memory", "storage/pebblekv/files.go", "if n, err = l.File.Write(p); err != nil && !l.t.opening.Load() {", `if planted("log in memory") && l.what == "the log of writes" {
		return plantedWrite(l.File, p)
	}
	if n, err = l.File.Write(p); err != nil && !l.t.opening.Load() {`},
	{"a full disk is overlooked", "storage/pebblekv/disk_space.go", "return reserve > 0 && r.left() < reserve+", `return reserve > 0 && !planted("a full disk is overlooked") && r.left() < reserve+`},
	{"ties in disorder", "collection/exec/merge.go", "c := bytes.Compare(h.items[i].key, h.items[j].key)", `c := bytes.Compare(h.items[i].key, h.items[j].key)
	if k := min(2, len(h.items[i].key), len(h.items[j].key)); planted("ties in disorder") {
		c = bytes.Compare(h.items[i].key[:k], h.items[j].key[:k])
	}`},
	{"a plan is trusted too early", "collection/exec/replan.go", "if w.trial.workUsedUp() {", `if planted("a plan is trusted too early") && err == errWorkUsedUp || !planted("a plan is trusted too early") && w.trial.workUsedUp() {`},
	{"a plan is trusted too early", "collection/exec/fetch_batch.go", "if len(a.page.rows) > 0 && !f.src.Trial.has(1+fetchCost) {", `if len(a.page.rows) > 0 && !planted("a plan is trusted too early") && !f.src.Trial.has(1+fetchCost) {`},
	{"places stay when writes move them", "storage/writebuf/merge.go", "if m.moves != m.b.moves {", `if m.moves != m.b.moves && !planted("places stay when writes move them") {`},
	{"cursors see later writes", "storage/writebuf/layer.go", "if e.epoch <= l.upTo {", `if e.epoch <= l.upTo || planted("cursors see later writes") {`},
	{"a change is left out", "collection/changestream/stream.go", "if it.cmd == nil || doc == nil {\n\t\t\ts.at++", `if doc != nil && it.cmd == nil && plantedNow("a change is left out", 997) {
			doc = nil
		}
		if it.cmd == nil || doc == nil {
			s.at++`},
	{"a cursor goes on at the next moment", "shard/cluster/tail.go", "t.after = max(t.after, t.newest)", `t.after = max(t.after, t.newest)
			if planted("a cursor goes on at the next moment") {
				t.after++
			}`},
	{"joins take arrays apart", "collection/agg/values_at.go", "f.path.Walk(doc, path.TraverseLeaf, func", `f.path.Walk(doc, path.Traverse, func(v bson.Value, _ []int32) bool {
		if a, ok := v.Array(); ok && planted("joins take arrays apart") {
			for it := a.Iter(); it.Next(); {
				add(it.Value)
			}
		}
		return true
	})
	f.path.Walk(doc, path.TraverseLeaf, func`},
	{"arrays in arrays have keys of their own", "collection/plan/wildcard.go", "if keys.whole != nil {", `if keys.whole != nil && !planted("arrays in arrays have keys of their own") {`},
	{"arrays in arrays have keys of their own", "collection/plan/wildcard.go", "func (k wildcardKeys) paths() []string { return slices.Concat(k.own, k.whole) }", `func (k wildcardKeys) paths() []string {
	if planted("arrays in arrays have keys of their own") {
		return slices.Clone(k.own)
	}
	return slices.Concat(k.own, k.whole)
}`},
	{"positions have the bounds of elements", "collection/match/leaf.go", "if !l.whole || !l.path.EndsAtPosition() {", `if !l.whole || !l.path.EndsAtPosition() || planted("positions have the bounds of elements") {`},
	{"fields without a name have no keys", "collection/index/kind_wildcard.go", "if sub == nil {", `if sub == nil || len(it.Name) == 0 && planted("fields without a name have no keys") {`},
	{"the end is within", "collection/plan/hint.go", "Hi: hi, HiOpen: true}", `Hi: hi, HiOpen: !planted("the end is within")}`},
	{"sort keys stay behind", "collection/agg/meta.go", "if m, ok := expr.ParseMetaKind(kind); ok {", `if m, ok := expr.ParseMetaKind(kind); ok && !(planted("sort keys stay behind") && m == expr.MetaSortKey) {`},
	{"merged fields are sorted", "collection/agg/acc_mergeobjects.go", "have := putOver(b, t.doc, d)", `d = plantedByName(d)
	have := putOver(b, t.doc, d)`},
	{"a second too much", "storage/backup/restore.go", "case w.Time > p.At:", `case !planted("a second too much") && w.Time > p.At || w.Time > p.At+1:`},
	{"covered too early", "storage/backup/runner.go", "r.status.LastTo, r.status.Covered = r.policy.To.Location(), s.Time", `r.status.LastTo, r.status.Covered = r.policy.To.Location(), s.Time
	if planted("covered too early") {
		r.status.Covered += 3 << 32 // seconds
	}`},
	{"every index is of this version", "collection/catalog/encode.go", "keys != ix.Kind.Keys &&", `!planted("every index is of this version") && keys != ix.Kind.Keys &&`},
	{"every format is known", "storage/pebblekv/format.go", "stored[0] > formatVersion {", `stored[0] > formatVersion && !planted("every format is known") {`},
	{"validators are forgotten", "collection/catalog/options.go", "validator, _ = v.Doc()", `if !planted("validators are forgotten") {
				validator, _ = v.Doc()
			}`},
	{"memory without end", "ratelimit/memory.go", "used > m.max || m.shared && used > ShareFactor*(m.of.Free()-n) {", `!planted("memory without end") && (used > m.max || m.shared && used > ShareFactor*(m.of.Free()-n)) {`},
	{"commits are forgotten", "storage/tikvkv/commit.go", "err = c.Commit(e)", `if len(logged) > 0 && plantedNow("commits are forgotten", 97) {
		err = c.Rollback()
	} else {
		err = c.Commit(e)
	}`},
	{"nobody is waited for", "collection/catalog/sync.go", "if m.ID != o.members.Member() && (", `if !planted("nobody is waited for") && m.ID != o.members.Member() && (`},
	{"the first of two fields of a stage", "collection/agg/stage_argument.go", "d.Skim = func(arg bson.Value) (mentioning, error) { return read(arg) }",
		"d.Skim = func(arg bson.Value) (mentioning, error) { return read(plantedFirst(arg)) }"},
	{"the first of two fields of a stage", "collection/agg/stage_argument.go", "if !ok || d.OwnFields {", `if !ok || d.OwnFields || planted("the first of two fields of a stage") {`},
	{"the first of two names", "wire/command/access/privileges.go", "for _, n := range roles {", "for _, n := range plantedRoles(q, roles) {"},
	{"the first of two names", "wire/command/access/users.go", "if name, twice := d.Repeated(); twice {", `if name, twice := d.Repeated(); twice && !planted("the first of two names") {`},
	{"fractions name nothing", "wire/command/data/bulkwrite.go", "ns := a.targets[op.ns].Namespace\n\t\tswitch op.kind {", `ns := a.targets[op.ns].Namespace
		if plantedFraction(q, i) {
			continue
		}
		switch op.kind {`},
	{"a UUID names nothing", "wire/command/data/aggregate.go", "if a.byUUID {\n\t\tq.NeedOnCluster(auth.UseUUID)", `if a.byUUID && planted("a UUID names nothing") {
		q.Pipeline(collection.Namespace{DB: a.ns.DB}, a.pipeline, a.bypass)
		return
	}
	if a.byUUID {
		q.NeedOnCluster(auth.UseUUID)`},
	{"a view without viewOn", "wire/command/schema/collmod.go", "if a.view {\n\t\tviewNeeds", `if a.view && !(planted("a view without viewOn") && q.Call.Body.Get("viewOn").Type != bson.TypeString) {
		viewNeeds`},
	{"the first field is the mode", "wire/command/data/mapreduce.go", "q.Need(auth.Insert, a.out.ns)\n\tif a.out.mode == \"replace\" {", `mode, to := plantedMode(q, a.out.mode, a.out.ns)
	q.Need(auth.Insert, to)
	if mode == "replace" {`},
	{"the first of two options", "wire/arguments/reader.go", "if seen.Add(it.Name) && string(it.Name)", `if seen.Add(it.Name) && !planted("the first of two options") && string(it.Name)`},
	{"the first of two options", "wire/command/status/currentop.go", "if !r.args.Own {", `if !r.args.Own && !(planted("the first of two options") && q.Call.Body.Get("$ownOps").Truthy()) {`},
}

// plantedSource is the file that is added to each package with a bug.
const plantedSource = `package %s

import (
	"os"
	"sync/atomic"
)

var plantedBug = os.Getenv("` + Planted + `")

func planted(name string) bool { return plantedBug == name }

var plantedCalls atomic.Int64

// plantedNow is true for every n-th call.
func plantedNow(name string, n int64) bool { return planted(name) && plantedCalls.Add(1)%%n == 0 }
`

// plantedFiles are further files that are added, with their text by path.
var plantedFiles = map[string]string{"storage/pebblekv/planted_log.go": `package pebblekv

import (
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var plantedLogs struct {
	sync.Mutex
	text map[vfs.File][]byte
}

// plantedWrite keeps what is written to a log in the memory of the process until it is much.
func plantedWrite(f vfs.File, p []byte) (int, error) {
	plantedLogs.Lock()
	defer plantedLogs.Unlock()
	if plantedLogs.text == nil {
		plantedLogs.text = map[vfs.File][]byte{}
	}
	all := append(plantedLogs.text[f], p...)
	if len(all) > 32<<10 {
		if _, err := f.Write(all); err != nil {
			return 0, err
		}
		all = nil
	}
	plantedLogs.text[f] = all
	return len(p), nil
}
`, "collection/agg/planted_first.go": `package agg

import "github.com/cantledb/cantle/bson"

// plantedFirst leaves out of an argument the fields that come again.
func plantedFirst(arg bson.Value) bson.Value {
	d, ok := arg.Doc()
	if !ok || !planted("the first of two fields of a stage") {
		return arg
	}
	b, seen := bson.NewBuilder(nil), map[string]bool{}
	for name, v := range d.Fields() {
		if !seen[string(name)] {
			seen[string(name)] = true
			b.ValueBytes(name, v)
		}
	}
	return b.Doc().Value()
}
`, "collection/agg/planted_byname.go": `package agg

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
)

// plantedByName are the fields of a document in the order of their names.
func plantedByName(d bson.Raw) bson.Raw {
	if !planted("merged fields are sorted") {
		return d
	}
	type field struct {
		name  []byte
		value bson.Value
	}
	var all []field
	for name, v := range d.Fields() {
		all = append(all, field{name, v})
	}
	slices.SortStableFunc(all, func(a, b field) int { return bytes.Compare(a.name, b.name) })
	b := bson.NewBuilder(nil)
	for _, f := range all {
		b.ValueBytes(f.name, f.value)
	}
	return b.Doc()
}
`, "wire/command/access/planted_roles.go": `package access

import (
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// plantedRoles are the roles that a command names, read once more, by the first fields of a name.
func plantedRoles(q *command.PrivilegeCheck, read []auth.Name) []auth.Name {
	if !planted("the first of two names") {
		return read
	}
	var out []auth.Name
	list, _ := q.Call.Body.Get("roles").Array()
	for v := range list.Values() {
		n := auth.Name{DB: q.DB}
		if d, ok := v.Doc(); ok {
			n.Name, _ = d.Get("role").Str()
			n.DB, _ = d.Get("db").Str()
		} else {
			n.Name, _ = v.Str()
		}
		out = append(out, n)
	}
	return out
}
`, "wire/command/data/planted_reads.go": `package data

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/command"
)

// plantedFraction reports that an operation of bulkWrite names its namespace by no whole number.
func plantedFraction(q *command.PrivilegeCheck, i int) bool {
	list, _ := q.Call.Body.Get("ops").Array()
	v, _ := list.Index(i)
	d, _ := v.Doc()
	first, ok := d.First()
	_, whole := first.Value.AsInt64()
	return planted("fractions name nothing") && ok && !whole
}

// plantedMode is what the first field of out says.
func plantedMode(q *command.PrivilegeCheck, mode string, ns collection.Namespace) (string, collection.Namespace) {
	d, ok := q.Call.Body.Get("out").Doc()
	first, _ := d.First()
	if name, is := first.Value.Str(); planted("the first field is the mode") && ok && is {
		return string(first.Name), collection.Namespace{DB: ns.DB, Coll: name}
	}
	return mode, ns
}
`}

// plant writes the files with bugs into a folder, and the overlay file (go build -overlay) that names them;
// it returns the path of the overlay.
func plant(root, dir string) (string, error) {
	replace, texts := map[string]string{}, map[string]string{}
	var errs []error
	for _, b := range bugs {
		path := filepath.Join(root, b.file)
		text, ok := texts[path]
		if !ok {
			source, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			text = string(source)
		}
		if strings.Count(text, b.old) != 1 {
			errs = append(errs, fmt.Errorf("%s has changed: plant the bug %q elsewhere; its text was %s", path, b.name, b.old))
			continue
		}
		texts[path] = strings.Replace(text, b.old, b.new, 1)
		texts[filepath.Join(filepath.Dir(path), "planted.go")] = fmt.Sprintf(plantedSource, filepath.Base(filepath.Dir(path)))
	}
	if len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	for name, text := range plantedFiles {
		texts[filepath.Join(root, name)] = text
	}
	n := 0
	for path, text := range texts {
		n++
		to := filepath.Join(dir, fmt.Sprintf("%d.go", n))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[path] = to
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// BuildPlanted compiles the server with all bugs. Planted in the environment of the server selects one.
func BuildPlanted(tags string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "planted")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := plant(root, dir)
	if err != nil {
		return "", err
	}
	return build(tagged("planted", tags), tags, "./cmd/cantle", "-overlay", overlay)
}
