package storekit

import (
	"fmt"
	"runtime"
)

// DescribePanic returns what an error may say of the value of a panic: the text of a fault that the runtime found, and
// of all else the type only. The text of a value may hold the key of a client, and errors of stores go into logs.
func DescribePanic(value any) string {
	if fault, ok := value.(runtime.Error); ok {
		return fault.Error()
	}
	return fmt.Sprintf("a %T", value)
}
