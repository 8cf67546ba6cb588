// Command docs builds the documentation as a static site, from the pages in docs: the same pages that the console
// serves under /docs/, with a search and a list of versions. They load nothing from other hosts, and can be opened
// from the folder as well.
//
//	go run ./scripts/docs                               into .cache/site/VERSION
//	go run ./scripts/docs -out public -version 0.1.0    into public/0.1.0
//
// Other versions in the folder remain, and the pages of each version list all of them. index.html there leads to the
// newest one.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/cantledb/cantle/cmd/cantle/site"
	"github.com/cantledb/cantle/serve/daemon"
)

func main() {
	out := flag.String("out", filepath.FromSlash(".cache/site"), "the `folder` of all versions")
	version := flag.String("version", daemon.Version, "the `version` of these pages")
	flag.Parse()
	n, err := build(*out, *version)
	if err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files in %s\n", n, filepath.Join(*out, *version))
}

// versionForm matches the names of versions: 0.1.0, 0.2.0-dev, 0.2.0-rc.1.
var versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+(-[a-z0-9.]+)?$`)

// build writes the pages of a version below a folder, and returns the number of files.
// Errors: a wrong version; those of writing.
func build(out, version string) (int, error) {
	if !versionForm.MatchString(version) {
		return 0, fmt.Errorf("%q is no version such as 0.1.0", version)
	}
	files, err := site.Render(site.Options{Version: version})
	if err != nil {
		return 0, err
	}
	if err := os.RemoveAll(filepath.Join(out, version)); err != nil {
		return 0, err
	}
	for name, text := range files {
		path := filepath.Join(out, version, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644)); err != nil {
			return 0, err
		}
	}
	return len(files), list(out)
}

// list writes the list of the versions in a folder, the newest first, and the page that leads to the newest.
func list(out string) error {
	pages, err := filepath.Glob(filepath.Join(out, "*", "index.html"))
	if err != nil {
		return err
	}
	var versions []string
	for _, p := range pages {
		if v := filepath.Base(filepath.Dir(p)); versionForm.MatchString(v) {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, func(a, b string) int { return semver.Compare("v"+b, "v"+a) })
	text, err := json.Marshal(versions)
	if err != nil {
		return err
	}
	newest := versions[0]
	if i := slices.IndexFunc(versions, func(v string) bool { return !strings.Contains(v, "-") }); i >= 0 {
		newest = versions[i]
	}
	return errors.Join(
		os.WriteFile(filepath.Join(out, "versions.js"), fmt.Appendf(nil, "window.cantleVersions = %s;\n", text), 0o644),
		os.WriteFile(filepath.Join(out, "index.html"), fmt.Appendf(nil, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Cantle</title>"+
			"<meta http-equiv=\"refresh\" content=\"0; url=%s/index.html\"><a href=\"%s/index.html\">Documentation of Cantle %s</a></html>\n", newest, newest, newest), 0o644))
}
