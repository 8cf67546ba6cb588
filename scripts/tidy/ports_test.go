package tidy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// published finds a port that Docker publishes on every interface of a machine: -p 27017:27017 on a command line, or the
// same as a string in a list of ports.
var published = regexp.MustCompile(`(-p |--publish[ =]|["'])\d{2,5}:\d{2,5}\b`)

// onRunner is the beginning of an example for a machine of a CI service, which only the job can reach.
const onRunner = `skip="runs on `

// TestPublishedPorts checks that examples publish ports on the address 127.0.0.1: the image needs no login, and Docker's
// rules come before those of a firewall. Jobs of CI services are left out.
func TestPublishedPorts(t *testing.T) {
	for _, root := range []string{"../../README.md", "../../docs", "../../packaging"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if ext := filepath.Ext(path); ext != ".md" && ext != ".yaml" && ext != ".yml" {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			runner := false
			for i, line := range strings.Split(string(text), "\n") {
				if strings.HasPrefix(line, "```") {
					runner = strings.Contains(line, onRunner)
				}
				if runner {
					continue
				}
				if found := published.FindString(line); found != "" {
					t.Errorf("%s:%d: %s is published on every interface; write 127.0.0.1: before it", path, i+1, found)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
