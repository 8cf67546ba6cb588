package command

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// lineBytesMax is how long a line of getLog may be. Manual: reference/command/getLog.
const lineBytesMax = 1024

// runGetLog returns the last lines of the log.
// Manual: reference/command/getLog.
func runGetLog(c *Call) error {
	if c.Value.IsNullish() {
		return mongoerr.MissingField(c.field(c.Name()))
	}
	if c.Value.Type != bson.TypeString {
		return mongoerr.WrongType(c.field(c.Name()), c.Value.Type.String(), "string")
	}
	if err := c.noArguments(); err != nil {
		return err
	}
	name, _ := c.Value.Str()
	b := c.Reply
	var lines []string
	total := 0
	switch name {
	case "*":
		b.BeginArray("names")
		b.String("", "global")
		b.String("", "startupWarnings")
		b.End()
		return nil
	case "global":
		if c.Recent != nil {
			lines, total = c.Recent()
		}
	case "startupWarnings":
	default:
		return mongoerr.New(mongoerr.OperationFailed, "No log named '%s'", name)
	}
	b.Int("totalLinesWritten", int64(total))
	b.BeginArray("log")
	for _, l := range lines {
		l = strings.ToValidUTF8(l, "\uFFFD")
		if len(l) > lineBytesMax {
			l = strings.ToValidUTF8(l[:lineBytesMax], "")
		}
		b.String("", l)
	}
	b.End()
	return nil
}

// runGetCmdLineOpts returns the arguments of the program.
// Manual: reference/command/getCmdLineOpts.
func runGetCmdLineOpts(c *Call) error {
	if err := c.noArguments(); err != nil {
		return err
	}
	b := c.Reply
	b.BeginArray("argv")
	if len(c.CommandLine) == 0 {
		b.String("", "cantle")
	}
	for _, a := range hideSecrets(c.CommandLine) {
		b.String("", a)
	}
	b.End()
	b.BeginDoc("parsed")
	b.BeginDoc("net")
	b.End()
	if r, ok := c.replicaSet(); ok {
		b.BeginDoc("replication")
		b.String("replSet", r.Name)
		b.End()
	}
	b.End()
	return nil
}

// hideSecrets is a command line without the passwords in it.
func hideSecrets(args []string) []string {
	out := make([]string, len(args))
	hide := false
	for i, a := range args {
		name, _, assigned := strings.Cut(a, "=")
		secret := slices.Contains([]string{"cosmos-key", "tls-certificate-key-file-password"}, strings.TrimLeft(name, "-")) && strings.HasPrefix(a, "-")
		switch {
		case hide:
			out[i] = "<password>"
		case secret && assigned:
			out[i] = name + "=<password>"
		default:
			out[i] = a
		}
		hide = secret && !assigned && !hide
	}
	return out
}
