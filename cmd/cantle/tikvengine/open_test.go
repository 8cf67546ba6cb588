//go:build cgo || !darwin

package tikvengine

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/serve/daemon"
)

// The engine refuses wrong locations before it sends any request to a cluster.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		where string
		s     daemon.RemoteSettings
		want  string
	}{
		{"tikv:///k", daemon.RemoteSettings{}, "--storage: the addresses of PD are missing"},
		{"tikv://pd:2379/k", daemon.RemoteSettings{ReadOnly: true}, "--serve-damaged is for data in files"},
	} {
		if _, err := Engine().Open(c.where, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.where, err)
		}
	}
}
