// Package httplimit limits what HTTP clients without a login can do to the console and the metrics: the number of
// their connections, and the host names in their requests.
package httplimit
