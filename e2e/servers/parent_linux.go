package servers

import "syscall"

// endWithParent has the kernel end a server whose test process died before it could clean up: a test binary that
// runs into its time-out does not call its cleanups.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
