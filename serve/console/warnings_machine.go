package console

import (
	"fmt"
	"time"

	"github.com/cantledb/cantle/serve/certificates"
	"github.com/cantledb/cantle/storage"
)

// machine returns warnings about disk space and the certificate.
func (q *query) machine() (out []warning) {
	cl := q.Server.Cluster
	m := cl.StoreMetrics()
	free, size := float64(m.DiskFree)/(1<<30), float64(m.DiskTotal)/(1<<30)
	disk := warning{ID: "disk", Kind: "disk", View: "collections", Partition: -1, Active: true, Next: []step{}, weight: weightMachine}
	switch {
	case cl.DiskFull():
		disk.Text = fmt.Sprintf("The disk is almost full (%.1f of %.0f GB free): writes are refused until there is more free space; deletes and drops work.", free, size)
		out = append(out, disk)
	case m.DiskTotal > 0 && m.DiskFree < storage.DiskLow(m.DiskTotal):
		disk.Text = fmt.Sprintf("Only %.1f of %.0f GB of the disk are free: free some space before writes are refused.", free, size)
		out = append(out, disk)
	}
	if q.Certificate == nil {
		return out
	}
	if cert := q.Certificate(); cert != nil {
		left, day := time.Until(cert.NotAfter), cert.NotAfter.UTC().Format(time.DateOnly)
		w := warning{ID: "certificate", Kind: "certificate", View: "operations", Partition: -1, Active: true, Next: []step{}, weight: weightUneven}
		switch {
		case left <= 0:
			w.Text = fmt.Sprintf("The server's certificate expired on %s and clients reject it: replace it and send the server SIGHUP.", day)
			w.weight = weightMachine
			out = append(out, w)
		case left < certificates.ExpiryWarning:
			w.Text = fmt.Sprintf("The server's certificate expires on %s, in %s: replace it and send the server SIGHUP.", day, certificates.Days(left))
			out = append(out, w)
		}
	}
	return out
}
