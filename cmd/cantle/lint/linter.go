package lint

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/cantledb/cantle/collection/cosmos"
)

// Linter checks commands and files against the features of one account, and keeps the findings. Not safe for
// concurrent use.
type Linter struct {
	account *cosmos.Account
	scratch *scratch
	notes   io.Writer // for the places that could not be checked
	found   []finding
	looked  checkedCounts
	noted   int
}

// Prefix begins the names of accounts, as in cosmos-7.0.
const Prefix = "cosmos-"

// Accounts lists the names of accounts.
func Accounts() []string {
	names := cosmos.VersionNames()
	for i := range names {
		names[i] = Prefix + names[i]
	}
	return names
}

// New makes a linter for the account with a name, such as cosmos-7.0, and capabilities, separated by commas. It starts
// a server in memory; Close ends that. Places that could not be checked are written to notes.
// Errors: wrong names; errors of the start of that server.
func New(ctx context.Context, name, capabilities string, notes io.Writer) (*Linter, error) {
	version, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return nil, fmt.Errorf("%q is not a known account: choose %s", name, strings.Join(Accounts(), ", "))
	}
	l := &Linter{account: cosmos.NewAccount(), notes: notes}
	var err error
	if l.account.Version, err = cosmos.ParseVersion(version); err != nil {
		return nil, err
	}
	if l.account.Capabilities, err = cosmos.ParseCapabilities(capabilities); err != nil {
		return nil, err
	}
	l.scratch, err = openScratch(ctx, l.account)
	return l, err
}

// Account describes the account, for people.
func (l *Linter) Account() string {
	return AccountOf(l.account.Version.String(), l.account.Capabilities.String())
}

// AccountOf returns the description of an account with a server version and capabilities ("" for none), for users.
func AccountOf(version, capabilities string) string {
	text := "Azure Cosmos DB for MongoDB " + version
	if capabilities != "" {
		text += " with " + capabilities
	}
	return text
}

// Close ends the server of the linter.
func (l *Linter) Close() { l.scratch.close() }

// notesMax bounds the number of notes.
const notesMax = 20

// note prints a place that could not be checked, and why. After notesMax places it prints no more.
func (l *Linter) note(at location, format string, args ...any) {
	switch l.noted++; {
	case l.noted <= notesMax:
		fmt.Fprintf(l.notes, "%s: %s\n", at, fmt.Sprintf(format, args...))
	case l.noted == notesMax+1:
		fmt.Fprintln(l.notes, "further places that could not be checked are not listed")
	}
}
