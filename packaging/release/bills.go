package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill is the bill of materials of a binary, in the format CycloneDX 1.6, with the fields that are used here.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

// metadata describes the subject of the bill.
type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

// component is one part.
type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

// property is an additional property of a component.
type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// bills writes the bill of materials of each binary; the modules come from the build information in the binary.
func (r *release) bills() error {
	for _, p := range r.platforms {
		info, err := buildinfo.ReadFile(r.binary(p))
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(r.billOf(p, info), "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, r.folder(p)+".cdx.json"), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// billOf makes the bill of one binary.
func (r *release) billOf(p platform, info *debug.BuildInfo) bill {
	out := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{
		Timestamp: r.date.Format(time.RFC3339),
		Component: component{Type: "application", Name: "cantle", Version: r.version, PURL: "pkg:golang/" + info.Main.Path + "@v" + r.version,
			Properties: []property{{"commit", r.commit}, {"platform", p.String()}}},
	}}
	std := strings.TrimPrefix(info.GoVersion, "go")
	out.Components = append(out.Components, component{Type: "library", Name: "std", Version: std, PURL: "pkg:golang/std@" + std})
	for _, m := range libraries(info) {
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
		if m.Sum != "" {
			c.Properties = []property{{"go.sum", m.Sum}}
		}
		out.Components = append(out.Components, c)
	}
	return out
}

// ours is the path of the repository's root module, and the prefix of the paths of its other modules.
const ours = "github.com/cantledb/cantle"

// libraries returns the modules of other projects that are linked into a binary. The repository's own modules are the
// program itself.
func libraries(info *debug.BuildInfo) []*debug.Module {
	return slices.DeleteFunc(slices.Clone(info.Deps), func(m *debug.Module) bool {
		return m.Path == ours || strings.HasPrefix(m.Path, ours+"/")
	})
}
