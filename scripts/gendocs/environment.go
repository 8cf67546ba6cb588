package main

import (
	"bytes"
	"fmt"

	"github.com/cantledb/cantle/internal/testenv"
)

// Marks around the table of CONTRIBUTING.md that is generated from the environment variables of the tests.
const (
	environmentBegin = "<!-- environment: printed by scripts/gendocs from internal/testenv -->\n"
	environmentEnd   = "<!-- end of environment -->\n"
)

// renderEnvironment prints the variables as Markdown.
func renderEnvironment() []byte {
	var b bytes.Buffer
	b.WriteString("| Variable | Values | Without it | |\n|---|---|---|---|\n")
	for _, v := range testenv.Variables {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.Name, v.Values, v.Default, v.Purpose)
	}
	return b.Bytes()
}
