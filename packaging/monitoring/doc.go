// Package monitoring holds what people put into Prometheus and Grafana, and its tests, which
// ask servers, some of them made to fail, through Prometheus' own engine. It is a module of
// its own, as that engine's libraries are none of the server's.
//
//	rules.yml      alert rules
//	grafana.json   a board
package monitoring
