package pages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cantledb/cantle/cmd/cantle/cli"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// image begins the name of the container image, whose containers run cantle.
const image = "ghcr.io/cantledb/cantle"

// TestYAML checks the blocks of YAML in the pages, of which most cannot run here, and the YAML files for containers: they
// are YAML without a field twice; a file of Compose, Kubernetes, GitHub Actions, GitLab CI or Azure Pipelines has the
// fields that this needs; names that one part refers to are defined by another; the command lines of cantle and its
// variables exist; and shell scripts have no error of syntax.
func TestYAML(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]int{}
	check := func(where, text string) {
		d := yaml.NewDecoder(strings.NewReader(text))
		for {
			var doc any
			err := d.Decode(&doc)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Errorf("%s: %v", where, err)
				return
			}
			kind, err := checkManifest(doc)
			if err = errors.Join(err, checkCommands(doc)); err != nil {
				t.Errorf("%s, %s: %v", where, kind, err)
			}
			checked[kind]++
		}
	}
	for _, p := range allPages(t, root) {
		for _, b := range p.blocks {
			if b.language == "yaml" {
				check(fmt.Sprintf("%s:%d", p.name, b.line), b.text)
			}
		}
	}
	for _, name := range []string{"packaging/docker/compose.yaml", "docs/scale-out/kubernetes.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		check(name, string(text))
	}
	for _, kind := range []string{"Docker Compose", "Kubernetes", "GitHub Actions", "GitLab CI", "Azure Pipelines", "Prometheus"} {
		if checked[kind] == 0 {
			t.Errorf("no block of %s was found", kind)
		}
	}
}

// object is a mapping of YAML.
type object = map[string]any

// in returns a value within mappings, nil if one of the fields does not exist.
func in(doc any, fields ...string) any {
	for _, f := range fields {
		m, _ := doc.(object)
		doc = m[f]
	}
	return doc
}

// checkManifest finds out the kind of a document, and checks the fields that this kind needs.
func checkManifest(doc any) (kind string, err error) {
	m, isMapping := doc.(object)
	switch {
	case m["apiVersion"] != nil:
		return "Kubernetes", checkKubernetes(m)
	case m["scrape_configs"] != nil:
		return "Prometheus", nil
	case m["pool"] != nil || m["resources"] != nil:
		return "Azure Pipelines", checkAzure(m)
	case m["jobs"] != nil:
		for name, job := range m["jobs"].(object) {
			if in(job, "runs-on") == nil {
				err = errors.Join(err, fmt.Errorf("the job %s has no runs-on", name))
			}
			err = errors.Join(err, checkSteps(in(job, "steps"), "uses", "run"))
		}
		return "GitHub Actions", err
	case !isMapping: // steps alone
		return "GitHub Actions", checkSteps(doc, "uses", "run")
	case m["services"] != nil:
		return "Docker Compose", checkCompose(m)
	}
	for name, job := range m {
		if in(job, "script") == nil {
			return "GitLab CI", fmt.Errorf("the job %s has no script; or the kind of the file is not known", name)
		}
	}
	return "GitLab CI", nil
}

