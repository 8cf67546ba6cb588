package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cantledb/cantle/wire/auth"
)

// complete derives settings from others: if a first user is to be made (RootName), logins are required (Auth).
func (c *Config) complete() {
	c.Auth = c.Auth || c.RootName != ""
	if c.Follow != "" {
		c.ReplicaSet = cmp.Or(c.ReplicaSet, followerSet)
	}
}

// rootPassword returns the password of the first user, from the setting or from a file; "" if no first user is to be
// made.
// Errors: a user without a password, or with two; a password without a user; a file that cannot be read.
func (c *Config) rootPassword() (string, error) {
	switch {
	case c.RootName == "" && c.RootPassword == "" && c.RootPasswordFile == "":
		return "", nil
	case c.RootName == "":
		return "", errors.New("--initdb-root-password: whose is it? Say --initdb-root-username as well")
	case c.RootPassword != "" && c.RootPasswordFile != "":
		return "", errors.New("--initdb-root-password and --initdb-root-password-file: one of them is enough")
	case c.RootPassword == "" && c.RootPasswordFile == "":
		return "", errors.New("--initdb-root-username: the first user needs a password: say --initdb-root-password or --initdb-root-password-file")
	case c.RootPassword != "":
		return c.RootPassword, nil
	}
	text, err := readCredential(c.RootPasswordFile)
	if err != nil {
		return "", fmt.Errorf("--initdb-root-password-file: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return "", fmt.Errorf("--initdb-root-password-file: there is no password in %s", c.RootPasswordFile)
	}
	return password, nil
}

// iterations are the SCRAM iteration counts of the first user's credentials. They equal the defaults of the server
// parameters that set such counts.
var iterations = map[auth.Mechanism]int{auth.ScramSHA1: 10_000, auth.ScramSHA256: 15_000}

// makeFirstUser makes the user that the settings name (RootName), with the role root. If there are users or roles
// already, it makes none: the user may have changed the password since. On a read-only store it makes none either.
// Errors: the errors of rootPassword; storage errors.
func (d *Daemon) makeFirstUser(ctx context.Context, users *auth.Directory) error {
	password, err := d.cfg.rootPassword()
	if err != nil || password == "" || d.cfg.readOnly() {
		return err
	}
	name := auth.Name{Name: d.cfg.RootName, DB: "admin"}
	if !users.Empty() {
		d.log.Info().Str("user", name.Name).Msg("users exist already: --initdb-root-username is ignored")
		return nil
	}
	u := &auth.User{Name: name, ID: auth.NewUserID(), Roles: []auth.Name{{Name: "root", DB: "admin"}}, Credentials: map[auth.Mechanism]auth.Credential{}}
	for mechanism, n := range iterations {
		if u.Credentials[mechanism], err = auth.NewCredential(mechanism, name.Name, password, false, n); err != nil {
			return fmt.Errorf("--initdb-root-password: %w", err)
		}
	}
	if err := users.Change(ctx, func(e *auth.Edit) error { e.PutUser(u); return nil }); err != nil {
		return fmt.Errorf("making the first user: %w", err)
	}
	d.log.Info().Str("user", name.Name).Msg("created the first user in admin with the role root; its password is not read again")
	return nil
}

// mongoVariables maps the environment variables of MongoDB's container image to flags.
// MONGO_INITDB_ROOT_USERNAME_FILE, a file with the user's name, is read, too.
var mongoVariables = []struct{ variable, flag string }{
	{"MONGO_INITDB_ROOT_USERNAME", "initdb-root-username"},
	{"MONGO_INITDB_ROOT_PASSWORD", "initdb-root-password"},
	{"MONGO_INITDB_ROOT_PASSWORD_FILE", "initdb-root-password-file"},
	{"MONGO_INITDB_DATABASE", "initdb-database"},
}

// mongoVariable returns the value of an environment variable of MongoDB's container image; ok reports whether it has
// a value. The user's name may also be in a file, which the variable with the suffix _FILE names.
// Errors: that file cannot be read.
func mongoVariable(variable string, env variablesByName) (value string, ok bool, err error) {
	if value, ok = env[variable]; ok && value != "" {
		return value, true, nil
	}
	file, ok := env[variable+"_FILE"]
	if variable != "MONGO_INITDB_ROOT_USERNAME" || !ok || file == "" {
		return "", false, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false, fmt.Errorf("environment variable %s_FILE: %w", variable, err)
	}
	return strings.TrimSpace(string(text)), true, nil
}
