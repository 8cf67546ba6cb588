package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// adoption is a user's project that depends on mongodb-memory-server, with the helper program that changes it.
type adoption struct {
	somebodysProject
	helper, spec string
}

// newAdoption copies a project from testdata/adopt. Its overrides make npm take the packages of the release from
// files instead of a registry.
func newAdoption(t *testing.T, helper string, tarballs []string, from string) adoption {
	t.Helper()
	p := adoption{newProject(t, filepath.Join("adopt", from)), helper, "file:" + tarballs[len(tarballs)-1]}
	var manifest map[string]any
	if err := json.Unmarshal([]byte(p.manifest(t)), &manifest); err != nil {
		t.Fatal(err)
	}
	system, processor := npmPlatform(here)
	manifest["overrides"] = map[string]string{"cantle": "file:" + tarballs[1], npmScope + "/" + system + "-" + processor: "file:" + tarballs[0]}
	text, err := json.MarshalIndent(manifest, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "package.json"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// manifest returns the text of the project's package.json.
func (p adoption) manifest(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// adopt runs the helper, and fails the test unless its output contains all texts.
func (p adoption) adopt(t *testing.T, texts []string, args ...string) {
	t.Helper()
	out := p.run(t, "node", append([]string{p.helper, "adopt"}, args...)...)
	for _, want := range texts {
		if !strings.Contains(out, want) {
			t.Errorf("adopt %s prints no %q:\n%s", strings.Join(args, " "), want, out)
		}
	}
}

// TestAdopt changes projects that use mongodb-memory-server, directly and through presets, and runs their tests. It
// checks that a run without --yes changes nothing, that a second run changes nothing more, and that --undo restores
// each file to the byte.
func TestAdopt(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not here")
	}
	tarballs := npmTarballs(t, ready(t))
	tool := somebodysProject{dir: t.TempDir(), temp: t.TempDir()}
	tool.run(t, "npm", npmInstall(tarballs...)...)
	helper := filepath.Join(tool.dir, "node_modules", ".bin", "cantle-memory-server")
	for name, project := range map[string]struct {
		changes []string
		use     func(*testing.T, adoption)
	}{
		"jest":       {[]string{"Through the overrides these use it, too: @shelf/jest-mongodb\n"}, useJest},
		"vitest":     {[]string{"Through the overrides these use it, too: vitest-mongodb\n"}, useVitest},
		"typescript": {typescriptChanges, useTypeScript},
	} {
		t.Run(name, func(t *testing.T) {
			p := newAdoption(t, helper, tarballs, name)
			before := p.manifest(t)
			changes := append(project.changes, `package.json: overrides.mongodb-memory-server: nothing -> "`+p.spec+`"`)
			p.adopt(t, append(changes, "Nothing is changed yet"), "--package", p.spec)
			if p.manifest(t) != before || exists(p.dir, "cantle-adopt.json") {
				t.Error("a run without --yes changes the project")
			}
			p.adopt(t, append(changes, "Changed. Next: npm install\n"), "--package", p.spec, "--yes")
			changed := p.manifest(t)
			p.adopt(t, []string{"Nothing is to be changed.\n"}, "--package", p.spec, "--yes")
			if p.manifest(t) != changed || changed == before {
				t.Error("the second run changes the project, or the first one did not")
			}
			p.run(t, "npm", npmInstall()...)
			if !t.Failed() {
				project.use(t, p)
			}
			p.adopt(t, []string{"Nothing is changed yet"}, "--undo")
			p.adopt(t, []string{"Changed. Next: npm install\n"}, "--undo", "--yes")
			if p.manifest(t) != before || exists(p.dir, "cantle-adopt.json") {
				t.Errorf("--undo leaves\n%s", p.manifest(t))
			}
		})
	}
	t.Run("pnpm", func(t *testing.T) {
		p := newAdoption(t, helper, tarballs, "vitest")
		file := filepath.Join(p.dir, "pnpm-workspace.yaml")
		const before = "packages:\n  - shop\n\noverrides:\n  lodash: ^4.17.21 # older ones are unsafe\n  'mongodb-memory-server': ^9\nsaveExact: true\n"
		if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		p.adopt(t, []string{`pnpm-workspace.yaml: overrides.mongodb-memory-server: "^9" -> "npm:cantle-memory-server@^` + testVersion + `"`, "Next: pnpm install"}, "--yes")
		p.adopt(t, []string{"Nothing is to be changed.\n"}, "--yes")
		text, err := os.ReadFile(file)
		if want := `  "mongodb-memory-server": "npm:cantle-memory-server@^` + testVersion + "\"\n"; err != nil || !strings.Contains(string(text), want) || !strings.Contains(string(text), "\nsaveExact: true\n") {
			t.Errorf("%v, %s", err, text)
		}
		p.adopt(t, nil, "--undo", "--yes")
		if text, err = os.ReadFile(file); err != nil || string(text) != strings.Replace(before, "'mongodb-memory-server': ^9", `"mongodb-memory-server": "^9"`, 1) {
			t.Errorf("%v, --undo leaves\n%s", err, text)
		}
	})
	t.Run("errors", func(t *testing.T) {
		for _, c := range []struct{ args, want string }{
			{"adopt " + t.TempDir(), "name the folder of a project"},
			{"adopt " + tool.dir, "depend neither on mongodb-memory-server nor on a package that uses it"},
			{"adopt --undo " + tool.dir, "there is nothing to undo"},
			{"adapt", "cantle-memory-server adopt [FOLDER]"},
			{"adopt --no", "Unknown option '--no'"},
		} {
			out, err := exec.CommandContext(t.Context(), "node", append([]string{helper}, strings.Fields(c.args)...)...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%s: %v, %s", c.args, err, out)
			}
		}
	})
}

// npmInstall returns the arguments of npm that install the packages of the project in this folder, and others.
func npmInstall(more ...string) []string {
	return append([]string{"install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline", "--loglevel=error"}, more...)
}

func useJest(t *testing.T, p adoption) {
	if out := p.run(t, filepath.Join("node_modules", ".bin", "jest")); !strings.Contains(out, "Tests:       2 passed, 2 total") {
		t.Errorf("jest prints\n%s", out)
	}
}

func useVitest(t *testing.T, p adoption) {
	if out := p.run(t, filepath.Join("node_modules", ".bin", "vitest"), "run"); !strings.Contains(out, "Tests  1 passed (1)") {
		t.Errorf("vitest prints\n%s", out)
	}
}

// typescriptChanges are the changes of a project with several packages.
var typescriptChanges = []string{
	`package.json: devDependencies.mongodb-memory-server: "10.1.4" -> `,
	`packages/api/package.json: devDependencies.mongodb-memory-server-core: "^10.1.4" -> `,
	`packages/api/package.json: devDependencies.mongodb-memory-server-global-4.4: "^10.1.4" -> `,
	"To change by hand: legacy.ts imports lib/util/resolveConfig, ",
}

// useTypeScript compiles a package to CommonJS, where the default import depends on the exports' mark, and a file to
// a module, and runs both. In a long run Bun and Deno, which are fetched then, run their sources.
func useTypeScript(t *testing.T, p adoption) {
	tsc := filepath.Join("node_modules", ".bin", "tsc")
	options := []string{"--strict", "--target", "es2022", "--lib", "esnext", "--types", "node", "--esModuleInterop", "--skipLibCheck"}
	p.run(t, tsc, append(options, "--module", "node16", "packages/api/default.ts", "esm.mts")...)
	if t.Failed() {
		return
	}
	api := somebodysProject{dir: filepath.Join(p.dir, "packages", "api"), temp: p.temp}
	if out := api.run(t, "node", "default.js"); !strings.Contains(out, "default import: new") {
		t.Errorf("default.js prints %s", out)
	}
	if out := p.run(t, "node", "esm.mjs"); !strings.Contains(out, "module: stopped") {
		t.Errorf("esm.mjs prints %s", out)
	}
	if os.Getenv("CANTLE_LONG") == "" {
		t.Log("Bun and Deno are fetched by ./scripts/test --long")
		return
	}
	runtimes := t.TempDir()
	p.run(t, "npm", append([]string{"--prefix", runtimes}, npmInstall("bun@1.4.5", "deno@2.9.6")...)...)
	if out := p.run(t, installed(t, runtimes, "@oven/bun-*/bin/bun"), "test", "./orders.test.ts"); !strings.Contains(out, " 1 pass\n 0 fail") {
		t.Errorf("bun prints %s", out)
	}
	if out := p.run(t, installed(t, runtimes, "@deno/*/deno"), "run", "--allow-all", "--no-lock", "--node-modules-dir=manual", "esm.mts"); !strings.Contains(out, "module: stopped") {
		t.Errorf("deno prints %s", out)
	}
}

// installed returns the path of a program below node_modules.
func installed(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return found[0]
}
