// Package monitoring holds files for Prometheus and Grafana, and their tests, which query servers, some of them
// made to fail, through Prometheus' own engine. It is a module of its own, because the server does not need that
// engine's libraries.
//
//	rules.yml      alert rules
//	grafana.json   a dashboard
package monitoring
