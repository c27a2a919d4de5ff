// Package accesslog reads the access logs of web servers and load balancers: the common, combined and vhost-combined
// formats, nginx log_format strings, Caddy, Traefik, AWS ALB, Google Cloud's load balancer, LTSV, CSV and JSON lines.
// [Open] finds out which of them a log is, unpacks gzip and zstd, and returns a [Reader], whose Next returns one
// [Entry] a line.
//
// The parsers are of our own. Of the libraries for Go, github.com/satyrius/gonx has had no release since 2018 and
// cannot read what Apache escapes, and github.com/nekrassov01/access-log-parser matches regular expressions, knows no
// JSON and returns text where a replay needs times. JSON is read by encoding/json. encoding/csv reads a whole file, in
// which one lost quote swallows all lines that follow; here each line is read by itself, so that a bad one costs itself
// only.
//
// What is read is untrusted. A line is at most [MaxLine] bytes, all that is unpacked at most Options.MaxBytes, and
// nothing is kept from one line to the next but the names of columns.
package accesslog
