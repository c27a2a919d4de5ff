package workload

import (
	"syscall"
	"time"
)

// CPU is the time that this process has had of all processors so far. Unlike the time on the clock it leaves out what
// other processes had meanwhile.
func CPU() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
