package servers

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// atOnce is how many parallel tests of a package run at a time where the machine has fewer processors.
const atOnce = 4

// Main is for TestMain of packages whose parallel tests wait more than they compute, for servers or for time to pass.
// It runs more of them at a time than go test would, unless the flag -parallel says how many.
func Main(m *testing.M) (code int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(max(atOnce, runtime.GOMAXPROCS(0)))); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
