package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
)

// govulncheck is the tool that compares the functions that a program calls with the Go vulnerability database.
const govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"

// calledVulnerable is the exit status of govulncheck if a vulnerable function is called.
const calledVulnerable = 3

// vulnerable is the step that reports known vulnerabilities in the functions that the program calls. If the tool or
// its database is not reachable, the step prints that in one line and passes.
func (r *run) vulnerable() error {
	cmd, end := r.command("go", "run", govulncheck, "./cmd/cantle")
	defer end()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	// go run has an exit status of its own, and prints that of the tool.
	failed := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed) && (failed.ExitCode() == calledVulnerable || bytes.Contains(said.Bytes(), []byte("exit status 3"))):
		_, _ = r.out.Write(said.Bytes())
		return errors.New("what is called has known vulnerabilities: lift the modules (go run ./scripts/modules)")
	case r.ctx.Err() != nil:
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(said.Bytes()), []byte("\n"))
	fmt.Fprintf(r.out, "not looked for: govulncheck cannot be run or its database not be reached (%s)\n", lines[max(0, len(lines)-2)])
	return nil
}
