// Package memory compares decisions in the memory of one process, without HTTP around them.
package memory
