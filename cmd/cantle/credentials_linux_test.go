package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/cmd/cantle/cli"
	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/serve/certificates"
)

// serviceUser is the ID of the service's user in the test, if the test runs as root.
const serviceUser = 65534

// TestCredentials starts a server with TLS as systemd starts the packaged service: with the command line of the unit,
// with the credentials of the unit and of the lines in docs/security.md, as a user that cannot read /etc/cantle. The
// server reads the settings and the certificate from the credentials; without those it fails with advice.
func TestCredentials(t *testing.T) {
	if args, ok := testenv.Arguments(t); ok {
		os.Exit(cli.Run(t.Context(), args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, serve))
	}
	unit, page := text(t, "../../packaging/linux/cantle.service"), text(t, "../../docs/security.md")
	root := t.TempDir()
	etc, data, held := filepath.Join(root, "etc"), filepath.Join(root, "data"), filepath.Join(root, "credentials")
	for _, dir := range []string{etc, data, held} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := certificates.Make(etc, []string{"127.0.0.1"}, "client", time.Hour); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("data: %s\nlisten: 127.0.0.1:0\ntls-mode: requireTLS\ntls-certificate-key-file: %s\n", data, filepath.Join(etc, "server.pem"))
	if err := os.WriteFile(filepath.Join(etc, "cantle.conf"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	inEtc := func(s string) string { return strings.ReplaceAll(s, "/etc/cantle", etc) }
	loaded := regexp.MustCompile(`(?m)^LoadCredential=([^:]+):(.*)$`).FindAllStringSubmatch(unit+page, -1)
	if len(loaded) != 2 {
		t.Fatalf("credentials: %q", loaded)
	}
	for _, c := range loaded {
		copyFile(t, inEtc(c[2]), filepath.Join(held, c[1]), 0o400)
	}
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/cantle (.*)$`).FindStringSubmatch(unit)
	if line == nil {
		t.Fatal("the unit has no ExecStart")
	}
	if os.Getuid() == 0 { // the user of the service owns its data and its credentials, and nothing in etc
		program := filepath.Join(root, "program")
		copyFile(t, os.Args[0], program, 0o755)
		for _, path := range []string{data, held, filepath.Join(held, "cantle.conf"), filepath.Join(held, "server.pem")} {
			if err := os.Chown(path, serviceUser, serviceUser); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{root, filepath.Dir(root)} {
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	service := func(env ...string) *exec.Cmd {
		cmd := testenv.Again(t, strings.Fields(inEtc(line[1]))...)
		cmd.Env = append(cmd.Environ(), append(env, "INVOCATION_ID=1")...)
		cmd.Dir = root
		if os.Getuid() == 0 {
			cmd.Path = filepath.Join(root, "program")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: serviceUser, Gid: serviceUser}}
		}
		return cmd
	}
	if os.Getuid() == 0 {
		out, err := service().CombinedOutput()
		if err == nil || !strings.Contains(string(out), "permission denied; let systemd pass it on: systemctl edit cantle, [Service], LoadCredential=cantle.conf:") {
			t.Errorf("without credentials: %v\n%s", err, out)
		}
	}
	cmd := service("CREDENTIALS_DIRECTORY=" + held)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(ready, "cantle ready mongodb://") || !strings.HasSuffix(ready, "?tls=true\n") {
		t.Fatalf("%q %v", ready, err)
	}
	uri := strings.Fields(ready)[2] + "&tlsCAFile=" + filepath.Join(etc, "ca.pem")
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := client.Disconnect(t.Context()); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// text returns the text of a file.
func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// copyFile copies a file.
func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(to, []byte(text(t, from)), mode); err != nil {
		t.Fatal(err)
	}
}
