package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cantledb/cantle/wire/auth"
)

// complete completes the settings: if a first user is to be made, users must log in.
func (c *Config) complete() { c.Auth = c.Auth || c.RootName != "" }

// rootPassword returns the password of the first user, "" without one.
// Errors: no password, or two; a file that cannot be read.
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
	text, err := os.ReadFile(c.RootPasswordFile)
	if err != nil {
		return "", fmt.Errorf("--initdb-root-password-file: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return "", fmt.Errorf("--initdb-root-password-file: there is no password in %s", c.RootPasswordFile)
	}
	return password, nil
}

// iterations are the SCRAM iteration counts of the first user's credentials: the defaults
// of the server parameters.
var iterations = map[auth.Mechanism]int{auth.ScramSHA1: 10_000, auth.ScramSHA256: 15_000}

// makeFirstUser makes the user that the settings name, with the role root. If there are
// users or roles already, it makes none: the password may have been changed since.
// Errors: those of rootPassword; storage errors.
func (d *Daemon) makeFirstUser(ctx context.Context, users *auth.Directory) error {
	password, err := d.cfg.rootPassword()
	if err != nil || password == "" || d.cfg.ServeDamaged {
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

// mongoVariables maps the environment variables of MongoDB's container image to settings.
// The variable MONGO_INITDB_ROOT_USERNAME_FILE is read, too.
var mongoVariables = []struct{ variable, flag string }{
	{"MONGO_INITDB_ROOT_USERNAME", "initdb-root-username"},
	{"MONGO_INITDB_ROOT_PASSWORD", "initdb-root-password"},
	{"MONGO_INITDB_ROOT_PASSWORD_FILE", "initdb-root-password-file"},
}

// mongoVariable returns the value of such a variable; ok reports whether it has a value.
// Errors: the file that holds the name cannot be read.
func mongoVariable(variable string, env func(string) (string, bool)) (value string, ok bool, err error) {
	if value, ok = env(variable); ok && value != "" {
		return value, true, nil
	}
	file, ok := env(variable + "_FILE")
	if variable != "MONGO_INITDB_ROOT_USERNAME" || !ok || file == "" {
		return "", false, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false, fmt.Errorf("environment variable %s_FILE: %w", variable, err)
	}
	return strings.TrimSpace(string(text)), true, nil
}