// checkSteps checks that steps are a list, and that each has one of the fields.
func checkSteps(steps any, one ...string) error {
	list, ok := steps.([]any)
	if !ok || len(list) == 0 {
		return errors.New("there are no steps")
	}
	for i, s := range list {
		n := 0
		for _, field := range one {
			if in(s, field) != nil {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("step %d has not one of %s", i+1, strings.Join(one, ", "))
		}
	}
	return nil
}

// checkAzure checks a pipeline: its services are containers of its resources.
func checkAzure(m object) error {
	known := map[any]bool{}
	containers, _ := in(m, "resources", "containers").([]any)
	for _, c := range containers {
		known[in(c, "container")] = in(c, "image") != nil
	}
	services, _ := m["services"].(object)
	for name, container := range services {
		if !known[container] {
			return fmt.Errorf("the service %s has the container %v, which is not defined", name, container)
		}
	}
	return checkSteps(m["steps"], "script", "task", "bash")
}

// checkCompose checks a file of Compose: each service has an image or is built, and what it depends on, its volumes and
// its secrets are defined.
func checkCompose(m object) (err error) {
	services := m["services"].(object)
	for name, s := range services {
		fail := func(format string, args ...any) {
			err = errors.Join(err, fmt.Errorf("the service "+name+" "+format, args...))
		}
		if (in(s, "image") == nil) == (in(s, "build") == nil) {
			fail("has not one of image and build")
		}
		on, _ := in(s, "depends_on").(object)
		for other, how := range on {
			if services[other] == nil || in(how, "condition") == nil {
				fail("depends on %s, which is not defined, or without a condition", other)
			}
		}
		for _, list := range []string{"volumes", "secrets"} {
			entries, _ := in(s, list).([]any)
			for _, e := range entries {
				source, _, _ := strings.Cut(fmt.Sprint(e), ":")
				defined, _ := m[list].(object)
				if _, ok := defined[source]; !ok && !strings.HasPrefix(source, ".") && !strings.HasPrefix(source, "/") {
					fail("has %s of %s, which are not defined", list, source)
				}
			}
		}
	}
	return err
}

// checkKubernetes checks an object: its name, and for a workload that its selector finds its pods, and that the volumes
// of its containers exist.
func checkKubernetes(m object) error {
	if m["kind"] == nil || in(m, "metadata", "name") == nil {
		return errors.New("the object has no kind or no name")
	}
	pod := in(m, "spec", "template")
	if pod == nil {
		return nil
	}
	labels, _ := in(m, "spec", "selector", "matchLabels").(object)
	for name, value := range labels {
		if in(pod, "metadata", "labels", name) != value {
			return fmt.Errorf("the selector has %s: %v, and the pods have not", name, value)
		}
	}
	volumes := map[any]bool{}
	for _, place := range []any{in(pod, "spec", "volumes"), in(m, "spec", "volumeClaimTemplates")} {
		list, _ := place.([]any)
		for _, v := range list {
			volumes[in(v, "name")], volumes[in(v, "metadata", "name")] = true, true
		}
	}
	containers, _ := in(pod, "spec", "containers").([]any)
	if len(containers) == 0 {
		return errors.New("there are no containers")
	}
	for _, c := range containers {
		mounts, _ := in(c, "volumeMounts").([]any)
		for _, v := range mounts {
			if !volumes[in(v, "name")] {
				return fmt.Errorf("the container %v has the volume %v, which does not exist", in(c, "name"), in(v, "name"))
			}
		}
	}
	return nil
}

// checkCommands checks the command lines and variables of cantle, and the shell scripts, at all depths of a document.
func checkCommands(doc any) (err error) {
	switch doc := doc.(type) {
	case []any:
		for _, v := range doc {
			err = errors.Join(err, checkCommands(v))
		}
	case object:
		name := fmt.Sprint(doc["image"])
		if doc["image"] == nil {
			name = fmt.Sprint(doc["name"])
		}
		ours := strings.HasPrefix(name, image)
		for field, v := range doc {
			words := wordsOf(v)
			switch {
			case (field == "run" || field == "script" || field == "bash") && words != nil:
				err = errors.Join(err, checkScript(v))
			case ours && (field == "command" || field == "args") && words != nil:
				err = errors.Join(err, checkLine(words))
			case field == "command" && len(words) > 0 && words[0] == "cantle": // of a probe
				err = errors.Join(err, checkLine(words[1:]))
			case ours && (field == "env" || field == "environment" || field == "variables"):
				err = errors.Join(err, checkVariables(v, fmt.Sprint(doc["command"], doc["args"])))
			}
			err = errors.Join(err, checkCommands(v))
		}
	}
	return err
}

// wordsOf returns the words of a command, which is a text or a list; nil for another value.
func wordsOf(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return strings.Fields(v)
	case []any:
		for _, w := range v {
			out = append(out, fmt.Sprint(w))
		}
	}
	return out
}

