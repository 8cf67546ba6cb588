// Command gendocs prints the pages that are generated from tables. From the tables by which the server works it
// prints the supported features into compat-tests/COVERAGE.md, the commands of the program into docs/reference.md,
// the privileges of commands and stages into docs/privileges.md, and the features of an account of Azure Cosmos DB
// into docs/cosmos-features.md, and what differs from MongoDB into docs/differences.md. From the glossary of
// ARCHITECTURE.md it prints the words of users into docs/glossary.md; from docs/performance.md, the table of
// operations into docs/fast.md; from compat-tests/clients/drivers/matrix.txt, the test results of clients into
// README.md; from programs.txt and scoreboard.txt of compat-tests/clients/programs, the results of programs into
// docs/programs.md; the environment variables of tests into CONTRIBUTING.md; and the fault programme into FAULTS.md.
//
//	go run ./scripts/gendocs
//
// With -faults it first takes over the newest counts of the fault programme, from .cache/faults. With -check it
// writes nothing and fails if a file on disk is out of step. With -man DIR it instead writes the man pages and the
// shell completions into that folder, as packages have them; -version and -date are printed in the foot of these
// pages.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"github.com/cantledb/cantle/cmd/cantle/manual"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/wire/rooms"
)

func main() {
	check := flag.Bool("check", false, "only compare")
	man := flag.String("man", "", "write the pages for man and the completions into this `folder`")
	var edition manual.Edition
	flag.StringVar(&edition.Version, "version", "", "`version` of the program, for these pages")
	flag.StringVar(&edition.Date, "date", "", "`date` of that version")
	counted := flag.Bool("faults", false, "take over the counts of the fault programme's last run")
	flag.Parse()
	var err error
	if *counted {
		err = keepCounts(".")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
	if *man != "" {
		err = writeManual(*man, edition)
	} else {
		err = run(".", *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

// run writes or compares the files of the module at root.
func run(root string, check bool) error {
	rows, areas, err := readClients(filepath.Join(root, "compat-tests", "clients", "drivers", "matrix.txt"))
	if err != nil {
		return err
	}
	glossary, err := renderGlossary(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		return err
	}
	operations, err := renderOperations(filepath.Join(root, "docs", "performance.md"))
	if err != nil {
		return err
	}
	programs, err := readPrograms(filepath.Join(root, "compat-tests", "clients", "programs"))
	if err != nil {
		return err
	}
	all := tables()
	return errors.Join(insert(filepath.Join(root, "docs", "fast.md"), operationsBegin, operationsEnd, operations, check),
		insert(filepath.Join(root, "README.md"), clientsBegin, clientsEnd, renderClients(rows, areas), check),
		insert(filepath.Join(root, "CONTRIBUTING.md"), environmentBegin, environmentEnd, renderEnvironment(), check),
		write(filepath.Join(root, "compat-tests", "COVERAGE.md"), append(render(all), renderChanges(release.Behaviours[:])...), check),
		insert(filepath.Join(root, "docs", "programs.md"), programsBegin, programsEnd, renderPrograms(programs), check),
		write(filepath.Join(root, "docs", "reference.md"), []byte(renderReference()), check),
		write(filepath.Join(root, "docs", "privileges.md"), renderPrivileges(), check),
		write(filepath.Join(root, "docs", "cosmos-features.md"), renderCosmos(), check),
		write(filepath.Join(root, "docs", "glossary.md"), glossary, check),
		write(filepath.Join(root, "docs", "differences.md"), renderDifferences(all), check), printFaults(root, check))
}

// write writes a file, or compares it.
func write(path string, text []byte, check bool) error {
	if !check {
		return os.WriteFile(path, text, 0o644)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(old, text) {
		return fmt.Errorf("%s is out of step with the tables; run go run ./scripts/gendocs", path)
	}
	return nil
}

// table lists one kind of names that a client can use.
type table struct {
	title  string
	source string // the Go variable
	rows   []row
}

// row is one name.
type row struct {
	name    string
	since   string // the first release of MongoDB with this feature; "" if that is old or unknown
	page    string // of the manual, relative to its root; "cosmos" for Azure's
	refused string // known, but every use is answered with an explaining error: the reason, else ""
}

// refuses returns the reason if the function of a table's row is one that answers every use with an error, so that
// the row counts as not supported; else "".
func refuses(function any) string {
	name := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
	return refusing[name[strings.LastIndexByte(name, '/')+1:]]
}

// tables reads the tables of the server.
func tables() []table {
	matching := table{title: "Query operators", source: "collection/match.Operators"}
	for _, o := range match.Operators {
		matching.rows = append(matching.rows, row{o.Name, o.Since, o.Doc, ""})
	}
	updates := table{title: "Update operators", source: "collection/update.Operators"}
	for _, o := range update.Operators {
		updates.rows = append(updates.rows, row{o.Name, o.Since, o.Doc, ""})
	}
	stages := table{title: "Aggregation stages", source: "collection/agg.Stages"}
	for _, s := range agg.Stages {
		stages.rows = append(stages.rows, row{s.Name, s.Since, s.Doc, refuses(s.Parse)})
	}
	accumulators := table{title: "Accumulators", source: "collection/agg.Accumulators"}
	for _, a := range agg.Accumulators {
		accumulators.rows = append(accumulators.rows, row{a.Name, a.Since, a.Doc, ""})
	}
	windows := table{title: "Window functions, beside the accumulators", source: "collection/agg.WindowFunctions"}
	for _, w := range agg.WindowFunctions {
		windows.rows = append(windows.rows, row{w.Name, w.Since, w.Doc, ""})
	}
	expressions := table{title: "Expression operators", source: "collection/expr.Operators"}
	for _, o := range expr.Operators {
		expressions.rows = append(expressions.rows, row{o.Name, o.Since, o.Doc, ""})
	}
	indexes := table{title: "Kinds of index", source: "collection/index.Kinds"}
	for _, k := range index.Kinds {
		name := k.Name
		if name == "" {
			name = "1, -1"
		}
		indexes.rows = append(indexes.rows, row{name, k.Since, k.Doc, ""})
	}
	commands := table{title: "Commands", source: "wire/command/*.Commands"}
	for _, c := range rooms.Commands() {
		commands.rows = append(commands.rows, row{c.Name, c.Since, c.Doc, refuses(c.Run)})
	}
	return []table{matching, updates, stages, accumulators, windows, expressions, indexes, commands}
}

// manuals are the releases of MongoDB to whose manual the tables link, in ascending order: each for the features that
// came after the release before it. The last is the newest release that a table may name.
var manuals = []string{"8.0", "8.3", "9.0"}

// sinceMin is the oldest release that the tables name.
const sinceMin = "3.6"

// manualOf returns the root of the address of MongoDB's manual in which the features that a release added are
// described.
func manualOf(since string) string {
	i := 0
	for i+1 < len(manuals) && since > manuals[i] {
		i++
	}
	return "https://www.mongodb.com/docs/v" + manuals[i] + "/"
}

// cosmosPage describes the commands that are Azure's.
const cosmosPage = "https://learn.microsoft.com/azure/cosmos-db/mongodb/custom-commands"

// url returns the address of the manual's page.
func (r row) url() string {
	if r.page == "cosmos" {
		return cosmosPage
	}
	return manualOf(r.since) + r.page + "/"
}

// render prints the tables as Markdown.
func render(tables []table) []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Generated by scripts/gendocs. DO NOT EDIT. -->\n\n# What is covered\n\n" +
		"Generated from the tables that the server uses; the links lead to the manual pages that they follow. " +
		"A struck-out name is recognized, and every use of it is refused with an error that states the reason.\n\n" +
		"The number after a name is the first release of MongoDB that has it, according to the manual and the release notes " +
		"(backports to older versions do not count). A name without " +
		"a number is older than " + sinceMin + ", or has no documented release, or is not part of MongoDB. All listed features " +
		"exist at every `--compat`; behaviours that a release changed are listed " +
		"[at the end](#what-follows-the-release).\n\n" +
		"| | supported | refused |\n|---|---|---|\n")
	for _, t := range tables {
		refused := 0
		for _, r := range t.rows {
			if r.refused != "" {
				refused++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d |\n", t.title, len(t.rows)-refused, refused)
	}
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n`%s`\n\n", t.title, t.source)
		for _, r := range t.rows {
			link := fmt.Sprintf("[`%s`](%s)", r.name, r.url())
			if r.refused != "" {
				link = "~~" + link + "~~"
			}
			if r.since != "" {
				link += " " + r.since
			}
			fmt.Fprintf(&b, "- %s\n", link)
		}
	}
	return b.Bytes()
}
