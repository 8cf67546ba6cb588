package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// noticesName is the file with the licences of all modules that are linked into the binaries. Most of these licences
// require that their text accompanies each copy.
const noticesName = "THIRD_PARTY_LICENSES"

// dataLicences are the licences of data of others inside this repository that is embedded in the binaries.
var dataLicences = []string{"collection/tailoring/LICENSE"}

// noticesFile returns the path of that file.
func (r *release) noticesFile() string { return filepath.Join(r.out, "binaries", noticesName) }

// notices writes the file, for the modules of all platforms together.
func (r *release) notices() error {
	modules, err := r.linkedModules()
	if err != nil {
		return err
	}
	text, err := noticesOf(modules)
	if err != nil {
		return err
	}
	for _, name := range dataLicences {
		licence, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		text = fmt.Appendf(text, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), name, licence)
	}
	if err := os.MkdirAll(filepath.Dir(r.noticesFile()), 0o755); err != nil {
		return err
	}
	return os.WriteFile(r.noticesFile(), text, 0o644)
}

// linkedModule is a module with linked packages.
type linkedModule struct {
	path, version string
	dir           string
	packages      map[string]bool // the folders of the packages
}

// name returns the module with its version.
func (m *linkedModule) name() string { return m.path + " " + m.version }

// linkedModules returns the modules that are linked into the binaries of any platform: Go's standard library first,
// the others sorted by path.
func (r *release) linkedModules() ([]*linkedModule, error) {
	std, err := r.standardLibrary()
	if err != nil {
		return nil, err
	}
	found := map[string]*linkedModule{}
	for _, p := range r.platforms {
		out, err := r.command(r.buildFor(p), "go", "list", "-deps", "-json=Dir,Module", "./cmd/cantle")
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(strings.NewReader(out)); ; {
			var pkg struct {
				Dir    string
				Module *struct {
					Path, Version, Dir string
				}
			}
			if err := d.Decode(&pkg); err == io.EOF {
				break
			} else if err != nil {
				return nil, err
			}
			if m := pkg.Module; m != nil && m.Version != "" { // no package of Go's library, and none of ours
				if found[m.Path] == nil {
					found[m.Path] = &linkedModule{m.Path, m.Version, m.Dir, map[string]bool{}}
				}
				found[m.Path].packages[pkg.Dir] = true
			}
		}
	}
	list := []*linkedModule{std}
	for _, m := range found {
		list = append(list, m)
	}
	slices.SortFunc(list[1:], func(a, b *linkedModule) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

// standardLibrary returns Go's standard library as a module.
func (r *release) standardLibrary() (*linkedModule, error) {
	out, err := r.command(r.plainBuild(), "go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	root, version, _ := strings.Cut(out, "\n")
	return &linkedModule{"std", strings.TrimPrefix(strings.TrimSpace(version), "go"), strings.TrimSpace(root), nil}, nil
}

// Patterns of the names of files: those with a licence, those with notices that must accompany a licence, and source
// files, which are neither.
var (
	licenceFile = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying)([-_.].*)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents|copyright)([-_.].*)?$`)
	sourceFile  = regexp.MustCompile(`(?i)\.(go|s|c|h|sh|tmpl|json|ya?ml)$`)
)

// coverageMin is the minimum percentage of a licence file that must be the text of known licences. The rest names the
// holders of the copyright.
const coverageMin = 75

// text is the text of a licence or of a notice, with the modules that have it.
type text struct {
	of   []string // "path version: file"
	data []byte
}

// noticesOf returns the file of the licences of modules: a line for each module with the SPDX names of its licences,
// then each text once.
// Errors: a module without a known licence.
func noticesOf(modules []*linkedModule) ([]byte, error) {
	var list, body bytes.Buffer
	var texts []*text
	for _, m := range modules {
		names, own, err := m.licences()
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s has no licence that is known in %s", m.name(), m.dir)
		}
		fmt.Fprintf(&list, "%s: %s\n", m.name(), strings.Join(names, ", "))
		for _, t := range own {
			if i := slices.IndexFunc(texts, func(o *text) bool { return bytes.Equal(o.data, t.data) }); i >= 0 {
				texts[i].of = append(texts[i].of, t.of...)
			} else {
				texts = append(texts, t)
			}
		}
	}
	for _, t := range texts {
		fmt.Fprintf(&body, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(t.of, "\n"), t.data)
	}
	return slices.Concat([]byte("cantle is made of the modules below, each under the licences that stand behind it. The texts follow.\n\n"), list.Bytes(), body.Bytes()), nil
}

// licences reads the licences and notices of a module: those in the module's folder, and those in the folders from
// there to the packages that are linked. names are the SPDX names of the licences.
func (m *linkedModule) licences() (names []string, texts []*text, err error) {
	folders := map[string]bool{m.dir: true}
	for dir := range m.packages {
		for ; len(dir) > len(m.dir); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	var sorted []string
	for dir := range folders {
		sorted = append(sorted, dir)
	}
	slices.Sort(sorted)
	for _, dir := range sorted {
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range files {
			isLicence := licenceFile.MatchString(f.Name())
			if f.IsDir() || sourceFile.MatchString(f.Name()) || !isLicence && !noticeFile.MatchString(f.Name()) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return nil, nil, err
			}
			inside, err := filepath.Rel(m.dir, filepath.Join(dir, f.Name()))
			if err != nil {
				return nil, nil, err
			}
			data = bytes.TrimSpace(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
			texts = append(texts, &text{[]string{m.name() + ": " + filepath.ToSlash(inside)}, data})
			if found := licensecheck.Scan(data); isLicence && found.Percent >= coverageMin {
				for _, match := range found.Match {
					names = append(names, match.ID)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), texts, nil
}
