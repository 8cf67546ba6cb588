// Package monitoring holds files for Prometheus and Grafana, and their tests. The tests scrape servers, one of them
// made to fail, and evaluate the files with Prometheus' own engine. The package is a module of its own, because the
// server does not need that engine's libraries.
//
//	rules.yml      alert rules
//	grafana.json   a dashboard
package monitoring
