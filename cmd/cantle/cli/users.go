package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/account"
	"github.com/cantledb/cantle/cmd/cantle/columns"
)

const usersHelp = `Creates the roles and users of an Azure Cosmos DB for MongoDB account from the files that
you passed to the Azure CLI, or from its lists:

  cantle users mongodb://127.0.0.1:27017/ role.json user.json
  az cosmosdb mongodb role definition list --account-name ... > roles.json
  cantle users mongodb://127.0.0.1:27017/ roles.json

A file has one definition, a list of definitions, or the resources of a template. Roles
are created before users, in whichever order the files are given. Existing roles and users
are changed to match the file, so a second run changes nothing. Names that cannot be
translated are listed, and the exit status is 1.

Lists printed by the Azure CLI have no passwords: add "Password" for each user.
`

func usersVerb(f *pflag.FlagSet) action {
	return func(ctx context.Context, s Streams) error {
		if f.NArg() < 2 {
			return usageErrorf("expected a connection string and files, as in\n\n  cantle users mongodb://127.0.0.1:27017/ role.json user.json")
		}
		var list []*account.Definition
		for _, path := range f.Args()[1:] {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found, err := account.Definitions(string(text))
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			list = append(list, found...)
		}
		t, err := newTransfer(f.Arg(0), "cantle users")
		if err != nil {
			return err
		}
		defer t.end()
		return t.define(ctx, list, s.Out)
	}
}

// codeRoleNotFound is the error code of a command that grants a missing role.
const codeRoleNotFound = 31

// define makes roles on the server, and then users, and prints the result of each. A role may inherit from another
// role of the files, so roles that fail because of a missing role are retried after the others.
func (t *transfer) define(ctx context.Context, list []*account.Definition, out io.Writer) error {
	slices.SortStableFunc(list, func(a, b *account.Definition) int { return cmp.Compare(a.Kind(), b.Kind()) }) // "role", "user"
	failed := 0
	fail := func(d *account.Definition, text string) {
		failed++
		fmt.Fprintf(out, "%s %s.%s: %s\n", d.Kind(), d.DB, d.Name, text)
	}
	for tries := len(list); len(list) > 0; tries-- {
		var again []*account.Definition
		for _, d := range list {
			switch err := t.defineOne(ctx, d, out); {
			case err == nil:
				for _, text := range d.Notes {
					fmt.Fprintf(out, "  %s\n", text)
				}
				for _, text := range d.Left {
					fail(d, "left out: "+text)
				}
			case isCode(err, codeRoleNotFound) && tries > 1 && len(list) > 1:
				again = append(again, d)
			case errors.Is(err, errNoPassword):
				fail(d, err.Error())
			case isRefusal(err):
				fail(d, "not created: "+t.explain(err).Error())
			default:
				return t.explain(err)
			}
		}
		list = again
	}
	if failed > 0 {
		return fmt.Errorf("%s could not be created or changed", columns.Plural(failed, "definition"))
	}
	return nil
}

// errNoPassword refuses a user from a list that the Azure CLI printed: the list has no passwords.
var errNoPassword = errors.New("not created: the file has no password; add \"Password\" and run this again")

// defineOne makes one role or user, or changes the existing one.
func (t *transfer) defineOne(ctx context.Context, d *account.Definition, out io.Writer) error {
	if d.BuiltIn {
		fmt.Fprintf(out, "role %s.%s is built in\n", d.DB, d.Name)
		return nil
	}
	there, err := t.isDefined(ctx, d)
	if err != nil {
		return err
	}
	if d.User && !there && !d.Secret {
		return errNoPassword
	}
	if _, err := t.run(ctx, d.DB, d.Command(there)); err != nil {
		return err
	}
	done := "created"
	if there {
		done = "existed already, updated to match the file"
	}
	fmt.Fprintf(out, "%s %s.%s: %s\n", d.Kind(), d.DB, d.Name, done)
	return nil
}

// isDefined reports whether a role or user of the name exists.
func (t *transfer) isDefined(ctx context.Context, d *account.Definition) (bool, error) {
	reply, err := t.run(ctx, d.DB, bson.D{{d.Kind() + "sInfo", d.Name}}.Doc())
	list, _ := reply.Get(d.Kind() + "s").Array()
	return !list.IsEmpty(), err
}
