package console

import (
	"net"
	"net/http"

	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// Monitored returns a handler that passes on the requests of users with the privilege serverStatus, which the role
// clusterMonitor has. Requests contain the name and password of the user (HTTP Basic); the database of a user that is
// not in admin is the parameter authSource. local is the address of the listener.
func Monitored(s *command.Server, local net.Addr, next http.Handler) http.Handler {
	c := New(Config{Server: s})
	c.local = local
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, err := c.open(r)
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Basic realm="cantle"`)
			http.Error(w, "Send name and password of a user with the role clusterMonitor (curl -u, basic_auth of Prometheus): "+err.Error(), http.StatusUnauthorized)
			return
		}
		allowed := !s.RequireAuth || in.login().Allows().MayCluster(auth.ServerStatus)
		in.hangUp()
		if !allowed {
			http.Error(w, "The metrics need the privilege serverStatus, which the role clusterMonitor has", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