// checkLine checks the verb and the flags of a command line of cantle, without its first word.
func checkLine(words []string) error {
	c, rest, err := cli.Program(nil).Find(words)
	if err == nil && !c.HasParent() {
		err = errors.New("there is no such verb")
	}
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		return fmt.Errorf("cantle %s: %w", strings.Join(words, " "), err)
	}
	return nil
}

// mongoVariables are variables without the prefix CANTLE_ that the container reads.
var mongoVariables = regexp.MustCompile(`^MONGO_INITDB_(ROOT_USERNAME|ROOT_PASSWORD|DATABASE)(_FILE)?$`)

// checkVariables checks the names of variables of a container: a mapping, or a list of objects with a name. line is its
// command line, which may use others, as $(POD).
func checkVariables(v any, line string) error {
	var names []string
	switch v := v.(type) {
	case object:
		for name := range v {
			names = append(names, name)
		}
	case []any:
		for _, e := range v {
			names = append(names, fmt.Sprint(in(e, "name")))
		}
	}
	serve, _, err := cli.Program(nil).Find([]string{"serve"})
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.Contains(line, "$("+name+")") {
			continue
		}
		flag, ours := strings.CutPrefix(name, "CANTLE_")
		if ours && serve.Flags().Lookup(strings.ToLower(strings.ReplaceAll(flag, "_", "-"))) == nil || !ours && !mongoVariables.MatchString(name) {
			return fmt.Errorf("cantle has no setting for the variable %s", name)
		}
	}
	return nil
}

// cantleLine finds command lines of cantle in a script.
var cantleLine = regexp.MustCompile(`(?m)(?:^|[;&|]|until|while|if|!)\s*(cantle [^;&|>\n]*)`)

// checkScript checks the syntax of a shell script, and its command lines of cantle.
func checkScript(v any) error {
	text, ok := v.(string)
	if !ok {
		text = strings.Join(wordsOf(v), "\n")
	}
	bash := exec.Command("bash", "-n")
	bash.Stdin = strings.NewReader(text)
	var out bytes.Buffer
	bash.Stderr = &out
	if err := bash.Run(); err != nil {
		return fmt.Errorf("%w: %s%s", err, out.String(), text)
	}
	for _, m := range cantleLine.FindAllStringSubmatch(text, -1) {
		if err := checkLine(strings.Fields(m[1])[1:]); err != nil {
			return err
		}
	}
	return nil
}

// TestYAMLFaults checks that faults of such files are found.
func TestYAMLFaults(t *testing.T) {
	for text, want := range map[string]string{
		"jobs: {a: {runs-on: x, steps: [{run: 'if true; then'}]}}":                                                   "syntax error",
		"jobs: {a: {runs-on: x, steps: [{run: 'cantle serve --nonsense &'}]}}":                                       "--nonsense",
		"jobs: {a: {steps: [{uses: x}]}}":                                                                            "no runs-on",
		"jobs: {a: {runs-on: x, services: {c: {image: '" + image + ":1', env: {CANTLE_X: 1}}}, steps: [{uses: x}]}}": "CANTLE_X",
		"services: {c: {image: '" + image + ":1', command: serve --listn x}}":                                        "--listn",
		"services: {c: {image: x, volumes: ['data:/data']}}":                                                         "not defined",
		"services: {c: {image: x, depends_on: {d: {condition: y}}}}":                                                 "depends on d",
		"pool: x\nservices: {c: d}\nsteps: [{script: x}]":                                                            "the container d",
		"a: {image: x}": "has no script",
		"apiVersion: v1\nkind: X\nmetadata: {name: x}\nspec: {template: {spec: {containers: [{name: c, volumeMounts: [{name: v}]}]}}}": "volume v",
		"- {run: x, uses: y}": "has not one of",
		"a: 1\na: 2":          "already defined",
	} {
		var doc any
		err := yaml.Unmarshal([]byte(text), &doc)
		if err == nil {
			_, err = checkManifest(doc)
			err = errors.Join(err, checkCommands(doc))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
