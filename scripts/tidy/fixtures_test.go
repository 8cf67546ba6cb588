package tidy

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Each tidy rule must fail on code that breaks it, and most must pass on similar code that does not.
func TestRulesFail(t *testing.T) {
	cases := []struct {
		rule  string
		path  string
		text  string
		wants int // number of violations
	}{
		{"asleep", "shard/a_test.go", "package shard\nimport \"time\"\nfunc f() { time.Sleep(time.Second); time.Sleep(1) }\n", 2},
		{"asleep", "shard/a_test.go", "package shard\nimport _ \"testing/synctest\"\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", 0},
		{"asleep", "shard/jobs/main_test.go", "package jobs_test\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", 0},
		{"asleep", "shard/jobs/main_test.go", "package jobs_test\n", 1},
		{"asleep", "compat-tests/faults/crash/a_test.go", "package crash\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", 0},
		{"environment", "shard/a_test.go", "package shard\nimport \"os\"\nvar a, b = os.Getenv(\"CANTLE_SEED\"), os.Getenv(\"HOME\")\n", 1},
		{"environment", "compat-tests/faults/crash/a.go", "package crash\nimport \"os\"\nvar a, b = os.LookupEnv(\"CANTLE_SEED\")\n", 1},
		{"environment", "internal/testenv/a.go", "package testenv\nimport \"os\"\nvar a = os.Getenv(\"CANTLE_SEED\")\n", 0},
		{"asleep", "shard/a.go", "package shard\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", 0},
		{"authorized", "wire/command/data/a.go", "package data\nvar rows = []Def{{Name: \"copy\", Run: runCopy}, {Name: \"move\", Parse: parseMove}}\nfunc runCopy() { read() }\n" +
			"func read() { switch name {\ncase \"toCollection\", \"size\":\n}\n}\nfunc parseMove() { x.Get(\"to\") }\n", 1},
		{"authorized", "collection/agg/a.go", "package agg\nvar stageCopy = StageDef{Name: \"$copy\", Parse: parseCopy}\nvar stageMove = reading(StageDef{Name: \"$move\"}, readMove, parseMove)\n" +
			"func parseCopy() bool { return name == \"into\" }\nfunc readMove() bool { return name == \"into\" }\n", 1},
		{"buildtags", "wire/a.go", "//go:build invariants && linux\n\npackage wire\n", 1},
		{"buildtags", "wire/a.go", "//go:build unix && !linux\n\npackage wire\n\n//go:build other\n", 0},
		{"buildtags", "wire/invariants_on.go", "package wire\n", 1},
		{"casefiles", "collection/match/a.go", "package match\nvar Operators = []Operator{{Name: \"$op\"}, {Name: \"$opX\"}, {Name: \"$off\", Parse: notImplemented}}\n", 1},
		{"casefiles", "collection/agg/a.go", "package agg\nvar Accumulators = []A{{Name: \"$sum\"}, {Name: \"$addToSet\"}, {Name: \"$count\"}}\nvar Stages = []S{{Name: \"$count\"}}\n", 2},
		{"clock", "shard/a.go", "package shard\nimport \"time\"\nvar x = time.Now\nvar y = time.Second\n", 1},
		{"clock", "wire/a.go", "package wire\nimport \"time\"\nvar x = time.Now\n", 0},
		{"commands", "wire/command/a.go", "package command\nvar rows = []Def{{Name: \"find\", Run: runFind}, {Name: \"drop\", Aliases: []string{\"Drop\"}}}\nfunc runFind() {}\n" +
			"func f(c *Call, s string) bool { name := c.Name(); return name == \"drop\" || c.Def.Name != \"Drop\" || c.Name() == \"find\" || s == \"drop\" }\n", 2},
		{"commands", "wire/command/a.go", "package command\nvar rows = []Def{{Name: \"find\", Run: runFind}, {Name: \"drop\"}}\nfunc runFind() {}\n" +
			"var both = []string{\"drop\", \"find\"}\nvar other = []string{\"drop\", \"twist\"}\nfunc f(s string) { switch s {\ncase \"drop\", \"find\":\n}\n\tLookup(\"drop\")\n}\n", 3},
		{"commands", "wire/command/access/sasl.go", "package access\nvar rows = []Def{{Name: \"drop\"}}\nfunc f(c *Call) bool { return c.Name() == \"drop\" }\n", 0},
		{"comments", "bson/a.go", "package bson\nfunc Loud() {}\nfunc quiet() {}\n// Said is.\nfunc Said() {}\ntype T int\nconst (\n\tA = 1 // a\n\tB = 2\n)\n", 3},
		{"comments", "bson/a.go", "package bson\ntype t int\nfunc (t) M() {}\n", 0},
		{"comments", "bson/a.go", "package bson\n// I does.\ntype I interface{ M() }\n// T is.\ntype T int\nfunc (T) M() {}\nfunc (T) N() {}\n", 1},
		{"context", "cmd/cantle/a.go", "package main\nimport \"context\"\nvar c = context.TODO()\n", 1},
		{"decoded", "bson/a.go", "package bson\nvar a map[string]any\nvar b map[string]interface{}\nvar c map[string]int\n", 2},
		{"decoded", "bson/a.go", "package bson\nimport d \"go.mongodb.org/mongo-driver/v2/bson\"\nvar a d.D\nvar b d.ObjectID\n", 1},
		{"decoded", "bson/ejson/a.go", "package ejson\nvar a map[string]any\n", 0},
		{"described", "bson/a.go", "package bson\n// does.\nfunc F() {}\n// G does.\nfunc G() {}\n// The H does.\nvar H int\n// does.\nfunc f() {}\n", 1},
		{"described", "bson/a.go", "package bson\ntype t struct {\n\t// is a.\n\tA int\n\n\t// Two numbers.\n\tB int\n\tC int\n\t// D is.\n\tD int\n}\n", 1},
		{"described", "bson/a.go", "package bson\n// Some are.\nconst (\n\t// One is.\n\tA = 1\n\n\t// B, C and D are.\n\tB, D = 1, 2\n)\n", 1},
		{"floors", "collection/match/a.go", "package match\nimport _ \"github.com/cantledb/cantle/wire\"\nimport _ \"github.com/cantledb/cantle/bson\"\n", 1},
		{"floors", "shard/jobs/a.go", "package jobs\nimport _ \"github.com/cantledb/cantle/wire/cursor\"\nimport _ \"github.com/cantledb/cantle/collection/plan\"\n", 1},
		{"floors", "storage/a.go", "package storage\nimport _ \"github.com/cantledb/cantle/bson/path\"\n", 1},
		{"format", "bson/a.go", "package bson\nvar  a = 1\n", 1},
		{"globals", "bson/a.go", "package bson\nvar a int\nvar b []int\nfunc f() { a = 1; b[0]++; c := 0; c = 1; _ = c }\n", 2},
		{"globals", "bson/a.go", "package bson\nvar a int\nfunc f() { a := 0; a = 2; _ = a }\nfunc g(a int) { a++ }\n", 0},
		{"globals", "bson/a.go", "package bson\nimport \"sync\"\nvar mu sync.Mutex\nvar pool sync.Pool\n", 1},
		{"init", "bson/a.go", "package bson\nfunc init() {}\n", 1},
		{"libraries", "collection/match/a.go", "package match\nimport _ \"go.mongodb.org/mongo-driver/v2/bson\"\n", 1},
		{"libraries", "bson/path/a.go", "package path\nimport _ \"go.mongodb.org/mongo-driver/v2/bson\"\n", 1},
		{"libraries", "bson/ejson/a.go", "package ejson\nimport _ \"go.mongodb.org/mongo-driver/v2/bson\"\n", 0},
		{"libraries", "wire/a.go", "package wire\nimport _ \"example.org/unheard/of\"\n", 1},
		{"libraries", "storage/memkv/a.go", "package memkv\nimport _ \"github.com/cockroachdb/pebble/v2/vfs\"\n", 1},
		{"named", "bson/a.go", "package bson\n// f calls oldName, bson.Gone, bson.Kept and t.field.\nfunc f() {}\n// Kept is not readConcern's.\nvar Kept = \"readConcern\"\n", 2},
		{"named", "bson/a.go", "package bson\n// Manual: reference/oldName\nvar a int\n", 0},
		{"names", "wire/util/a.go", "package util\n", 1},
		{"output", "bson/a.go", "package bson\nimport \"fmt\"\nfunc f() { fmt.Println(fmt.Sprint(1)); println() }\n", 2},
		{"output", "bson/a.go", "package bson\nimport _ \"log\"\n", 1},
		{"output", "cmd/cantle/a.go", "package main\nimport \"fmt\"\nfunc f() { fmt.Println() }\n", 0},
		{"plain", "bson/a.go", "package bson\n// a is what somebody told b. a counts the reads.\nvar a int\n", 3},
		{"rig", "bson/a.go", "package bson\nimport _ \"github.com/cantledb/cantle/internal/casefile\"\n", 1},
		{"separations", "storage/keyspace/a.go", "package keyspace\nimport _ \"github.com/cantledb/cantle/bson\"\n", 1},
		{"separations", "wire/server/a.go", "package server\nimport _ \"github.com/cantledb/cantle/collection/mongoerr\"\nimport _ \"github.com/cantledb/cantle/collection\"\n", 1},
		{"sizes", "bson/a.go", "package bson\nfunc f() {" + strings.Repeat("\n", functionMax) + "}\nfunc g() {" + strings.Repeat("\n", functionMax-1) + "}\n", 1},
		{"sizes", "bson/a.go", "package bson\nfunc f() []int {\n\treturn []int{" + strings.Repeat("\n", functionMax) + "}\n}\n", 0},
		{"sizes", "bson/a_test.go", "package bson\nfunc f() {" + strings.Repeat("\n", functionMax) + "}\n", 0},
		{"sizes", "bson/a_test.go", "package bson" + strings.Repeat("\n", fileMax+1), 1},
		{"sizes", "bson/a.go", "// Code generated by hand. DO NOT EDIT.\npackage bson" + strings.Repeat("\n", fileMax+1), 0},
		{"rooms", "wire/command/attic/table.go", "package attic\n", 3},
		{"rooms", "wire/command/attic/other.go", "package attic\n", 0},
		{"stages", "shard/cluster/a.go", "package cluster\nvar list = map[string]bool{\"$other\": true, \"$no\": true}\nfunc f(s string, d Raw) bool {\n\tswitch s {\n\tcase \"$other\":\n\t}\n" +
			"\td.Get(\"$other\")\n\tb.BeginDoc(\"$other\")\n\treturn s == \"$other\" || s != \"$no\"\n}\n", 4},
		{"stages", "shard/cluster/cosmos.go", "package cluster\nfunc f(s string) bool { return s == \"$other\" }\n", 0},
		{"stages", "collection/agg/a.go", "package agg\nvar a = StageDef{Name: \"$a\"}\nfunc f(s string) bool { return s == \"$a\" }\n", 0},
		{"tables", "collection/match/a.go", "package match\nvar Operators = []Operator{opB, opA, {Name: \"$c\", Doc: \"x\"}}\nvar opA = Operator{Name: \"$a\", Doc: \"x\"}\nvar opB = Operator{Name: \"$b\"}\n", 2},
		{"tested", "collection/match/a.go", "package match\nvar Operators = []Operator{{Name: \"$known\"}, {Name: \"$knowne\"}, {Name: \"$off\", Parse: notImplemented}}\n", 1},
		{"unused", "storage/pebblekv/a.go", "package pebblekv\nimport _ \"github.com/cockroachdb/pebble/v2/vfs\"\n", countUsers() - 1},
		{"unused", "storage/pebblekv/a_test.go", "package pebblekv\nimport _ \"github.com/cockroachdb/pebble/v2/vfs\"\n", countUsers()},
	}
	seen := map[string]bool{}
	for _, tc := range cases {
		seen[tc.rule] = seen[tc.rule] || tc.wants > 0
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == tc.rule })
		if i < 0 {
			t.Fatalf("no rule %s", tc.rule)
		}
		r, err := load(fstest.MapFS{
			tc.path:                                      {Data: []byte(tc.text)},
			"collection/match/testdata/op.txt":           {Data: []byte("match\nfilter: {a: {$known: 1}}\n----\n")},
			"collection/agg/stage_other.go":              {Data: []byte("package agg\n\nvar stageOther = StageDef{Name: \"$other\", Doc: \"x\"}\n")},
			"collection/agg/testdata/acc_add_to_set.txt": {},
			"collection/agg/testdata/count.txt":          {},
		})
		if err != nil {
			t.Fatalf("%s: %v", tc.text, err)
		}
		var got []string
		rules[i].check(r, func(where, what string) { got = append(got, where+": "+what) })
		if len(got) != tc.wants {
			t.Errorf("rule %s on\n%s\nfound %q, want %d", tc.rule, tc.text, got, tc.wants)
		}
	}
	for _, r := range rules {
		if !seen[r.name] {
			t.Errorf("rule %s is never shown failing", r.name)
		}
	}
	if !slices.IsSortedFunc(rules, func(a, b rule) int {
		if a.name < b.name {
			return -1
		}
		return 1
	}) {
		t.Error("the rules are not alphabetical")
	}
}
