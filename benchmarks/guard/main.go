// Command guard fails when a hot path has become dearer: if it allocates more than this folder says, if it takes more
// trips to Redis or more commands there, or if it takes far more time than the same work done plainly in the same run.
// It is quick, and a busy machine does not upset it: allocations, trips and commands are counted exactly, and of times
// only the shortest of many count.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := errors.Join(checkAllocations(), checkCommands(), checkTimes()); err != nil {
		fmt.Fprintf(os.Stderr, "\n%v\n", err)
		os.Exit(1)
	}
}
