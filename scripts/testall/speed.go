package main

import (
	"fmt"
	"slices"
	"strings"
)

// speed selects the amount of a run.
type speed int

const (
	quick  speed = iota // before a commit
	change              // of every change: what continuous integration runs
	night
)

// step is one part of a run.
type step struct {
	name  string
	what  string // one line for -h
	from  speed  // the quickest run that has it
	to    speed  // the slowest run that has it
	line  line
	after []string // steps that must have ended before it begins
	run   func(r *run) error
}

// line is a sequence of steps that run one after the other, in the order of the table. The lines run at the same
// time.
type line int

const (
	mainLine line = iota
	beside        // computes while the tests of servers wait
	installs      // waits for the network
	lines         // the number of lines
)

// steps lists all steps in the order in which their output is printed, and in which the steps of one line run: first
// the steps that show a newcomer that the clone works, last those that matter only to the authors of a change.
var steps = []step{
	{"build", "compile everything, and the server that the tests start", quick, night, mainLine, nil, (*run).build},
	{"vet", "go vet", quick, night, beside, []string{"build"}, (*run).vet},
	{"unit", "tests of packages that start no server: units, conformance, case files, tidy rules", quick, night, mainLine, nil, (*run).unit},
	{"memory", "the case files over the wire, on a server in memory", quick, quick, mainLine, nil, (*run).casesInMemory},
	{"mongosh", "install mongosh into .cache/mongosh unless it is there", change, night, installs, nil, (*run).installMongosh},
	{"browser", "find a Chromium, or install one: by apt-get as root, else from npm into .cache", change, night, installs, nil, (*run).installBrowser},
	{"end", "end-to-end tests: cases, mongosh scripts, driver, crash, differential", change, night, mainLine, []string{"mongosh", "browser"}, (*run).endToEnd},
	{"clients", "drivers and mappers of other languages, installed into .cache/clients", change, night, beside, []string{"build"}, (*run).clients},
	{"artefacts", "what ./scripts/release makes for this machine, with --long for all, installed and started", change, night, beside, []string{"build"}, (*run).artefacts},
	{"released", "the server as it is released: cases in memory, operations at random, cursors, allocations", change, night, beside, []string{"build"}, (*run).released},
	{"race", "tests of shard, storage, wire and collection/catalog with the race detector, with --long of all packages", change, night, mainLine, nil, (*run).race},
	{"staticcheck", "staticcheck", change, night, beside, nil, (*run).staticcheck},
	{"vulnerable", "govulncheck, where its database can be reached", change, night, beside, nil, (*run).vulnerable},
	{"history", "what the messages of new commits say, and go vet of each", change, night, beside, []string{"build"}, (*run).history},
	{"suites", "the own tests of drivers: Go, Node, PyMongo, at the default release and at 9.0", night, night, mainLine, []string{"mongosh"}, (*run).suites},
	{"cluster", "suites over simulated TiKV clusters in which everything goes wrong, and servers as processes over one", night, night, mainLine, nil, (*run).cluster},
	{"fuzz", "every fuzz target for five minutes; without --long, if it is named by --only, 500 inputs", night, night, mainLine, nil, (*run).fuzz},
	{"soak", "the fault programme's nightly column; --rows and --part for some of it", night, night, mainLine, nil, (*run).soak},
}

// when returns, for the help, in which runs the step is included; "" for one in runs without a flag and with --long.
func (s step) when() string {
	switch {
	case s.from == night:
		return " (with --long)"
	case s.to == quick:
		return " (with --quick)"
	case s.from == quick:
		return " (with --quick, too)"
	}
	return ""
}

// choose returns the steps that a comma-separated list names or, if that is "", all steps of a speed.
// Errors: no step has such a name.
func choose(only string, of speed) (out []step, err error) {
	var names []string
	if only != "" {
		names = strings.Split(only, ",")
	}
	for _, name := range names {
		if !slices.ContainsFunc(steps, func(s step) bool { return s.name == name }) {
			return nil, fmt.Errorf("no step is called %q: ./scripts/test -h lists them", name)
		}
	}
	for _, s := range steps {
		if slices.Contains(names, s.name) || names == nil && s.from <= of && of <= s.to {
			out = append(out, s)
		}
	}
	return out, nil
}
