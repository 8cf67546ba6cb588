package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The archive for clusters has a program that looks for one; the usual program says where to
// find that.
func TestClusterArchive(t *testing.T) {
	r := ready(t)
	dir := unpackArchive(t, filepath.Join(r.out, r.clusterArchiveName(here)))
	for _, name := range []string{"LICENSE", "scale-out.md"} {
		if _, err := os.Stat(filepath.Join(dir, r.clusterFolder(here), name)); err != nil {
			t.Error(err)
		}
	}
	program := filepath.Join(dir, r.clusterFolder(here), "cantle-tikv")
	out, err := exec.Command(program, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "cantle "+testVersion) {
		t.Errorf("%q %v", out, err)
	}
	for program, want := range map[string]string{program: "cannot be reached", r.binary(here): "cantle-tikv"} {
		cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--storage", "tikv://127.0.0.1:1/nobody") // no port of PD
		cmd.Env = []string{"HOME=" + dir}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s; want %q", filepath.Base(program), err, out, want)
		}
	}
}
